import { expect, test } from 'vitest';
import type { ValueKind } from '../cluster/values.ts';
import type { SourceStatus } from '../source/source.ts';
import type { HealthState } from './health-tracker.ts';
import { type ReadinessOptions, readinessChecks } from './readiness.ts';

const NOW = 10_000_000;

function results(given: Partial<ReadinessOptions>): Record<string, string | undefined> {
  const checks = readinessChecks({
    families: ['IPv4'],
    requiredKinds: ['Service', 'Node'],
    health: () => WELL,
    statuses: () => heard(1000),
    maxSilenceMs: 360_000,
    now: () => NOW,
    ...given,
  });
  return Object.fromEntries(checks.map(({ name, run }) => [name, run()]));
}

const WELL: HealthState = {
  families: { IPv4: { lastUpdated: NOW - 5000, oldestPending: 0 } },
  nodeEligible: true,
  syncPeriod: 30_000,
};

/** Both kinds, last heard so many milliseconds ago. */
function heard(ago: number, status: Partial<SourceStatus> = {}): ReadonlyMap<ValueKind, SourceStatus> {
  const one = { state: 'watching', lastHeardAt: NOW - ago, ...status } as const;
  return new Map([
    ['Service', one],
    ['Node', one],
  ]);
}

test('all is well', () => {
  expect(results({})).toEqual({ 'rules-ipv4': undefined, source: undefined });
});

test('a family that was never written, and one whose changes wait', () => {
  const families = {
    IPv4: { lastUpdated: NOW - 3_600_000, oldestPending: NOW - 60_000 },
    IPv6: { lastUpdated: 0, oldestPending: NOW - 1000 },
  };
  expect(results({ families: ['IPv4', 'IPv6'], health: () => ({ ...WELL, families }) })).toMatchObject({
    'rules-ipv4': 'changes have waited for 60 s, last written 3600 s ago',
    'rules-ipv6': 'not written yet',
  });
  expect(results({ health: () => ({ ...WELL, families: {} }) })).toMatchObject({
    'rules-ipv4': 'not written yet',
  });
});

test.for<[string, number, ReadonlyMap<ValueKind, SourceStatus>, string | undefined]>([
  ['nothing is known', 360_000, new Map(), 'Service: nothing heard yet'],
  [
    'nothing was heard',
    360_000,
    heard(NOW, { state: 'retrying', error: 'connection refused' }),
    'Service: nothing heard yet: connection refused',
  ],
  ['it was heard just in time', 360_000, heard(360_000, { state: 'retrying', error: 'x' }), undefined],
  ['it has been silent', 360_000, heard(361_500), 'Service: nothing heard for 361 s'],
  [
    'it has been silent for a reason',
    360_000,
    heard(400_000, { state: 'retrying', error: 'connection refused' }),
    'Service: nothing heard for 400 s: connection refused',
  ],
])('an API server: %s', ([, maxSilenceMs, statuses, expected]) => {
  expect(results({ maxSilenceMs, statuses: () => statuses }).source).toBe(expected);
});

test('a source that may be silent is asked how it is', () => {
  const source = (status: Partial<SourceStatus>) =>
    results({ maxSilenceMs: undefined, statuses: () => heard(9_000_000, status) }).source;
  expect(source({})).toBeUndefined();
  expect(source({ state: 'retrying', error: 'a.yaml:3: broken' })).toBe(
    'Service: out of date: a.yaml:3: broken',
  );
});
