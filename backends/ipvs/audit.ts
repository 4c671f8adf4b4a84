/** Compares what the last commit left with what is there, with one cheap read of each facility. */
import type { CommandRunner } from '../../src/node/runner.ts';
import { JUMPS, TABLES } from './chains.ts';
import { type DrainState, drainState, wrongServers } from './drain.ts';
import { knownRules, LINK, parseAddresses, parseLive, parseSetSizes, parseTables } from './listing.ts';
import type { IpvsModel } from './model.ts';
import type { IpvsObjects } from './objects.ts';
import { jumpKey, type KnownRules } from './restore.ts';
import { SET_KINDS, type SetKind, setName } from './sets.ts';

export interface Audit {
  /** Names of what is missing, or different. */
  readonly wrong: readonly string[];
  readonly drains: DrainState;
}

/**
 * Of sets it looks at their sizes alone. Rejects with a `ToolError`.
 * @param save what prints the rules
 */
export async function audit(
  model: IpvsModel,
  runner: CommandRunner,
  save: readonly [string, ...string[]],
): Promise<Audit> {
  const { family } = model;
  const read = async (...argv: [string, ...string[]]): Promise<string> => (await runner.run({ argv })).stdout;
  const [live, sizes, tables, addresses] = await Promise.all([
    // What ipvsadm would need a call of the kernel per virtual server for.
    read('cat', '/proc/net/ip_vs'),
    read('ipset', 'list', '-terse'),
    read(...save),
    read('ip', '-json', 'address', 'show'),
  ]);
  const servers = parseLive(live, family);
  const objects = model.objects();
  return {
    wrong: [
      ...wrongSets(model, parseSetSizes(sizes, family)),
      ...wrongRules(model, knownRules(parseTables(tables))),
      ...wrongAddresses(objects, addresses, model),
      ...wrongServers(objects, model.draining, servers),
    ],
    drains: drainState(model.draining, servers),
  };
}

function wrongSets(model: IpvsModel, sizes: ReadonlyMap<SetKind, number>): string[] {
  if (model.rules === undefined) return [];
  return SET_KINDS.filter((kind) => sizes.get(kind) !== (model.counts.get(kind) ?? 0)).map(
    (kind) => `ipset ${setName(kind, model.family)}`,
  );
}

function wrongRules({ rules }: IpvsModel, there: KnownRules): string[] {
  if (rules === undefined) return [];
  return TABLES.flatMap((table) => [
    ...[...rules[table]]
      .filter(([chain, wanted]) => there.rules[table].get(chain)?.join('\n') !== wanted.join('\n'))
      .map(([chain]) => `chain ${chain} of table ${table}`),
    ...JUMPS[table]
      .filter(([chain, rule]) => !there.jumps.has(jumpKey(table, chain, rule)))
      .map(([chain, rule]) => `rule in chain ${chain} of table ${table}: ${rule}`),
  ]);
}

function wrongAddresses(objects: IpvsObjects, listing: string, model: IpvsModel): string[] {
  if (model.rules === undefined) return [];
  const { hasLink, addresses } = parseAddresses(listing, model.family);
  if (!hasLink) return [`link ${LINK}`];
  return [...objects.addresses]
    .filter((address) => !addresses.has(address))
    .map((address) => `address ${address} of ${LINK}`);
}
