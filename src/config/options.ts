/** From what flags or a file say, each checked by itself, to the options the program runs on. */
import type { z } from 'zod';
import { familyOf } from '../net/ip.ts';
import * as checks from './checks.ts';
import { configurationOf, type KubeProxyConfiguration } from './configuration/write.ts';
import { effectiveGates, type FeatureGates } from './feature-gates.ts';
import type { HostAndMaybePort, HostPort } from './fields.ts';
import { FLAGS, type FlagValues, flagsSchema, OPTIONS, type OptionName } from './flags.ts';
import { type OfMode, ofMode, underOwnNames } from './of-mode.ts';

/** Options of which another form counts, once they are put together. */
type Combined =
  | 'healthzPort'
  | 'healthzBindAddress'
  | 'metricsPort'
  | 'metricsBindAddress'
  | 'nodeportAddresses'
  | 'featureGates'
  | keyof OfMode
  | `${'nftables' | 'ipvs'}${'Min' | ''}SyncPeriod`
  | `nftablesMasquerade${'All' | 'Bit'}`;

/** Options that go together: every check is passed, every CIDR is canonical. Durations are milliseconds. */
export interface Options extends Omit<FlagValues, Combined>, OfMode {
  /** Canonical CIDRs; `primary`: the Node object's own addresses; absent: as the mode has it. */
  readonly nodeportAddresses: readonly string[] | 'primary' | undefined;
  /** Absent: no such server. The host is an address; an unspecified one means every address of both families. */
  readonly healthzBindAddress: HostPort | undefined;
  readonly metricsBindAddress: HostPort | undefined;
  /** Whether each gate is on. */
  readonly featureGates: FeatureGates;
  /** All of it as a KubeProxyConfiguration, with the defaults that were taken. */
  readonly configuration: KubeProxyConfiguration;
}

/** A value that cannot be used: whose, and what would be allowed instead. */
export interface OptionProblem {
  readonly option: OptionName;
  /** As whoever gave the value knows the option: `--cluster-cidr`, or a field of a file. */
  readonly name: string;
  readonly value: unknown;
  readonly allowed: string;
}

export type OptionsResult =
  | { readonly ok: true; readonly options: Options }
  | { readonly ok: false; readonly problems: readonly OptionProblem[] };

export type { Given } from './checks.ts';

/** How an option is called. */
export type NameOf = (option: OptionName) => string;

/** The flag of an option, as help has it: `--cluster-cidr`, `-v`. */
export function flagName(option: OptionName): string {
  const { flag = option, short } = FLAGS.get(option) ?? {};
  return flag === short ? `-${flag}` : `--${flag}`;
}

/**
 * Reads options from texts or values by option name; what is absent has its default. Says everything that is
 * wrong with single values, or, when those are right, with how they go together.
 */
export function parseOptions(given: checks.Given, nameOf: NameOf = flagName): OptionsResult {
  const parsed = flagsSchema.safeParse(given);
  if (!parsed.success) return { ok: false, problems: singleProblems(parsed.error, given, nameOf) };
  const problems: OptionProblem[] = [];
  const options = combine({
    values: parsed.data,
    given,
    nameOf,
    report: (option, allowed) =>
      // What nobody gave has its default, and that does not go with the rest.
      problems.push({ option, name: nameOf(option), value: given[option] ?? initialOf(option), allowed }),
  });
  return problems.length > 0 ? { ok: false, problems } : { ok: true, options };
}

function initialOf(option: OptionName): string {
  return OPTIONS.get(option)?.initial ?? '';
}

/**
 * What is wrong with flags that count for nothing, beside a file say: each has to be of its type, as kube-proxy reads
 * the whole command line before it looks at what it means.
 */
export function flagTypeProblems(given: checks.Given, nameOf: NameOf = flagName): OptionProblem[] {
  return [...FLAGS].flatMap(([option, { isOfType, allowed }]) => {
    const value = given[option];
    return value === undefined || isOfType(value) ? [] : [{ option, name: nameOf(option), value, allowed }];
  });
}

/** `--cluster-cidr "10.0.0.0/33": must be …`. */
export function describeProblem({ name, value, allowed }: OptionProblem): string {
  // A flag that was given several times is one list.
  const shown = Array.isArray(value) && name.startsWith('-') ? value.join(',') : value;
  return `${name} ${JSON.stringify(shown)}: ${allowed}`;
}

function singleProblems(error: z.ZodError, given: checks.Given, nameOf: NameOf): OptionProblem[] {
  return error.issues.map((issue) => {
    const option = issue.path[0] as OptionName;
    return { option, name: nameOf(option), value: given[option], allowed: issue.message };
  });
}

function combine(parsed: checks.Parsed): Options {
  const { values } = parsed;
  checks.checkSource(parsed);
  checks.checkHostname(parsed);
  checks.checkDetection(parsed);
  checks.checkPeriods(parsed);
  checks.checkGates(parsed);
  const healthzBindAddress = healthzAddress(parsed);
  const metricsBindAddress = metricsAddress(parsed);
  const {
    healthzPort: _healthzPort,
    metricsPort: _metricsPort,
    nftablesMasqueradeAll: _masqueradeAll,
    nftablesMasqueradeBit: _masqueradeBit,
    nftablesSyncPeriod: _nftablesSync,
    nftablesMinSyncPeriod: _nftablesMinSync,
    ipvsSyncPeriod: _ipvsSync,
    ipvsMinSyncPeriod: _ipvsMinSync,
    ...rest
  } = values;
  return {
    ...rest,
    ...ofMode(values),
    ...checks.checkIpvs(parsed),
    hostnameOverride: values.hostnameOverride.toLowerCase(),
    clusterCidr: checks.clusterCidrs(parsed),
    nodeportAddresses: checks.nodeportAddresses(parsed),
    healthzBindAddress,
    metricsBindAddress,
    featureGates: effectiveGates(values.featureGates),
    configuration: configurationOf({
      ...underOwnNames(values),
      hostnameOverride: values.hostnameOverride.toLowerCase(),
      nodeportAddresses: shownNodeportAddresses(values),
      healthzBindAddress: healthzBindAddress ?? null,
      metricsBindAddress: metricsBindAddress ?? null,
    }),
  };
}

function shownNodeportAddresses({ nodeportAddresses, proxyMode }: FlagValues): readonly string[] {
  return nodeportAddresses.length === 0 && proxyMode === 'nftables' ? ['primary'] : nodeportAddresses;
}

function healthzAddress({ values, given }: checks.Parsed): HostPort | undefined {
  const byDefault = given.healthzBindAddress === undefined && familyOf(values.bindAddress) === 'IPv6';
  return listenOn(
    byDefault ? { host: '::', port: undefined } : values.healthzBindAddress,
    values.healthzPort,
  );
}

function metricsAddress({ values, given }: checks.Parsed): HostPort | undefined {
  const byDefault = given.metricsBindAddress === undefined && familyOf(values.bindAddress) === 'IPv6';
  return listenOn(
    byDefault ? { host: '::1', port: undefined } : values.metricsBindAddress,
    values.metricsPort,
  );
}

/** Default addresses follow the family of --bind-address, as kube-proxy's do; port 0 means no server at all. */
function listenOn(address: HostAndMaybePort | null, defaultPort: number): HostPort | undefined {
  return address && defaultPort > 0 ? { host: address.host, port: address.port ?? defaultPort } : undefined;
}
