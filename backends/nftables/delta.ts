/** From what a table holds to what it should hold: the difference, and the nft commands that make it. */

import type { IpFamily } from '../../src/cluster/values.ts';
import { nftFamily } from './dialect.ts';
import { TABLE } from './names.ts';
import type { Elements, TableObjects } from './objects.ts';

export interface Delta {
  /** Name → hook, for base chains. */
  readonly newChains: ReadonlyMap<string, string | undefined>;
  /** Base chains whose hook or priority changes, which the kernel does not allow in place: made anew. */
  readonly movedChains: readonly string[];
  /** Chains whose rules change, or which are no longer wanted. */
  readonly flushedChains: readonly string[];
  /** No longer wanted. They are emptied now and deleted later: see `collectScript`. */
  readonly staleChains: readonly string[];
  readonly rules: ReadonlyMap<string, readonly string[]>;
  readonly removedSets: ReadonlyMap<string, 'set' | 'map'>;
  readonly newSets: ReadonlyMap<string, string>;
  readonly removedElements: ReadonlyMap<string, readonly string[]>;
  readonly newElements: ReadonlyMap<string, Elements>;
}

/** What changes between two contents of a table. */
export function compare(before: TableObjects, after: TableObjects): Delta {
  const newSets = new Map<string, string>();
  const removedSets = new Map<string, 'set' | 'map'>();
  const remove = (name: string, declaration: string): void => {
    removedSets.set(name, declaration.startsWith('map') ? 'map' : 'set');
  };
  for (const [name, declaration] of after.sets) {
    const there = before.sets.get(name);
    if (there === declaration) continue;
    if (there !== undefined) remove(name, there);
    newSets.set(name, declaration);
  }
  for (const [name, declaration] of before.sets) if (!after.sets.has(name)) remove(name, declaration);

  const chains = compareChains(before, after, removedSets);
  const elements = compareElements(before, after, removedSets);
  return { ...chains, ...elements, newSets, removedSets };
}

function compareChains(
  before: TableObjects,
  after: TableObjects,
  removedSets: ReadonlyMap<string, unknown>,
): Pick<Delta, 'newChains' | 'movedChains' | 'flushedChains' | 'staleChains' | 'rules'> {
  const newChains = new Map<string, string | undefined>();
  const movedChains: string[] = [];
  const flushedChains: string[] = [];
  const staleChains: string[] = [];
  const rules = new Map<string, readonly string[]>();
  for (const [name, wanted] of after.chains) {
    const there = before.chains.get(name);
    const hook = after.hooks.get(name);
    if (there === undefined) {
      newChains.set(name, hook);
    } else if (before.hooks.get(name) !== hook) {
      flushedChains.push(name);
      movedChains.push(name);
      newChains.set(name, hook);
    } else if (sameTexts(there, wanted) && !mentions(wanted, removedSets)) {
      continue;
    } else {
      flushedChains.push(name);
    }
    rules.set(name, wanted);
  }
  for (const [name, there] of before.chains) {
    if (after.chains.has(name)) continue;
    // One that is empty already was left by a process that ended before it could delete it.
    if (there.length > 0) flushedChains.push(name);
    staleChains.push(name);
  }
  return { newChains, movedChains, flushedChains, staleChains, rules };
}

/** A set that is made anew cannot go while a rule looks into it: such a rule is written again behind it. */
function mentions(rules: readonly string[], sets: ReadonlyMap<string, unknown>): boolean {
  if (sets.size === 0) return false;
  return rules.some((rule) => [...rule.matchAll(/@(\S+)/g)].some((match) => sets.has(match[1] ?? '')));
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((text, index) => text === b[index]));
}

