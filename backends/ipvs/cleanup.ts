/** Takes away what is ours, in the order in which nothing refers to what goes. */
import type { IpFamily } from '../../src/cluster/values.ts';
import type { CommandRunner } from '../../src/node/runner.ts';
import type { Leftover } from '../../src/reconcile/backend.ts';
import { IPTABLES_MODE, JUMPS, renderRules, SHARED_CHAINS, TABLES, type Table } from './chains.ts';
import { LINK } from './listing.ts';
import type { Observed } from './observe.ts';
import { grownName, SET_KINDS, setName } from './sets.ts';

/**
 * @param restore what takes rules
 * @param servers keys of the virtual servers that are ours
 * @returns what could not be removed, and the tools' reasons
 */
export async function removeAll(
  family: IpFamily,
  runner: CommandRunner,
  restore: readonly [string, ...string[]],
  observed: Observed,
  servers: readonly string[],
): Promise<Leftover[]> {
  const leftovers: Leftover[] = [];
  const attempt = async (
    object: string,
    argv: [string, ...string[]],
    stdin: readonly string[],
  ): Promise<void> => {
    if (stdin.length === 0) return;
    try {
      const { stderr } = await runner.run({ argv, stdin });
      if (stderr.trim() !== '' && argv[0] === 'ipvsadm') leftovers.push({ object, reason: stderr.trim() });
    } catch (error) {
      leftovers.push({ object, reason: message(error) });
    }
  };
  await attempt(
    'virtual servers',
    ['ipvsadm', '-R'],
    servers.map((key) => `-D ${key}\n`),
  );
  const { lines, held } = removeChains(family, observed);
  leftovers.push(...held);
  await attempt('iptables chains', [...restore], lines);
  leftovers.push(...(await destroySets(family, runner)));
  await attempt(`link ${LINK}`, ['ip', '-batch', '-'], removeAddresses(family, observed));
  return leftovers;
}

/** All at once; when that fails, one by one, to tell which. */
async function destroySets(family: IpFamily, runner: CommandRunner): Promise<Leftover[]> {
  const lines = (names: readonly string[]): string[] => names.map((name) => `destroy ${name}\n`);
  const names = await ourSets(family, runner);
  if (names.length === 0) return [];
  try {
    await runner.run({ argv: ['ipset', 'restore'], stdin: lines(names) });
    return [];
  } catch {
    const leftovers: Leftover[] = [];
    for (const name of await ourSets(family, runner)) {
      try {
        await runner.run({ argv: ['ipset', 'restore'], stdin: lines([name]) });
      } catch (error) {
        leftovers.push({ object: `ipset ${name}`, reason: message(error) });
      }
    }
    return leftovers;
  }
}

async function ourSets(family: IpFamily, runner: CommandRunner): Promise<string[]> {
  const { stdout } = await runner.run({ argv: ['ipset', 'list', '-name'] });
  const ours = new Set([...SET_KINDS.map((kind) => setName(kind, family)), grownName(family)]);
  return stdout.split('\n').filter((name) => ours.has(name));
}

/** The link itself goes with the last address, whichever family that is of. */
function removeAddresses(family: IpFamily, { hasLink, linkShared, objects }: Observed): string[] {
  if (!hasLink) return [];
  if (!linkShared) return [`link del ${LINK}\n`];
  const length = family === 'IPv4' ? 32 : 128;
  return Array.from(objects.addresses, (address) => `address del ${address}/${length} dev ${LINK}\n`);
}

/** Chain names by table; the rules do not matter here. */
const OURS = renderRules(
  {
    family: 'IPv4',
    detector: { kind: 'none' },
    masqueradeAll: false,
    masqueradeBit: 14,
    nodePortAddresses: 'any',
    serviceCIDRs: [],
  },
  new Set(),
  false,
);

function removeChains(family: IpFamily, { tables }: Observed): { lines: string[]; held: Leftover[] } {
  // Chains that both modes have are iptables mode's own now, but not our ways into them.
  const theirs = tables.filter.has(IPTABLES_MODE);
  const lines: string[] = [];
  const held: Leftover[] = [];
  for (const table of TABLES) {
    const doomed = new Set(
      [...OURS[table].keys()].filter(
        (chain) => tables[table].has(chain) && !(theirs && SHARED_CHAINS[table].includes(chain)),
      ),
    );
    const { jumps, holders } = referencesTo(doomed, tables[table]);
    if (theirs) jumps.push(...ownJumps(table, tables[table]));
    if (doomed.size === 0 && jumps.length === 0) continue;
    for (const [chain, holder] of holders) {
      held.push({
        object: `chain ${chain} of table ${table}, ${family}`,
        reason: `a rule in chain ${holder} leads to it, and that chain is somebody else's`,
      });
    }
    lines.push(
      `*${table}\n`,
      ...Array.from(doomed, (chain) => `:${chain} - [0:0]\n`),
      ...jumps,
      ...[...doomed].filter((chain) => !holders.has(chain)).map((chain) => `-X ${chain}\n`),
      'COMMIT\n',
    );
  }
  return { lines, held };
}

/** Rules that lead to chains of both modes, but that iptables mode does not write. */
function ownJumps(table: Table, chains: ReadonlyMap<string, readonly string[]>): string[] {
  if (table !== 'filter') return [];
  return JUMPS[table]
    .filter(([chain, rule]) => rule.endsWith(' KUBE-PROXY-FIREWALL') && chains.get(chain)?.includes(rule))
    .map(([chain, rule]) => `-D ${chain} ${rule}\n`);
}

const BUILT_IN = new Set(['INPUT', 'FORWARD', 'OUTPUT', 'PREROUTING', 'POSTROUTING']);

/** Rules outside the chains that lead to them: those in built-in chains go, those in other chains hold on. */
function referencesTo(
  doomed: ReadonlySet<string>,
  chains: ReadonlyMap<string, readonly string[]>,
): { jumps: string[]; holders: Map<string, string> } {
  const jumps: string[] = [];
  const holders = new Map<string, string>();
  for (const [chain, rules] of chains) {
    if (doomed.has(chain)) continue;
    for (const rule of rules) {
      const target = /(?:^| )-[jg] (\S+)/.exec(rule)?.[1];
      if (target === undefined || !doomed.has(target)) continue;
      if (BUILT_IN.has(chain)) jumps.push(`-D ${chain} ${rule}\n`);
      else holders.set(target, chain);
    }
  }
  return { jumps, holders };
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
