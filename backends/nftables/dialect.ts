/** The few words of nft that differ between the two families, or follow from the node's plan. */
import type { IpFamily } from '../../src/cluster/values.ts';
import type { LocalDetector, NodePlan } from '../../src/plan/plan.ts';

/** `ip` or `ip6`: the family of the table and the name of the header. */
export function nftFamily(family: IpFamily): 'ip' | 'ip6' {
  return family === 'IPv4' ? 'ip' : 'ip6';
}

export function addressType(family: IpFamily): 'ipv4_addr' | 'ipv6_addr' {
  return family === 'IPv4' ? 'ipv4_addr' : 'ipv6_addr';
}

/** Matches packets of this node's pods, with a space behind it; `undefined` when they cannot be told. */
export function fromPod(node: NodePlan): string | undefined {
  return detect(node.family, node.detector, '');
}

/** Matches everyone else's packets, with a space behind it; empty when pods cannot be told, as nobody is one. */
export function notFromPod(node: NodePlan): string {
  return detect(node.family, node.detector, '!= ') ?? '';
}

/**
 * Interfaces are matched by name, never by index: a name may have a wildcard, and need not exist
 * (kubernetes/kubernetes#134024).
 */
function detect(family: IpFamily, detector: LocalDetector, operator: '' | '!= '): string | undefined {
  switch (detector.kind) {
    case 'none':
      return undefined;
    case 'cidr':
      return `${nftFamily(family)} saddr ${operator}${detector.cidr} `;
    case 'interface':
      return `iifname ${operator}${quoted(detector.name)} `;
    case 'interface-prefix':
      return `iifname ${operator}${quoted(`${detector.prefix}*`)} `;
  }
}

function quoted(text: string): string {
  return `"${text.replace(/["\\\n]/g, '_')}"`;
}

/** Sets the bit that `masquerading` looks for. */
export function markForMasquerade(node: NodePlan): string {
  return `meta mark set meta mark or ${markBit(node)}`;
}

export function markBit(node: NodePlan): string {
  return `0x${(2 ** node.masqueradeBit).toString(16).padStart(8, '0')}`;
}

/** What a front end is looked up by. */
export function serviceKey(family: IpFamily): string {
  return `${nftFamily(family)} daddr . meta l4proto . th dport`;
}

/** What a node port is looked up by. */
export const NODE_PORT_KEY = 'meta l4proto . th dport';
