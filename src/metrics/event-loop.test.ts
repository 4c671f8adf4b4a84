import { afterEach, expect, test, vi } from 'vitest';
import { measureEventLoop } from './event-loop.ts';
import { Registry } from './registry.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test('a timer that comes late is observed as that, until it is told to stop', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const now = vi.spyOn(performance, 'now').mockReturnValue(1000);
  const registry = new Registry();
  const stop = measureEventLoop(registry);
  // Half a second later as it should; then 200 ms late; then on time again, counted from the last one.
  for (const time of [1500, 2200, 2700]) {
    now.mockReturnValue(time);
    vi.advanceTimersByTime(500);
  }
  const [lag] = await registry.read();
  const buckets = lag?.samples.map(({ suffix, bound, value }) => `${suffix} ${bound ?? ''} ${value}`);
  expect(buckets).toEqual([
    '_bucket 0.001 2',
    '_bucket 0.005 2',
    '_bucket 0.01 2',
    '_bucket 0.025 2',
    '_bucket 0.05 2',
    '_bucket 0.1 2',
    '_bucket 0.25 3',
    '_bucket 0.5 3',
    '_bucket 1 3',
    '_bucket 2.5 3',
    '_bucket 5 3',
    '_bucket 10 3',
    '_bucket Infinity 3',
    '_sum  0.2',
    '_count  3',
  ]);
  stop();
  expect(vi.getTimerCount()).toBe(0);
});
