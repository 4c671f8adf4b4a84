import { expect, it } from 'vitest';
import { pause } from './wake.ts';

it('waits as long as a timer can, where it is told to wait longer', async () => {
  const DAYS = 24 * 60 * 60_000;
  const over = new AbortController();
  const first = await Promise.race([
    pause(30 * DAYS, over.signal).then(() => '30 days'),
    pause(20, over.signal).then(() => '20 ms'),
  ]);
  over.abort();
  expect(first).toBe('20 ms');
});
