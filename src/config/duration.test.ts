import { expect, test } from 'vitest';
import { formatDuration, parseDuration } from './duration.ts';

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

test.for([
  [0, '0s'],
  [30_000, '30s'],
  [90_000, '1m30s'],
  [86_400_000, '24h0m0s'],
  [3_600_500, '1h0m0.5s'],
  [1500, '1.5s'],
  [250, '250ms'],
  [0.25, '250µs'],
  [0.000_001, '1ns'],
  [-60_000, '-1m0s'],
] as const)('%d ms is written %s', ([milliseconds, text]) => {
  expect(formatDuration(milliseconds)).toBe(text);
  expect(parseDuration(text)).toBe(milliseconds);
});
