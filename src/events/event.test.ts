import { expect, test } from 'vitest';
import { type EventSpec, eventObject, microTime } from './event.ts';

const NOW = Date.parse('2026-03-01T12:34:56.789Z');
const SPEC: EventSpec = {
  regarding: { kind: 'Service', namespace: 'shop', name: 'web' },
  type: 'Warning',
  reason: 'FailedToStartServiceHealthcheck',
  action: 'Listen',
  note: 'port 30000 is taken',
};
const REPORTER = { host: 'worker-1', now: NOW, serial: 1 };

test('about a Service', () => {
  expect(eventObject(SPEC, 'b0e1', REPORTER)).toEqual({
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'web.1898b7c1e6338f41', namespace: 'shop' },
    eventTime: '2026-03-01T12:34:56.789000Z',
    reportingController: 'kube-proxy',
    reportingInstance: 'kube-proxy-worker-1',
    action: 'Listen',
    reason: 'FailedToStartServiceHealthcheck',
    regarding: { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'web', uid: 'b0e1' },
    note: 'port 30000 is taken',
    type: 'Warning',
  });
});

test('about a Node: in the default namespace', () => {
  const spec: EventSpec = { ...SPEC, regarding: { kind: 'Node', namespace: '', name: 'worker-1' }, note: '' };
  expect(eventObject(spec, 'worker-1', { ...REPORTER, serial: 2 })).toMatchObject({
    metadata: { name: 'worker-1.1898b7c1e6338f42', namespace: 'default' },
    regarding: { apiVersion: 'v1', kind: 'Node', name: 'worker-1', uid: 'worker-1' },
    note: '',
  });
});

test("what is longer than the API server takes is cut, at a character's end", () => {
  const long = eventObject(
    { ...SPEC, note: `a${'ü'.repeat(600)}`, regarding: { ...SPEC.regarding, name: 'n'.repeat(253) } },
    'uid',
    { ...REPORTER, host: 'h'.repeat(253) },
  );
  expect(long.note).toBe(`a${'ü'.repeat(509)} …`);
  expect(Buffer.byteLength(long.note)).toBe(1023);
  expect(long.metadata.name).toMatch(/^n{236}\.1898b7c1e6338f41$/);
  expect(long.reportingInstance).toBe(`kube-proxy-${'h'.repeat(117)}`);
  const whole = 'ü'.repeat(512);
  expect(eventObject({ ...SPEC, note: whole }, 'uid', REPORTER).note).toBe(whole);
});

test('times have six digits', () => {
  expect(microTime(0)).toBe('1970-01-01T00:00:00.000000Z');
});
