/** Reads the kernel: everything of one family that is, or may be, ours. */
import type { IpFamily } from '../../src/cluster/values.ts';
import type { CommandRunner } from '../../src/node/runner.ts';
import { IPTABLES_MODE } from '../shared/mode-overlap.ts';
import { parseSysctls, parseTimeouts } from './host.ts';
import {
  knownRules,
  type ListedSet,
  parseAddresses,
  parseServers,
  parseSets,
  parseTables,
} from './listing.ts';
import { type FrontEndKey, IpvsObjects, parseServerKey } from './objects.ts';
import type { KnownRules } from './restore.ts';
import type { SetKind } from './sets.ts';

export interface Observed {
  /** Ours, by name: see `ours`. */
  readonly objects: IpvsObjects;
  /** Virtual servers that nothing says are ours. One of them that a Service wants is taken over. */
  readonly foreign: IpvsObjects;
  /** The sets that are there, with how many entries they can hold. */
  readonly sets: ReadonlyMap<SetKind, number>;
  readonly rules: KnownRules;
  /** Rules of iptables mode are in force, in chains that both modes have. */
  readonly iptablesMode: boolean;
  readonly tables: ReturnType<typeof parseTables>;
  readonly hasLink: boolean;
  /** The dummy link has addresses of the other family too. */
  readonly linkShared: boolean;
  readonly sysctls: ReadonlyMap<string, string>;
  readonly timeouts: readonly number[];
}

export interface ObserveOptions {
  readonly family: IpFamily;
  /** What prints the rules. */
  readonly save: readonly [string, ...string[]];
  readonly runner: CommandRunner;
  /** Names of sysctls to read. */
  readonly sysctls: readonly string[];
  /** Whether the time-outs matter. */
  readonly timeouts: boolean;
}

/** Rejects with a `ToolError` when a tool does not work. */
export async function observe({
  family,
  runner,
  save,
  sysctls,
  timeouts,
}: ObserveOptions): Promise<Observed> {
  const read = async (...argv: [string, ...string[]]): Promise<string> => (await runner.run({ argv })).stdout;
  const [servers, setText, tableText, addressText, sysctlText, timeoutText] = await Promise.all([
    read('ipvsadm', '-Sn'),
    read('ipset', 'save'),
    read(...save),
    read('ip', '-json', 'address', 'show'),
    sysctls.length > 0 ? read('sysctl', '-e', ...sysctls) : '',
    timeouts ? read('ipvsadm', '-L', '--timeout') : '',
  ]);
  const sets = parseSets(setText, family);
  const tables = parseTables(tableText);
  const { hasLink, addresses, shared } = parseAddresses(addressText, family);
  const objects = new IpvsObjects();
  const foreign = new IpvsObjects();
  for (const [kind, { entries }] of sets) for (const entry of entries) objects.entry(kind, entry);
  for (const address of addresses) objects.addresses.add(address);
  for (const [key, server] of parseServers(servers, family)) {
    const front = parseServerKey(key);
    const into = front !== undefined && isOurs(front, addresses, sets) ? objects : foreign;
    into.servers.set(key, server);
  }
  return {
    objects,
    foreign,
    sets: new Map(Array.from(sets, ([kind, { maxElements }]) => [kind, maxElements])),
    rules: knownRules(tables),
    iptablesMode: tables.filter.has(IPTABLES_MODE),
    tables,
    hasLink,
    linkShared: shared,
    sysctls: parseSysctls(sysctlText),
    timeouts: parseTimeouts(timeoutText),
  };
}

const FRONT_END_SETS: readonly SetKind[] = [
  'KUBE-CLUSTER-IP',
  'KUBE-LOAD-BALANCER',
  'KUBE-EXTERNAL-IP',
  'KUBE-EXTERNAL-IP-LOCAL',
  'KUBE-NODE-PORT-SCTP-HASH',
];

/**
 * Virtual servers have no name to know them by. Ours are those on the dummy link's addresses, those that our sets
 * name, and node ports that our sets name on addresses that they name.
 */
function isOurs(
  { address, protocol, port }: FrontEndKey,
  addresses: ReadonlySet<string>,
  sets: ReadonlyMap<SetKind, ListedSet>,
): boolean {
  const has = (kind: SetKind, entry: string): boolean => sets.get(kind)?.entries.has(entry) ?? false;
  if (addresses.has(address)) return true;
  const entry = `${address},${protocol}:${port}`;
  if (FRONT_END_SETS.some((kind) => has(kind, entry))) return true;
  if (protocol === 'sctp' || !has('KUBE-NODE-PORT-IP', address)) return false;
  return has(protocol === 'tcp' ? 'KUBE-NODE-PORT-TCP' : 'KUBE-NODE-PORT-UDP', port);
}
