import { beforeEach, expect, test } from 'vitest';
import { HealthTracker } from './health-tracker.ts';

let now: number;
let tracker: HealthTracker;
beforeEach(() => {
  now = 1_000_000;
  tracker = new HealthTracker({ syncPeriod: 30_000, now: () => now });
});

test('is healthy before anything happens, but its Node is unknown', () => {
  expect(tracker.isHealthy()).toBe(true);
  expect(tracker.state()).toEqual({ families: {}, nodeEligible: false, syncPeriod: 30_000 });
});

test('the oldest change decides, and two periods are too long', () => {
  tracker.synced({ family: 'IPv4' });
  tracker.queued('IPv4');
  now += 30_000;
  tracker.queued('IPv4');
  now += 29_999;
  expect(tracker.isHealthy()).toBe(true);
  now += 1;
  expect(tracker.isHealthy()).toBe(false);
  expect(tracker.state().families).toEqual({ IPv4: { lastUpdated: 1_000_000, oldestPending: 1_000_000 } });
});

test('a sync makes its family well, and no other', () => {
  tracker.queued('IPv4');
  tracker.queued('IPv6');
  now += 60_000;
  tracker.synced({ family: 'IPv4' });
  expect(tracker.isHealthy()).toBe(false);
  tracker.synced({ family: 'IPv6' });
  expect(tracker.isHealthy()).toBe(true);
  expect(tracker.state().families).toEqual({
    IPv4: { lastUpdated: 1_060_000, oldestPending: 0 },
    IPv6: { lastUpdated: 1_060_000, oldestPending: 0 },
  });
});

test('what failed is pending from its first failure on, though nothing was queued', () => {
  tracker.failed('IPv4');
  now += 40_000;
  tracker.failed('IPv4');
  expect(tracker.isHealthy()).toBe(true);
  now += 20_000;
  expect(tracker.isHealthy()).toBe(false);
});

test('the Node is eligible while it is there and stays', () => {
  const eligible = () => tracker.state().nodeEligible;
  tracker.nodeChanged({ leaving: false });
  expect(eligible()).toBe(true);
  tracker.nodeChanged({ leaving: true });
  expect(eligible()).toBe(false);
  tracker.nodeChanged(undefined);
  expect(eligible()).toBe(false);
});
