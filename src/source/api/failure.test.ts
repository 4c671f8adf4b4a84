import { describe, expect, test } from 'vitest';
import { ApiError, type ApiErrorDetails, type ApiErrorReason, NO_ANSWER } from './api-error.ts';
import { explain, isLasting, nextStep, type Situation } from './failure.ts';
import type { ApiResource } from './resources.ts';

const required: ApiResource = {
  kind: 'Service',
  name: 'services',
  group: '',
  path: '/api/v1/services',
  project: () => ({ value: undefined, problems: [] }),
};
const optional: ApiResource = { ...required, optional: true };

function stepFor(
  reason: ApiErrorReason,
  situation: Partial<Situation> = {},
  details: ApiErrorDetails = {},
  message = 'said',
) {
  const { note: _, ...step } = nextStep(new ApiError(reason, message, details), {
    resource: required,
    mode: 'watch',
    streamErrors: 0,
    synced: true,
    ...situation,
  });
  return step;
}

test.each([
  'unreachable',
  'dropped',
  'idle',
  'overrun',
  'short',
  'malformed',
  'unauthorized',
  'throttled',
  'server',
] as const)('%s: try the same again, later', (reason) => {
  for (const mode of ['list', 'watch-list', 'watch'] as const) {
    expect(stepFor(reason, { mode })).toEqual({ wait: 'backoff' });
  }
});

test.each(['expired', 'too-large'] as const)('%s: everything anew', (reason) => {
  expect(stepFor(reason)).toEqual({ wait: 'backoff', relist: reason });
});

test('initial events that broke off: a plain list', () => {
  expect(stepFor('incomplete', { mode: 'watch-list' })).toEqual({ wait: 'backoff', plainList: true });
});

describe('rejected', () => {
  test.each([400, 422])('a watch-list with %i: never again, and at once', (status) => {
    expect(stepFor('rejected', { mode: 'watch-list' }, { status })).toEqual({
      wait: 'none',
      withoutWatchList: true,
    });
  });

  test('a watch: the version is of no use', () => {
    expect(stepFor('rejected', {}, { status: 400 })).toEqual({ wait: 'backoff', relist: 'rejected' });
  });

  test('a field selector the server does not know, where it may be left out', () => {
    const message = 'list services: HTTP 400: field label not supported: spec.clusterIP';
    const resource = { ...required, fieldSelectorOptional: true };
    expect(stepFor('rejected', { resource }, { status: 400 }, message)).toEqual({
      wait: 'none',
      withoutFieldSelector: true,
    });
    expect(stepFor('rejected', { mode: 'list' }, { status: 400 }, message)).toEqual({
      wait: 'backoff',
      relist: 'rejected',
    });
  });
});

describe('errors inside a stream', () => {
  test('go on from the same version twice, then list', () => {
    const step = (streamErrors: number) => stepFor('server', { streamErrors }, { inStream: true });
    expect([step(1), step(2), step(3)]).toEqual([
      { wait: 'backoff' },
      { wait: 'backoff' },
      { wait: 'backoff', relist: 'rejected' },
    ]);
  });

  test('among initial events: a plain list', () => {
    expect(stepFor('server', { mode: 'watch-list', streamErrors: 1 }, { inStream: true })).toEqual({
      wait: 'backoff',
      plainList: true,
    });
  });
});

describe('what we may not, or cannot, have', () => {
  test('required: try again at the cap', () => {
    expect(stepFor('forbidden')).toEqual({ wait: 'cap' });
    expect(stepFor('not-found')).toEqual({ wait: 'cap' });
  });

  test('optional: go on without, and keep what there was when only the right is gone', () => {
    expect(stepFor('not-found', { resource: optional })).toEqual({
      wait: 'rarely',
      relist: 'first',
      empty: true,
      healthy: true,
    });
    expect(stepFor('forbidden', { resource: optional, synced: false })).toEqual({
      wait: 'rarely',
      empty: true,
    });
    expect(stepFor('forbidden', { resource: optional, synced: true })).toEqual({
      wait: 'rarely',
      empty: false,
    });
  });
});

test('an error of our own: everything anew', () => {
  const { note: _, ...step } = nextStep(new TypeError('oops'), {
    resource: required,
    mode: 'watch',
    streamErrors: 0,
    synced: true,
  });
  expect(step).toEqual({ wait: 'backoff', relist: 'fault' });
});

describe('whether the same would come again', () => {
  const failure = (code: string) => ({ cause: Object.assign(new Error('failed'), { code }) });

  test.each<[ApiErrorReason, ApiErrorDetails]>([
    ['unreachable', failure('ECONNREFUSED')],
    ['unreachable', failure('ENOTFOUND')],
    ['unreachable', failure('ETIMEDOUT')],
    ['unreachable', failure('ERR_TLS_CERT_ALTNAME_INVALID')],
    ['unreachable', {}],
    ['unauthorized', { status: 401 }],
    ['forbidden', { status: 403 }],
    ['not-found', { status: 404 }],
    ['server', { status: 301 }],
  ])('%s %o: yes', (reason, details) => {
    expect(isLasting(new ApiError(reason, 'said', details), required)).toBe(true);
  });

  test.each<[ApiErrorReason, ApiErrorDetails]>([
    ['unreachable', failure('ECONNRESET')],
    ['unreachable', failure(NO_ANSWER)],
    ['throttled', { status: 429, retryAfterMs: 1000 }],
    ['server', { status: 500 }],
    ['dropped', {}],
    ['idle', {}],
    ['incomplete', {}],
    ['malformed', {}],
    ['expired', { status: 410 }],
  ])('%s %o: perhaps not', (reason, details) => {
    expect(isLasting(new ApiError(reason, 'said', details), required)).toBe(false);
  });

  test('what we can do without is no reason to give up', () => {
    expect(isLasting(new ApiError('forbidden', 'said'), optional)).toBe(false);
    expect(isLasting(new ApiError('not-found', 'said'), optional)).toBe(false);
    expect(isLasting(new ApiError('unreachable', 'said'), optional)).toBe(true);
    expect(isLasting(new TypeError('oops'), required)).toBe(false);
  });
});

test.each<[ApiErrorReason, ApiErrorDetails, string]>([
  ['not-found', { status: 404 }, '; is this a Kubernetes API server, and does it serve /api/v1/services?'],
  ['malformed', {}, '; is this a Kubernetes API server?'],
  ['server', { status: 302 }, '; is this a Kubernetes API server?'],
  ['server', { status: 500 }, ''],
  ['unreachable', {}, ''],
])('%s %o is explained as %j', (reason, details, text) => {
  expect(explain(new ApiError(reason, 'said', details), required)).toBe(text);
});
