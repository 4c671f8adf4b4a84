/**
 * Rules as `iptables-save` prints them: addresses with their length, then interface and protocol, then matches
 * in order. `iptables-restore` takes the same form, so what is read back equals what was written.
 */
import type { IpFamily, Protocol } from '../../src/cluster/values.ts';
import type { LocalDetector, NodePlan } from '../../src/plan/plan.ts';
import { lower } from './names.ts';

/** Joins what is there with single spaces. */
export function words(...parts: readonly (string | false | undefined)[]): string {
  return parts.filter(Boolean).join(' ');
}

/** XT_MAX_COMMENT_LEN less the closing zero. */
const MAX_COMMENT = 255;

/** Manifests are not validated as the API server does: nothing gets out of the quotes. */
export function comment(text: string): string {
  const harmless = text.replace(/[^A-Za-z0-9 .,:;/_@()+=*>[\]-]/g, '_').slice(0, MAX_COMMENT);
  return `-m comment --comment "${harmless}"`;
}

/** `10.96.0.1/32`. */
export function host(address: string): string {
  return address.includes(':') ? `${address}/128` : `${address}/32`;
}

/** `-p tcp` and, for behind the comment, `-m tcp --dport 80`. */
export function portMatch(protocol: Protocol, port: number): { before: string; after: string } {
  const name = lower(protocol);
  return { before: `-p ${name}`, after: `-m ${name} --dport ${port}` };
}

export interface SourceMatch {
  readonly source?: string;
  readonly inInterface?: string;
}

/** Matches packets of this node's pods; `undefined` when they cannot be told. */
export function fromPod(detector: LocalDetector): SourceMatch | undefined {
  return detect(detector, '');
}

/** Matches everyone else's packets; `undefined` when pods cannot be told. */
export function notFromPod(detector: LocalDetector): SourceMatch | undefined {
  return detect(detector, '! ');
}

function detect(detector: LocalDetector, not: '' | '! '): SourceMatch | undefined {
  switch (detector.kind) {
    case 'none':
      return undefined;
    case 'cidr':
      return { source: `${not}-s ${detector.cidr}` };
    case 'interface':
      return { inInterface: `${not}-i ${interfaceName(detector.name)}` };
    case 'interface-prefix':
      return { inInterface: `${not}-i ${interfaceName(detector.prefix)}+` };
  }
}

function interfaceName(text: string): string {
  return text.replace(/[^A-Za-z0-9._:@-]/g, '_');
}

/** `0x4000`. */
export function markBit(node: Pick<NodePlan, 'masqueradeBit'>): string {
  return `0x${(2 ** node.masqueradeBit).toString(16)}`;
}

export function reject(family: IpFamily): string {
  return `-j REJECT --reject-with ${family === 'IPv4' ? 'icmp-port-unreachable' : 'icmp6-port-unreachable'}`;
}

/** The kernel keeps a probability in units of 2^-31. */
const PROBABILITY_UNIT = 2 ** 31;

/**
 * A rule as the kernel gives it back: what was written with ten decimals is printed with eleven, to the next
 * unit (`0.3333333333` gives `0.33333333349`). Runs of spaces, which some extensions print, are one.
 */
export function asSaved(rule: string): string {
  return rule
    .replace(/--probability (\S+)/, (_, text: string) => {
      const units = Math.round(Number(text) * PROBABILITY_UNIT);
      return `--probability ${(units / PROBABILITY_UNIT).toFixed(11)}`;
    })
    .replace(/ {2,}/g, ' ');
}
