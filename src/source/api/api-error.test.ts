import { describe, expect, test } from 'vitest';
import { errorOfStatus, errorText, parseRetryAfter } from './api-error.ts';

describe('the reason of a Status', () => {
  test.each([
    [401, { reason: 'Unauthorized' }, 'unauthorized'],
    [403, { reason: 'Forbidden' }, 'forbidden'],
    [404, {}, 'not-found'],
    [410, {}, 'expired'],
    [500, { reason: 'Expired' }, 'expired'],
    [504, { details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } }, 'too-large'],
    [504, { reason: 'Timeout' }, 'server'],
    [408, {}, 'server'],
    [429, {}, 'throttled'],
    [503, {}, 'throttled'],
    [400, {}, 'rejected'],
    [422, {}, 'rejected'],
    [500, null, 'server'],
  ] as const)('%i %j is %s', (status, body, reason) => {
    expect(errorOfStatus(body, 'list services', { status }).reason).toBe(reason);
  });

  test('the code in the body goes before that of the answer', () => {
    const error = errorOfStatus({ code: 410, message: 'too old' }, 'watch services', { inStream: true });
    expect(error).toMatchObject({ reason: 'expired', status: 410, inStream: true });
    expect(error.message).toBe('watch services: error 410 inside the stream: too old');
  });
});

test.each([
  [undefined, undefined],
  ['7', 7000],
  [' 0 ', 0],
  ['Mon, 30 Nov 2026 12:00:10 GMT', 10_000],
  ['Mon, 30 Nov 2026 11:00:00 GMT', 0],
  ['soon', undefined],
])('Retry-After: %s', (header, wait) => {
  expect(parseRetryAfter(header, Date.UTC(2026, 10, 30, 12))).toBe(wait);
});

test.each([
  [new Error('one\n  two '), 'one two'],
  ['text', 'text'],
  // What Node makes of a host with two addresses of which neither answers has no message of its own.
  [
    new AggregateError([
      new Error('connect ECONNREFUSED ::1:1'),
      new Error('connect ECONNREFUSED 127.0.0.1:1'),
    ]),
    'connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1',
  ],
])('the text of %o is %j', (error, text) => {
  expect(errorText(error)).toBe(text);
});
