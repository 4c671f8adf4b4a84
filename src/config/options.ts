/** From what the flags say, each checked by itself, to the options the program runs on. */
import type { z } from 'zod';
import { familyOf } from '../net/ip.ts';
import { canonicalCidrs, type HostPort } from './fields.ts';
import { FLAGS, type FlagValues, flagsSchema, type OptionName } from './flags.ts';

/** Options that go together: every check is passed, every CIDR is canonical. Durations are milliseconds. */
export interface Options
  extends Omit<
    FlagValues,
    'healthzPort' | 'healthzBindAddress' | 'metricsBindAddress' | 'nodeportAddresses'
  > {
  /** Canonical CIDRs; `primary`: the Node object's own addresses; absent: as the mode has it. */
  readonly nodeportAddresses: readonly string[] | 'primary' | undefined;
  /** Absent: no such server. The host is an address; an unspecified one means every address of both families. */
  readonly healthzBindAddress: HostPort | undefined;
  readonly metricsBindAddress: HostPort | undefined;
}

/** A value that cannot be used: which flag's, and what would be allowed instead. */
export interface OptionProblem {
  readonly option: OptionName;
  readonly value: string;
  readonly allowed: string;
}

export type OptionsResult =
  | { readonly ok: true; readonly options: Options }
  | { readonly ok: false; readonly problems: readonly OptionProblem[] };

/**
 * Reads options from texts or values by option name; what is absent has its default. Says everything that is
 * wrong with single values, or, when those are right, with how they go together.
 */
export function parseOptions(given: Readonly<Partial<Record<OptionName, unknown>>>): OptionsResult {
  const parsed = flagsSchema.safeParse(given);
  if (!parsed.success) return { ok: false, problems: singleProblems(parsed.error, given) };
  const problems: OptionProblem[] = [];
  const report: Report = (option, allowed) => problems.push({ option, value: shown(given[option]), allowed });
  const options = combine(parsed.data, given, report);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, options };
}

/** `--cluster-cidr "10.0.0.0/33": must be …`. */
export function describeProblem(problem: OptionProblem): string {
  return `--${FLAGS.get(problem.option)?.flag} ${JSON.stringify(problem.value)}: ${problem.allowed}`;
}

type Report = (option: OptionName, allowed: string) => void;

function singleProblems(error: z.ZodError, given: Readonly<Record<string, unknown>>): OptionProblem[] {
  return error.issues.map((issue) => {
    const option = issue.path[0] as OptionName;
    return { option, value: shown(given[option]), allowed: issue.message };
  });
}

function shown(value: unknown): string {
  if (typeof value === 'string') return value;
  return Array.isArray(value) ? value.join(',') : (JSON.stringify(value) ?? '');
}

const METRICS_PORT = 10_249;

function combine(values: FlagValues, given: Readonly<Record<string, unknown>>, report: Report): Options {
  const { healthzPort, ...rest } = values;
  checkSource(values, report);
  checkHostname(values, given, report);
  checkDetection(values, report);
  if (values.minSyncPeriod > values.syncPeriod) {
    report('minSyncPeriod', 'must not be longer than --iptables-sync-period');
  }
  return {
    ...rest,
    hostnameOverride: values.hostnameOverride.toLowerCase(),
    clusterCidr: clusterCidrs(values, report),
    nodeportAddresses: nodeportAddresses(values, report),
    healthzBindAddress: healthzPort === 0 ? undefined : listenOn(values.healthzBindAddress, healthzPort),
    metricsBindAddress: listenOn(metricsAddress(values, given), METRICS_PORT),
  };
}

function checkSource(values: FlagValues, report: Report): void {
  if (values.manifests && (values.kubeconfig || values.master)) {
    report('manifests', 'must not be given together with --kubeconfig or --master');
  }
}

function checkHostname(values: FlagValues, given: Readonly<Record<string, unknown>>, report: Report): void {
  const text = given.hostnameOverride;
  if (typeof text === 'string' && text !== '' && values.hostnameOverride === '') {
    report('hostnameOverride', 'must be more than blanks');
  }
}

/** Names the kernel takes (`dev_valid_name`), without the characters that mean something in rules. */
const INTERFACE_NAME = /^[\w.@-]{1,15}$/;
const INTERFACE_RULE = 'must be 1 to 15 letters, digits or . _ @ -';

function checkDetection(values: FlagValues, report: Report): void {
  if (values.detectLocalMode === 'BridgeInterface' && !INTERFACE_NAME.test(values.podBridgeInterface)) {
    report('podBridgeInterface', `${INTERFACE_RULE}, as --detect-local-mode BridgeInterface needs one`);
  }
  if (
    values.detectLocalMode === 'InterfaceNamePrefix' &&
    !INTERFACE_NAME.test(values.podInterfaceNamePrefix)
  ) {
    report(
      'podInterfaceNamePrefix',
      `${INTERFACE_RULE}, as --detect-local-mode InterfaceNamePrefix needs one`,
    );
  }
}

/** As kube-proxy does, only looked at where it is used: a stale value harms nobody in the other modes. */
function clusterCidrs(values: FlagValues, report: Report): string[] {
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

function nodeportAddresses(values: FlagValues, report: Report): readonly string[] | 'primary' | undefined {
  if (values.nodeportAddresses.length === 0) return undefined;
  if (values.nodeportAddresses.length === 1 && values.nodeportAddresses[0] === 'primary') return 'primary';
  const cidrs = canonicalCidrs(values.nodeportAddresses);
  if (cidrs === undefined) {
    report('nodeportAddresses', 'must be CIDRs separated by commas, or the word primary alone');
  }
  return cidrs;
}

/** The default address follows the family of --bind-address, as kube-proxy's does. */
function metricsAddress(values: FlagValues, given: Readonly<Record<string, unknown>>) {
  const byDefault = given.metricsBindAddress === undefined && values.metricsBindAddress !== null;
  return byDefault && familyOf(values.bindAddress) === 'IPv6'
    ? { host: '::1', port: undefined }
    : values.metricsBindAddress;
}

function listenOn(address: FlagValues['healthzBindAddress'], defaultPort: number): HostPort | undefined {
  return address ? { host: address.host, port: address.port ?? defaultPort } : undefined;
}