function compareElements(
  before: TableObjects,
  after: TableObjects,
  removedSets: ReadonlyMap<string, unknown>,
): Pick<Delta, 'removedElements' | 'newElements'> {
  const removedElements = new Map<string, string[]>();
  const newElements = new Map<string, Elements>();
  for (const [set, wanted] of after.elements) {
    const there = removedSets.has(set) ? undefined : before.elements.get(set);
    if (there === undefined) {
      if (wanted.size > 0) newElements.set(set, wanted);
      continue;
    }
    const added: Elements = new Map();
    const removed: string[] = [];
    for (const [key, value] of wanted) {
      const old = there.get(key);
      if (old === value) continue;
      if (old !== undefined) removed.push(key);
      added.set(key, value);
    }
    if (removed.length > 0) removedElements.set(set, removed);
    if (added.size > 0) newElements.set(set, added);
  }
  for (const [set, there] of before.elements) {
    if (removedSets.has(set)) continue;
    const wanted = after.elements.get(set);
    const gone = [...there.keys()].filter((key) => !wanted?.has(key));
    if (gone.length > 0) removedElements.set(set, [...(removedElements.get(set) ?? []), ...gone]);
  }
  return { removedElements, newElements };
}

export function isEmpty(delta: Delta): boolean {
  return (
    delta.newChains.size === 0 &&
    delta.flushedChains.length === 0 &&
    delta.rules.size === 0 &&
    delta.newSets.size === 0 &&
    delta.removedSets.size === 0 &&
    delta.newElements.size === 0 &&
    delta.removedElements.size === 0
  );
}

/**
 * The commands of one transaction, a line each (lists of elements a line each). The order lets every line
 * refer to what is there by then, and nothing go while it is still referred to.
 */
export function script(family: IpFamily, delta: Delta): string[] {
  const table = `${nftFamily(family)} ${TABLE}`;
  const lines = [`add table ${table} { comment "rules for kube-proxy" ; }\n`];
  for (const chain of delta.flushedChains) lines.push(`flush chain ${table} ${chain}\n`);
  for (const chain of delta.movedChains) lines.push(`delete chain ${table} ${chain}\n`);
  for (const [chain, hook] of delta.newChains) {
    lines.push(`add chain ${table} ${chain}${hook === undefined ? '' : ` { ${hook} ; }`}\n`);
  }
  for (const [set, keys] of delta.removedElements) {
    pushElements(lines, `delete element ${table} ${set}`, keys.length, keys);
  }
  for (const [set, kind] of delta.removedSets) lines.push(`delete ${kind} ${table} ${set}\n`);
  for (const [set, declaration] of delta.newSets) {
    const brace = declaration.indexOf(' ');
    lines.push(`add ${declaration.slice(0, brace)} ${table} ${set}${declaration.slice(brace)}\n`);
  }
  for (const [chain, rules] of delta.rules) {
    for (const rule of rules) lines.push(`add rule ${table} ${chain} ${rule}\n`);
  }
  for (const [set, elements] of delta.newElements) {
    pushElements(lines, `add element ${table} ${set}`, elements.size, texts(elements));
  }
  return lines;
}

function* texts(elements: Elements): Generator<string> {
  for (const [key, value] of elements) yield key + value;
}

/** One element on the command's line, several on lines of their own: an error then names one. */
function pushElements(lines: string[], command: string, count: number, elements: Iterable<string>): void {
  if (count === 1) {
    for (const element of elements) lines.push(`${command} { ${element} }\n`);
    return;
  }
  lines.push(`${command} {\n`);
  let left = count;
  for (const element of elements) {
    left -= 1;
    lines.push(left > 0 ? `\t${element},\n` : `\t${element}\n`);
  }
  lines.push('}\n');
}

/**
 * Deletes chains that an earlier transaction emptied. Kernels before 6.2 still count references of map elements
 * deleted in the same transaction, and refuse ("Device or resource busy").
 */
export function collectScript(family: IpFamily, chains: Iterable<string>): string[] {
  return Array.from(chains, (chain) => `delete chain ${nftFamily(family)} ${TABLE} ${chain}\n`);
}
