/** Events, as an API server gets them. */
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import type { EventSpec } from '../../src/events/event.ts';
import { ProxyEvents } from '../../src/events/proxy-events.ts';
import { EventRecorder, type EventRecorderOptions } from '../../src/events/recorder.ts';
import { createTransport, type Transport } from '../../src/source/api/transport.ts';
import { type ApiServer, type ApiServerOptions, startApiServer } from '../support/apiserver/apiserver.ts';
import { until } from '../support/until.ts';

const TOKEN = 'very-secret-token';
const AGENT = 'recorder';
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Bench {
  readonly api: ApiServer;
  readonly recorder: EventRecorder;
  /** What was logged, each line as it was written. */
  readonly lines: readonly string[];
  now: number;
  readonly record: (name: string, note?: string) => void;
}

async function bench(
  options: Partial<EventRecorderOptions> = {},
  server: ApiServerOptions = {},
): Promise<Bench> {
  const api = await startApiServer({
    token: TOKEN,
    objects: [
      { apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'shop', name: 'web', uid: 'uid-of-web' } },
    ],
    ...server,
  });
  const transport: Transport = createTransport({
    credentials: {
      server: api.url,
      origin: 'test',
      access: async () => ({ tls: {}, headers: { authorization: `Bearer ${TOKEN}` } }),
      forget() {},
    },
    userAgent: AGENT,
    hooks: {},
    log: pino({ level: 'silent' }),
  });
  const lines: string[] = [];
  const log = pino({ level: 'trace', base: null, timestamp: false }, { write: (line) => lines.push(line) });
  const made: { now: number; recorder?: EventRecorder } = { now: Date.parse('2026-03-01T12:00:00Z') };
  const recorder = new EventRecorder({
    transport,
    host: 'worker-1',
    log,
    retryMs: 5,
    now: () => made.now,
    ...options,
  });
  cleanups.push(
    api.close,
    () => transport.close(),
    () => recorder.close(),
  );
  return {
    api,
    recorder,
    lines,
    get now() {
      return made.now;
    },
    set now(value) {
      made.now = value;
    },
    record: (name, note = 'refused') => recorder.record(warning(name, note)),
  };
}

function warning(name: string, note: string): EventSpec {
  return {
    regarding: { kind: 'Service', namespace: 'shop', name },
    type: 'Warning',
    reason: 'ServiceSetAside',
    action: 'SyncProxyRules',
    note,
  };
}

type Told = Readonly<Record<string, unknown>>;

/** What the recorder asked for, as `POST path 201`. */
function requests(api: ApiServer): string[] {
  const own = api.requests.filter(({ headers }) => headers['user-agent'] === AGENT);
  return own.map(({ method, path, status }) => `${method} ${path} ${status}`);
}

/** The Events that the server has. */
async function events(api: ApiServer): Promise<Told[]> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const response = await fetch(`${api.url}/apis/events.k8s.io/v1/events`, { headers });
  return ((await response.json()) as { items: Told[] }).items;
}

test('an Event about a Service names it by its uid', async () => {
  const { api, recorder, record } = await bench();
  record('web');
  await recorder.flush(10_000);
  expect(requests(api)).toEqual([
    'GET /api/v1/namespaces/shop/services 200',
    'POST /apis/events.k8s.io/v1/namespaces/shop/events 201',
  ]);
  expect(api.requests[0]?.query).toEqual({ fieldSelector: 'metadata.name=web' });
  const [post] = api.requests.slice(1);
  expect(post?.headers['content-type']).toBe('application/json');
});

test('what kube-proxy tells, and what a refused Service is told of', async () => {
  const { recorder } = await bench();
  const specs: EventSpec[] = [];
  const told = new ProxyEvents({
    nodeName: 'worker-1',
    mode: 'nftables',
    record: (spec) => specs.push(spec),
  });
  told.starting();
  told.healthzFailed(new Error('healthz server on 0.0.0.0:10256: in use'));
  told.metricsFailed(new Error('metrics server on 127.0.0.1:10249: in use'));
  told.serviceHealthFailed('shop/web', 30_000, new Error('in use'));
  told.setAside('IPv4', 'shop/web', new Error('nft -f -: exit code 1: bad'));
  const node = { kind: 'Node', namespace: '', name: 'worker-1' };
  const web = { kind: 'Service', namespace: 'shop', name: 'web' };
  expect(specs).toEqual([
    { regarding: node, type: 'Normal', reason: 'Starting', action: 'StartKubeProxy', note: '' },
    {
      regarding: node,
      type: 'Warning',
      reason: 'FailedToStartProxierHealthcheck',
      action: 'StartKubeProxy',
      note: 'healthz server on 0.0.0.0:10256: in use',
    },
    {
      regarding: node,
      type: 'Warning',
      reason: 'FailedToStartMetricServer',
      action: 'StartKubeProxy',
      note: 'metrics server on 127.0.0.1:10249: in use',
    },
    {
      regarding: web,
      type: 'Warning',
      reason: 'FailedToStartServiceHealthcheck',
      action: 'Listen',
      note: 'node worker-1 failed to start healthcheck "shop/web" on port 30000: in use',
    },
    {
      regarding: web,
      type: 'Warning',
      reason: 'ServiceSetAside',
      action: 'SyncProxyRules',
      note: 'node worker-1 cannot program this Service for IPv4 and leaves it as it was until it changes: nft -f -: exit code 1: bad',
    },
  ]);
  recorder.close();
});

