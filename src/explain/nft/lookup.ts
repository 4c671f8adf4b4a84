/** Looking values up in sets and maps, named ones and those written in rules. */
import type { Element, Lookup } from '../../../backends/nftables/syntax/ast.ts';
import { type Interval, parseInterval } from '../../../backends/nftables/syntax/interval.ts';
import type { NamedSet, Table } from '../../../backends/nftables/syntax/model.ts';
import { type DataType, isOrdered } from '../../../backends/nftables/syntax/types.ts';
import { WalkError } from '../flow.ts';

/** Finds what a key leads to: an empty string in a set; `undefined` when it is not there. */
export type Finder = (key: readonly string[]) => string | undefined;

/** Finders for one walk, made once for each set. The sets must not change meanwhile. */
export class Finders {
  readonly #made = new Map<object, Finder>();

  /** @param types of the key's parts, which a set written in a rule does not say. */
  of(table: Table, lookup: Lookup, types: readonly DataType[]): Finder {
    if (lookup.kind === 'elements') return this.#once(lookup, () => ofElements(lookup.elements, types));
    const set = namedSet(table, lookup.name);
    return this.#once(set, () => ofSet(set));
  }

  #once(source: object, make: () => Finder): Finder {
    let finder = this.#made.get(source);
    if (finder === undefined) {
      finder = make();
      this.#made.set(source, finder);
    }
    return finder;
  }
}

function namedSet(table: Table, name: string): NamedSet {
  const set = table.sets.get(name);
  if (set === undefined)
    throw new WalkError(`there is no set or map ${name} in table ${table.family} ${table.name}`);
  return set;
}

function ofSet({ declaration, elements }: NamedSet): Finder {
  if (declaration.flags.includes('interval')) return searching([...elements], declaration.keyTypes);
  const catchAll = elements.get('*');
  return (key) => elements.get(key.join(' . ')) ?? catchAll;
}

function ofElements(elements: readonly Element[], types: readonly DataType[]): Finder {
  return searching(
    elements.map(({ key, value = '' }) => [key, value]),
    types,
  );
}

/** Goes through all elements: they may hold ranges, and are few. */
function searching(elements: readonly (readonly [string, string])[], types: readonly DataType[]): Finder {
  const tests = elements.map(([key, value]) => ({ holds: keyTest(key, types), value }));
  return (key) => tests.find(({ holds }) => holds(key))?.value;
}

type Test<Value> = (value: Value) => boolean;

function keyTest(text: string, types: readonly DataType[]): Test<readonly string[]> {
  if (text === '*') return () => true;
  const parts = types.length === 1 ? [text] : text.split(' . ');
  const tests = parts.map((part, index) => partTest(part, types[index] ?? ''));
  return (key) => key.length === tests.length && tests.every((holds, index) => holds(key[index] ?? ''));
}

function partTest(text: string, type: DataType): Test<string> {
  if (type === 'ifname' && text.endsWith('*') && !text.endsWith('\\*')) {
    const prefix = text.slice(0, -1);
    return (value) => value.startsWith(prefix);
  }
  const interval = isOrdered(type) ? parseInterval(type, text) : undefined;
  if (interval === undefined || interval.low === interval.high) return (value) => value === text;
  return (value) => contains(interval, parseInterval(type, value));
}

function contains({ low, high }: Interval, value: Interval | undefined): boolean {
  return value !== undefined && low <= value.low && value.high <= high;
}
