/** Constants given their type: by what they are compared with, or by the set they are put into. */
import { compareText } from '../../../src/net/ip.ts';
import type { Element } from './ast.ts';
import { type Interval, intervalText, mergedIntervals, parseInterval } from './interval.ts';
import type { Mark, Scanner } from './scanner.ts';
import { type DataType, isOrdered, typedText } from './types.ts';

/**
 * A key as canonical text of its types, `6 . 80` as `tcp . 80`. `undefined` when it does not have as many
 * parts, or one of them is no value of its type. No types: nothing is known, and the key stays as it is.
 */
export function typedKey(types: readonly DataType[], key: string): string | undefined {
  if (types.length === 0 || key === '*') return key;
  if (types.length === 1) return typedText(types[0] ?? '', key);
  const parts = key.split(' . ');
  if (parts.length !== types.length) return undefined;
  const typed: string[] = [];
  for (const [index, part] of parts.entries()) {
    const text = typedText(types[index] ?? '', part);
    if (text === undefined) return undefined;
    typed.push(text);
  }
  return typed.join(' . ');
}

/**
 * Elements written in a rule, typed, without duplicates, and in one order, whatever theirs was. Adjoining
 * intervals of a set become one, as nft makes them. Objects to what does not fit the types, at `start`.
 */
export function typedElements(
  scanner: Scanner,
  start: Mark,
  types: readonly DataType[],
  elements: readonly Element[],
): Element[] {
  const typed = new Map<string, Element>();
  for (const element of elements) {
    const key = typedKey(types, element.key);
    if (key === undefined) {
      scanner.rewind(start);
      throw scanner.error(`values of type ${types.join(' . ')} rather than ${element.key}`);
    }
    typed.set(key, { ...element, key });
  }
  const [type] = types;
  const isSet = elements.every(({ value }) => value === undefined);
  if (isSet && types.length === 1 && type !== undefined && isOrdered(type)) {
    return mergedElements(type, [...typed.keys()]);
  }
  return [...typed.values()].sort((a, b) => compareText(a.key, b.key));
}

function mergedElements(type: DataType, keys: readonly string[]): Element[] {
  const intervals = keys.map((key) => parseInterval(type, key)).filter((one) => one !== undefined);
  return mergedIntervals(intervals satisfies Interval[]).map((interval) => ({
    key: intervalText(type, interval),
  }));
}