test('in IPVS mode it says first whose IPVS mode is deprecated', () => {
  const specs: EventSpec[] = [];
  new ProxyEvents({ nodeName: 'worker-1', mode: 'ipvs', record: (spec) => specs.push(spec) }).starting();
  expect(specs.map(({ type, reason, action }) => [type, reason, action])).toEqual([
    ['Warning', 'IPVSDeprecation', 'StartKubeProxy'],
    ['Normal', 'Starting', 'StartKubeProxy'],
  ]);
  expect(specs[0]?.note).toContain('kube-rulesync keeps its own');
});

test('the same again is counted on the first', async () => {
  const made = await bench();
  made.record('web');
  await made.recorder.flush(10_000);
  const [first] = await events(made.api);
  expect(first).toMatchObject({
    regarding: { kind: 'Service', namespace: 'shop', name: 'web', uid: 'uid-of-web' },
    eventTime: '2026-03-01T12:00:00.000000Z',
    note: 'refused',
  });
  expect(first).not.toHaveProperty('series');
  for (let times = 0; times < 3; times += 1) made.record('web');
  made.now += 61_000;
  made.record('web');
  await made.recorder.flush(10_000);
  expect(await events(made.api)).toMatchObject([
    { series: { count: 5, lastObservedTime: '2026-03-01T12:01:01.000000Z' } },
  ]);
  const last = made.api.requests.findLast(({ method }) => method === 'PATCH');
  expect(last?.headers['content-type']).toBe('application/strategic-merge-patch+json');
  // The server deletes Events after an hour.
  made.api.fail({ resource: 'events', verb: 'patch', status: 404 });
  made.now += 61_000;
  made.record('web', 'again');
  await made.recorder.flush(10_000);
  expect(new Set((await events(made.api)).map(({ note }) => note))).toEqual(new Set(['again', 'refused']));
});

test('a Service that cannot be looked up is named all the same', async () => {
  const { api, recorder, record } = await bench();
  api.fail({ resource: 'services', verb: 'list', status: 403, count: 1 });
  record('web');
  record('unknown');
  await recorder.flush(10_000);
  const uids = (await events(api)).map(({ regarding }) => (regarding as { uid: string }).uid);
  expect(uids.sort()).toEqual(['shop/unknown', 'shop/web']);
});

test('what the server refuses for good is logged and dropped', async () => {
  const { api, recorder, lines, record } = await bench();
  api.fail({ resource: 'events', verb: 'create', status: 403, count: 1 });
  record('web');
  await recorder.flush(10_000);
  expect(requests(api).filter((line) => line.startsWith('POST'))).toEqual([
    'POST /apis/events.k8s.io/v1/namespaces/shop/events 403',
  ]);
  expect(lines.map((line) => JSON.parse(line) as Told)).toMatchObject([
    {
      level: 40,
      reason: 'ServiceSetAside',
      about: 'shop/web',
      msg: 'An Event could not be sent; it is dropped',
    },
  ]);
});

test('what fails for a while is sent in the end, and logged once', async () => {
  const { api, recorder, lines, record } = await bench();
  api.fail({ resource: 'events', verb: 'create', status: 500, count: 3 });
  record('web');
  await until(async () => (await events(api)).length === 1);
  await recorder.flush(10_000);
  expect(lines.map((line) => (JSON.parse(line) as Told).msg)).toEqual([
    'An Event could not be sent; it will be tried again',
  ]);
});

test('nobody waits, there is an end to what waits, and closing drops it', async () => {
  const { api, recorder, lines, record } = await bench();
  api.mute(true);
  for (let index = 0; index < 150; index += 1) record(`s${index}`);
  const dropped = lines.filter((line) => line.includes('Too many Events wait to be sent'));
  expect(dropped.length).toBe(49);
  await until(() => requests(api).length === 1);
  recorder.close();
  // What was under way is given up at once.
  await recorder.flush(10_000);
  record('late');
  await recorder.flush(10_000);
  expect(requests(api).length).toBe(1);
});

test('flushing waits no longer than it is told to', async () => {
  const { api, recorder, record } = await bench();
  api.mute(true);
  record('web');
  await recorder.flush(20);
  api.mute(false);
  expect(await events(api)).toEqual([]);
});

test('no token gets into any log', async () => {
  const { api, recorder, lines, record } = await bench();
  api.setToken('another');
  record('web');
  await recorder.flush(10_000);
  expect(lines.length).toBeGreaterThan(1);
  expect(lines.join('')).not.toContain(TOKEN);
});
