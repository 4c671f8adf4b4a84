import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ListSplitter } from './list-splitter.ts';

function split(chunks: readonly Buffer[]): { items: unknown[]; envelope: unknown } {
  const items: unknown[] = [];
  const splitter = new ListSplitter((json) => items.push(JSON.parse(json.toString('utf8'))));
  for (const chunk of chunks) splitter.push(chunk);
  return { items, envelope: splitter.end() };
}

/** Cuts bytes at the given fractions of their length. */
function chunked(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const offsets = [
    0,
    ...cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b),
    bytes.length,
  ];
  return offsets.slice(1).map((to, index) => bytes.subarray(offsets[index], to));
}

const LIST = {
  kind: 'ServiceList',
  metadata: { resourceVersion: '7' },
  items: [
    { metadata: { name: 'a', annotations: { x: '}],"items":[ \\" \u2028 ü 🐢' } } },
    { b: [[], {}, [1]] },
  ],
};

describe('the list splitter', () => {
  test.each([
    ['metadata first', LIST],
    ['items first', { items: LIST.items, kind: LIST.kind, metadata: LIST.metadata }],
    [
      'a key that ends like items, and one inside metadata',
      { myitems: [1], metadata: { items: [2] }, items: LIST.items },
    ],
    ['a value that reads like the key', { kind: 'items', metadata: { items: [{}] }, items: LIST.items }],
  ])('cuts at every single offset the same: %s', (_name, list) => {
    const bytes = Buffer.from(JSON.stringify(list));
    for (let at = 0; at <= bytes.length; at++) {
      const { items, envelope } = split([bytes.subarray(0, at), bytes.subarray(at)]);
      expect(items).toEqual(LIST.items);
      expect(envelope).toEqual({ ...list, items: [] });
    }
  });

  test('takes random lists in random chunks, pretty-printed or not', () => {
    const list = fc.record({
      kind: fc.string(),
      metadata: fc.dictionary(fc.string(), fc.jsonValue()),
      items: fc.array(fc.jsonValue()),
      other: fc.jsonValue(),
    });
    fc.assert(
      fc.property(
        list,
        fc.shuffledSubarray(['kind', 'metadata', 'items', 'other'] as const, { minLength: 4 }),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 }),
        fc.constantFrom(0, 2),
        (content, order, cuts, indent) => {
          const shuffled = Object.fromEntries(order.map((key) => [key, content[key]]));
          const text = JSON.stringify(shuffled, undefined, indent);
          const { items, envelope } = split(chunked(Buffer.from(text), cuts));
          const expected = JSON.parse(text) as { items: unknown[] };
          expect(items).toEqual(expected.items);
          expect(envelope).toEqual({ ...expected, items: [] });
        },
      ),
      { numRuns: 500 },
    );
  });

  test.each([
    ['an empty list', '{"items":[],"metadata":{}}', []],
    ['an empty list with blanks', '{"items": [ \n ] }', []],
    ['null, as Go writes a nil slice', '{"items":null}', []],
    ['no items at all', '{"metadata":{}}', []],
    ['numbers, strings and null', '{"items":[1, "a,b]" ,null]}', [1, 'a,b]', null]],
  ])('takes %s', (_name, text, items) => {
    expect(split([Buffer.from(text)]).items).toEqual(items);
  });

  test('an item that is no JSON costs that item alone', () => {
    const good: unknown[] = [];
    const bad: string[] = [];
    const splitter = new ListSplitter((json) => {
      const text = json.toString('utf8');
      try {
        good.push(JSON.parse(text));
      } catch {
        bad.push(text);
      }
    });
    splitter.push(Buffer.from('{"items":[{"a":1},{"a":nil},{"a":3}]}'));
    expect(splitter.end()).toEqual({ items: [] });
    expect(good).toEqual([{ a: 1 }, { a: 3 }]);
    expect(bad).toEqual(['{"a":nil}']);
  });

  test('a list that is cut short anywhere is no list', () => {
    const bytes = Buffer.from(JSON.stringify(LIST));
    for (let length = 0; length < bytes.length; length++) {
      const splitter = new ListSplitter(() => {});
      splitter.push(bytes.subarray(0, length));
      expect(() => splitter.end(), `after ${length} bytes`).toThrow(SyntaxError);
    }
  });
});
