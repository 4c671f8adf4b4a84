/** What has to hold between options, beyond what each of them allows by itself. */
import { schedulerProblem } from '../../backends/ipvs/settings.ts';
import { canonicalCidr, familyOf } from '../net/ip.ts';
import { gateProblem } from './feature-gates.ts';
import { canonicalCidrs, DURATION_ALLOWED } from './fields.ts';
import type { FlagValues, OptionName } from './flags.ts';
import { ofMode, sourceOf } from './of-mode.ts';

/** What was given of each option: text, or the value itself. */
export type Given = Readonly<Partial<Record<OptionName, unknown>>>;

/** Options of which each is right by itself. */
export interface Parsed {
  readonly values: FlagValues;
  readonly given: Given;
  /** Tells a problem: whose, and what would be allowed. */
  readonly report: (option: OptionName, allowed: string) => void;
  /** How an option is called. */
  readonly nameOf: (option: OptionName) => string;
}

export function checkSource({ values, report, nameOf }: Parsed): void {
  if (values.manifests && (values.kubeconfig || values.master)) {
    report('manifests', `must not be given together with ${nameOf('kubeconfig')} or ${nameOf('master')}`);
  }
}

/** What a Node can be called: a DNS-1123 subdomain (`IsDNS1123Subdomain` of k8s.io/apimachinery). */
const NODE_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MAX_NODE_NAME = 253;

/** Blanks around a name do not count, nor does case, as in kube-proxy; another name than these no Node can have. */
export function checkHostname({ values, given, report }: Parsed): void {
  const text = given.hostnameOverride;
  if (text === undefined || text === '') return;
  const name = values.hostnameOverride.toLowerCase();
  if (name.length <= MAX_NODE_NAME && NODE_NAME.test(name)) return;
  report(
    'hostnameOverride',
    `must be the name of a Node: parts of letters, digits and -, separated by dots, each with a letter or digit at both ends; at most ${MAX_NODE_NAME} characters`,
  );
}

/** Names the kernel takes (`dev_valid_name`), without the characters that mean something in rules. */
const INTERFACE_NAME = /^[\w.@-]{1,15}$/;
const INTERFACE_RULE = 'must be 1 to 15 letters, digits or . _ @ -';

export function checkDetection({ values, report, nameOf }: Parsed): void {
  const needed = (option: 'podBridgeInterface' | 'podInterfaceNamePrefix') => {
    if (INTERFACE_NAME.test(values[option])) return;
    report(option, `${INTERFACE_RULE}, as ${nameOf('detectLocalMode')} ${values.detectLocalMode} needs one`);
  };
  if (values.detectLocalMode === 'BridgeInterface') needed('podBridgeInterface');
  if (values.detectLocalMode === 'InterfaceNamePrefix') needed('podInterfaceNamePrefix');
}

/** Only the chosen mode's are looked at, as in kube-proxy: what the others would do matters to nobody. */
export function checkPeriods({ values, report, nameOf }: Parsed): void {
  const { syncPeriod, minSyncPeriod } = ofMode(values);
  const period = sourceOf('syncPeriod', values);
  const minimum = sourceOf('minSyncPeriod', values);
  if (syncPeriod <= 0) report(period, `${DURATION_ALLOWED}, greater than 0`);
  if (minSyncPeriod < 0) report(minimum, `${DURATION_ALLOWED}, 0 or more`);
  else if (minSyncPeriod > syncPeriod && syncPeriod > 0) {
    report(minimum, `must not be longer than ${nameOf(period)}`);
  }
}

export function checkGates({ values, report }: Parsed): void {
  for (const [name, enabled] of Object.entries(values.featureGates)) {
    const problem = gateProblem(name, enabled);
    if (problem !== undefined) report('featureGates', problem);
  }
}

/**
 * What IPVS mode alone uses is checked in that mode alone, as in kube-proxy. The CIDRs come back canonical in every
 * mode, those that are some: they are also asked for when rules are removed.
 */
export function checkIpvs({ values, report }: Parsed): { readonly ipvsExcludeCidrs: string[] } {
  const cidrs = values.ipvsExcludeCidrs.flatMap((text) => canonicalCidr(text) ?? []);
  if (values.proxyMode === 'ipvs') {
    const problem = values.ipvsScheduler === '' ? undefined : schedulerProblem(values.ipvsScheduler);
    if (problem !== undefined) report('ipvsScheduler', problem);
    for (const option of ['ipvsTcpTimeout', 'ipvsTcpFinTimeout', 'ipvsUdpTimeout'] as const) {
      if (values[option] < 0) report(option, `${DURATION_ALLOWED}, 0 or more`);
    }
    if (cidrs.length < values.ipvsExcludeCidrs.length) report('ipvsExcludeCidrs', 'must be CIDRs');
  }
  return { ipvsExcludeCidrs: cidrs };
}

/** As kube-proxy does, only looked at where it is used: a stale value harms nobody in the other modes. */
export function clusterCidrs({ values, report }: Parsed): string[] {
  if (values.detectLocalMode !== 'ClusterCIDR') return [];
  const cidrs = canonicalCidrs(values.clusterCidr);
  const families = new Set(cidrs?.map(familyOf));
  if (cidrs === undefined || cidrs.length > 2 || families.size !== cidrs.length) {
    report(
      'clusterCidr',
      'must be one CIDR, or an IPv4 and an IPv6 CIDR separated by a comma, such as 10.244.0.0/16,fd00:10:244::/56',
    );
    return [];
  }
  return cidrs;
}

export function nodeportAddresses({ values, report }: Parsed): readonly string[] | 'primary' | undefined {
  const given = values.nodeportAddresses;
  if (given.length === 0) return undefined;
  if (given.length === 1 && given[0] === 'primary') return 'primary';
  const cidrs = canonicalCidrs(given);
  if (cidrs === undefined) {
    report('nodeportAddresses', 'must be CIDRs separated by commas, or the word primary alone');
  }
  return cidrs;
}
