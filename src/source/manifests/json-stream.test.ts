import { describe, expect, it, test } from 'vitest';
import { parseManifest } from './documents.ts';
import { parseJsonStream } from './json-stream.ts';

describe('parseJsonStream', () => {
  test.for<[string, ReturnType<typeof parseJsonStream>]>([
    [
      '{"a":1}\n{"b":[{"c":"}{\\"]"}]}\n',
      [
        { value: { a: 1 }, offset: 0, line: 1 },
        { value: { b: [{ c: '}{"]' }] }, offset: 8, line: 2 },
      ],
    ],
    [
      ' [1][2] ',
      [
        { value: [1], offset: 1, line: 1 },
        { value: [2], offset: 4, line: 1 },
      ],
    ],
    ['', undefined],
    ['{"a":1} 5', undefined],
    ['{"a":1}{"b":', undefined],
    ['{"a":1}{b: 2}', undefined],
    ['kind: Service', undefined],
  ])('%j', ([text, values]) => {
    expect(parseJsonStream(text)).toEqual(values);
  });
});

it('is a manifest, each object with its line', async () => {
  const object = (name: string) =>
    JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: { name } }, undefined, 2);
  const { documents, errors } = await parseManifest(`${object('a')}\n${object('b')}\n`, 'all.json');
  expect(documents.map(({ where }) => where)).toEqual(['all.json:1', 'all.json:8']);
  expect(errors).toEqual([]);
});
