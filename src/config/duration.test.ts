import { expect, test } from 'vitest';
import { parseDuration } from './duration.ts';

test.for([
  ['30s', 30_000],
  ['1m30s', 90_000],
  ['1h', 3_600_000],
  ['2h22m', 8_520_000],
  ['100ms', 100],
  ['1.5h', 5_400_000],
  ['.5s', 500],
  ['1.s', 1000],
  ['250us', 0.25],
  ['250µs', 0.25],
  ['250μs', 0.25],
  ['5000000ns', 5],
  ['1s1ms', 1001],
  ['0', 0],
  ['0s', 0],
  ['-0', 0],
  ['+5s', 5000],
  ['-1m', -60_000],
] as const)('%s is %d ms', ([text, milliseconds]) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

test.for([
  '',
  '-',
  '30',
  '1',
  '1.5',
  's',
  '30 s',
  ' 30s',
  '30s ',
  '1d',
  '1M',
  '1m30',
  '--1s',
  '1e3s',
  '.s',
  '1..5s',
])('%o is no duration', (text) => {
  expect(parseDuration(text)).toBeUndefined();
});
