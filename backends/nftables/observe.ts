/**
 * What a listing says, in the words of what is wanted: a rule or declaration that nft prints differently but that
 * means the same counts as the same.
 */
import { isDeepStrictEqual } from 'node:util';
import type { IpFamily } from '../../src/cluster/values.ts';
import { nftFamily } from './dialect.ts';
import { TABLE } from './names.ts';
import { TableObjects } from './objects.ts';
import { parseListing } from './syntax/listing.ts';
import {
  type Chain,
  type NamedSet,
  sameDeclaration,
  type Table,
  type TableModel,
  tableKey,
} from './syntax/model.ts';

/** Text of what is there and not wanted like this; never equal to a wanted text. */
const OTHER = 'other';

/** The listed table as objects that compare equal to `wanted` where they mean the same. */
export function recognise(family: IpFamily, listing: TableModel, wanted: TableObjects): TableObjects {
  const there = tableOf(family, listing);
  const before = new TableObjects();
  if (there === undefined) return before;
  const meant = meaningOf(family, wanted);
  for (const [name, set] of there.sets) {
    const same = sameSet(set, meant.sets.get(name));
    before.set(name, same ? (wanted.sets.get(name) ?? OTHER) : `${set.kind} ${OTHER}`);
    if (same && !set.declaration.flags.includes('dynamic')) copyElements(name, set, before);
  }
  for (const [name, chain] of there.chains) {
    const target = meant.chains.get(name);
    const other = chain.rules.length === 0 ? [] : [OTHER];
    before.chain(name, sameRules(chain, target) ? (wanted.chains.get(name) ?? other) : other);
    if (sameHook(chain, target)) {
      const hook = wanted.hooks.get(name);
      if (hook !== undefined) before.hooks.set(name, hook);
    } else {
      before.hooks.set(name, OTHER);
    }
  }
  return before;
}

/** Names of what is missing from a listing or different in it; elements are not looked at. */
export function inspect(family: IpFamily, listing: TableModel, structure: TableObjects): string[] {
  if (structure.chains.size === 0) return [];
  const there = tableOf(family, listing);
  if (there === undefined) return [`table ${nftFamily(family)} ${TABLE}`];
  const meant = meaningOf(family, structure);
  const wrong: string[] = [];
  for (const [name, set] of meant.sets) {
    if (!sameSet(set, there.sets.get(name))) wrong.push(`${set.kind} ${name}`);
  }
  for (const [name, chain] of meant.chains) {
    const found = there.chains.get(name);
    if (found === undefined || !sameHook(chain, found) || !sameRules(chain, found))
      wrong.push(`chain ${name}`);
  }
  return wrong;
}

function tableOf(family: IpFamily, model: TableModel): Table | undefined {
  return model.tables.get(tableKey(nftFamily(family), TABLE));
}

/** Our own text, read as nft would read it. */
function meaningOf(family: IpFamily, objects: TableObjects): Table {
  const lines = [`table ${nftFamily(family)} ${TABLE} {`];
  for (const [name, declaration] of objects.sets) {
    const brace = declaration.indexOf(' ');
    lines.push(`${declaration.slice(0, brace)} ${name}${declaration.slice(brace)}`);
  }
  for (const [name, rules] of objects.chains) {
    const hook = objects.hooks.get(name);
    lines.push(`chain ${name} {`, ...(hook === undefined ? [] : [`${hook} ;`]), ...rules, '}');
  }
  const table = tableOf(family, parseListing([...lines, '}', ''].join('\n')));
  if (table === undefined) throw new Error('the rendered table could not be read back');
  return table;
}

function sameSet(a: NamedSet, b: NamedSet | undefined): boolean {
  return b !== undefined && sameDeclaration(a.declaration, b.declaration);
}

function sameHook(a: Chain, b: Chain | undefined): boolean {
  return isDeepStrictEqual(a.base, b?.base);
}

function sameRules(a: Chain, b: Chain | undefined): boolean {
  return (
    b !== undefined &&
    a.rules.length === b.rules.length &&
    a.rules.every((rule, index) => {
      const other = b.rules[index];
      return (
        rule.problem === undefined &&
        rule.comment === other?.comment &&
        isDeepStrictEqual(rule.statements, other?.statements)
      );
    })
  );
}

function copyElements(name: string, { elements, notes }: NamedSet, into: TableObjects): void {
  for (const [key, value] of elements) {
    const comment = notes.get(key)?.comment;
    const note = comment === undefined ? '' : ` comment "${comment}"`;
    into.element(name, key, value === '' ? note : `${note} : ${value}`);
  }
}
