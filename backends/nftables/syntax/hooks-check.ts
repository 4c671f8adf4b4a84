/**
 * What the kernel refuses because of where a chain is reached from (`nft_chain_validate`): loops, too many
 * jumps, and address translation outside chains of type nat.
 */
import { verdictTarget } from './elements.ts';
import type { BaseChain, Chain, Table } from './model.ts';
import { Refusal } from './refusal.ts';
import { referencesOf } from './uses.ts';

/** `NFT_JUMP_STACK_SIZE` */
const MAX_DEPTH = 16;

/** nat chains run in connection tracking's hooks, which come behind this priority. */
const CONNTRACK_PRIORITY = -200;

/** A base chain that can be registered at all. */
export function checkBase(name: string, { type, hook, priority }: BaseChain): void {
  if (type === 'nat' && (hook === 'forward' || priority <= CONNTRACK_PRIORITY)) {
    throw new Refusal('unsupported', `chain ${name}: no nat in hook ${hook} at priority ${priority}`);
  }
}

/** Follows every base chain of the table to where it leads. */
export function checkHooks(table: Table): void {
  const targets = targetsOf(table);
  for (const [name, { base }] of table.chains) {
    if (base !== undefined) follow(table, targets, base, name, [], new Map());
  }
}

type Targets = ReadonlyMap<string, ReadonlySet<string>>;

function follow(
  table: Table,
  targets: Targets,
  base: BaseChain,
  name: string,
  path: readonly string[],
  done: Map<string, number>,
): void {
  if (path.includes(name))
    throw new Refusal('loop', `chains lead in a circle: ${[...path, name].join(', ')}`);
  if (path.length > MAX_DEPTH)
    throw new Refusal('loop', `more than ${MAX_DEPTH} chains deep: ${path.join(', ')}`);
  const deepest = done.get(name);
  if (deepest !== undefined && deepest >= path.length) return;
  done.set(name, path.length);
  const chain = table.chains.get(name);
  if (chain !== undefined && base.type !== 'nat') checkNoNat(name, chain);
  for (const target of targets.get(name) ?? []) follow(table, targets, base, target, [...path, name], done);
}

function checkNoNat(name: string, chain: Chain): void {
  if (chain.rules.some(({ statements }) => statements.some(({ kind }) => kind === 'nat'))) {
    throw new Refusal(
      'unsupported',
      `chain ${name} changes addresses, and is reached from a chain that is not of type nat`,
    );
  }
}

function targetsOf(table: Table): Targets {
  const ofSets = new Map<string, Set<string>>();
  for (const [name, set] of table.sets) {
    if (set.declaration.dataTypes?.[0] !== 'verdict') continue;
    const verdicts = new Set(set.elements.values());
    ofSets.set(name, new Set([...verdicts].map(verdictTarget).filter((target) => target !== undefined)));
  }
  const ofChain = ({ rules }: Chain): Set<string> => {
    const references = rules.map(referencesOf);
    return new Set(
      references.flatMap(({ chains, sets }) => [
        ...chains,
        ...sets.flatMap((name) => [...(ofSets.get(name) ?? [])]),
      ]),
    );
  };
  return new Map([...table.chains].map(([name, chain]) => [name, ofChain(chain)]));
}
