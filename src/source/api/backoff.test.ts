import { expect, test } from 'vitest';
import { Backoff } from './backoff.ts';
import { DEFAULT_TIMING } from './options.ts';

test('the ceiling doubles from 800 ms to 30 s', () => {
  const backoff = new Backoff(
    DEFAULT_TIMING,
    () => 1,
    () => 0,
  );
  expect(Array.from({ length: 8 }, () => backoff.next())).toEqual([
    800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000,
  ]);
});

test('a delay is anything between nothing and the ceiling', () => {
  const draws = [0, 0.25, 0.5];
  const backoff = new Backoff(
    DEFAULT_TIMING,
    () => draws.shift() ?? 1,
    () => 0,
  );
  expect([backoff.next(), backoff.next(), backoff.next()]).toEqual([0, 400, 1600]);
});

test('only two minutes without a failure start it over', () => {
  let now = 0;
  const backoff = new Backoff(
    DEFAULT_TIMING,
    () => 1,
    () => now,
  );
  backoff.next();
  backoff.next();
  now = 120_000;
  expect(backoff.next()).toBe(3200);
  now = 240_001;
  expect(backoff.next()).toBe(800);
});
