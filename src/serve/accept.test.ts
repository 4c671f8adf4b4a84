import { expect, test } from 'vitest';
import { acceptedTypes } from './accept.ts';

test.for<[string, string[]]>([
  ['', []],
  ['text/plain', ['text/plain']],
  ['TEXT/Plain;Charset="UTF-8"', ['text/plain charset=UTF-8']],
  [
    'text/plain;q=0.3, application/json;v=v1;q=0.9, */*;q=0.1',
    ['application/json v=v1', 'text/plain', '*/*'],
  ],
  ['a/b, c/d;q=1.0, e/f', ['a/b', 'c/d', 'e/f']],
  ['a/b;q=0, c/d;q=, e/f;q=x, g/h;q=-1', []],
  ['nonsense, /, a/, a b/c, ;q=1, i/j', ['i/j']],
  ['a/b; x=1=2 ;y', ['a/b x=1=2 y=']],
])('%s', ([header, expected]) => {
  const shown = acceptedTypes(header).map(({ type, params }) =>
    [type, ...Array.from(params, ([name, value]) => `${name}=${value}`)].join(' '),
  );
  expect(shown).toEqual(expected);
});
