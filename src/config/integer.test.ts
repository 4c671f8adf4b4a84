import { expect, test } from 'vitest';
import { parseGoInteger } from './integer.ts';

test.for<[string, number | undefined]>([
  ['0', 0],
  ['-0', 0],
  ['14', 14],
  ['+14', 14],
  ['-999', -999],
  ['016', 14],
  ['0o16', 14],
  ['0O16', 14],
  ['-016', -14],
  ['00', 0],
  ['0x1F', 31],
  ['0X1f', 31],
  ['0b101', 5],
  ['1_000', 1000],
  ['0_7', 7],
  ['0x_ff', 255],
  ['08', undefined],
  ['0x', undefined],
  ['0b2', undefined],
  ['1__0', undefined],
  ['_1', undefined],
  ['1_', undefined],
  ['1.0', undefined],
  ['1e3', undefined],
  [' 1', undefined],
  ['--1', undefined],
  ['', undefined],
  ['-', undefined],
  ['99999999999999999999', undefined],
])('%o is %o', ([text, expected]) => {
  expect(parseGoInteger(text)).toBe(expected);
});
