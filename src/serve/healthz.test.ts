import { expect, test } from 'vitest';
import type { HealthState } from './health-tracker.ts';
import { healthAnswer, rfc3339Nano } from './healthz.ts';

const NOW = Date.parse('2026-03-01T12:00:00.250Z');
const SECOND = 1000;

function state(given: Partial<HealthState>): HealthState {
  return { families: {}, nodeEligible: true, syncPeriod: 30 * SECOND, ...given };
}

const SYNCED = {
  IPv6: { lastUpdated: Date.parse('2026-03-01T11:59:50.100Z'), oldestPending: 0 },
  IPv4: { lastUpdated: Date.parse('2026-03-01T11:00:00Z'), oldestPending: 0 },
};

test.for<[string, string, Partial<HealthState>, number, string]>([
  [
    'everything is synced',
    '/healthz',
    { families: SYNCED },
    200,
    '{"lastUpdated":"2026-03-01T12:00:00.25Z","currentTime":"2026-03-01T12:00:00.25Z","nodeEligible":true,"healthy":true,"status":{"IPv4":{"lastUpdated":"2026-03-01T11:00:00Z","healthy":true},"IPv6":{"lastUpdated":"2026-03-01T11:59:50.1Z","healthy":true}}}',
  ],
  [
    'everything is synced',
    '/livez',
    { families: SYNCED },
    200,
    '{"lastUpdated":"2026-03-01T12:00:00.25Z","currentTime":"2026-03-01T12:00:00.25Z","healthy":true,"status":{"IPv4":{"lastUpdated":"2026-03-01T11:00:00Z","healthy":true},"IPv6":{"lastUpdated":"2026-03-01T11:59:50.1Z","healthy":true}}}',
  ],
  [
    'the Node is leaving',
    '/healthz',
    { families: SYNCED, nodeEligible: false },
    503,
    '{"lastUpdated":"2026-03-01T11:59:50.1Z","currentTime":"2026-03-01T12:00:00.25Z","nodeEligible":false,"healthy":true,"status":{"IPv4":{"lastUpdated":"2026-03-01T11:00:00Z","healthy":true},"IPv6":{"lastUpdated":"2026-03-01T11:59:50.1Z","healthy":true}}}',
  ],
  [
    'the Node is leaving',
    '/livez',
    { families: SYNCED, nodeEligible: false },
    200,
    '{"lastUpdated":"2026-03-01T12:00:00.25Z","currentTime":"2026-03-01T12:00:00.25Z","healthy":true,"status":{"IPv4":{"lastUpdated":"2026-03-01T11:00:00Z","healthy":true},"IPv6":{"lastUpdated":"2026-03-01T11:59:50.1Z","healthy":true}}}',
  ],
  [
    'nothing has happened yet',
    '/healthz',
    {},
    200,
    '{"lastUpdated":"2026-03-01T12:00:00.25Z","currentTime":"2026-03-01T12:00:00.25Z","nodeEligible":true,"healthy":true}',
  ],
  [
    'a change has waited just under two periods',
    '/healthz',
    { families: { IPv4: { lastUpdated: NOW - 3600 * SECOND, oldestPending: NOW - 60 * SECOND + 1 } } },
    200,
    '{"lastUpdated":"2026-03-01T12:00:00.25Z","currentTime":"2026-03-01T12:00:00.25Z","nodeEligible":true,"healthy":true,"status":{"IPv4":{"lastUpdated":"2026-03-01T11:00:00.25Z","healthy":true}}}',
  ],
  [
    'a change has waited two periods in one family',
    '/healthz',
    {
      families: {
        IPv4: { lastUpdated: NOW - SECOND, oldestPending: 0 },
        IPv6: { lastUpdated: NOW - 3600 * SECOND, oldestPending: NOW - 60 * SECOND },
      },
    },
    503,
    '{"lastUpdated":"2026-03-01T11:59:59.25Z","currentTime":"2026-03-01T12:00:00.25Z","nodeEligible":true,"healthy":false,"status":{"IPv4":{"lastUpdated":"2026-03-01T11:59:59.25Z","healthy":true},"IPv6":{"lastUpdated":"2026-03-01T11:00:00.25Z","healthy":false}}}',
  ],
  [
    'the first sync never went through',
    '/livez',
    { families: { IPv4: { lastUpdated: 0, oldestPending: NOW - 60 * SECOND } } },
    503,
    '{"lastUpdated":"0001-01-01T00:00:00Z","currentTime":"2026-03-01T12:00:00.25Z","healthy":false,"status":{"IPv4":{"lastUpdated":"0001-01-01T00:00:00Z","healthy":false}}}',
  ],
])('when %s, %s', ([, path, given, status, body]) => {
  expect(healthAnswer(path, state(given), NOW)).toEqual({
    status,
    headers: { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff' },
    body,
  });
});

test.for(['/', '/metrics', '/healthz/', '/healthz/x'])('%s is not there', (path) => {
  expect(healthAnswer(path, state({}), NOW)).toMatchObject({ status: 404, body: '404 page not found\n' });
});

test.for([
  [0, '0001-01-01T00:00:00Z'],
  [1_000_000_000_000, '2001-09-09T01:46:40Z'],
  [1_000_000_000_100, '2001-09-09T01:46:40.1Z'],
  [1_000_000_000_120, '2001-09-09T01:46:40.12Z'],
  [1_000_000_000_123, '2001-09-09T01:46:40.123Z'],
  [1_000_000_000_003, '2001-09-09T01:46:40.003Z'],
] as const)('%d is %s', ([milliseconds, text]) => {
  expect(rfc3339Nano(milliseconds)).toBe(text);
});
