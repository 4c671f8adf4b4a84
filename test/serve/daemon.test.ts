/** The daemon's servers together, against an API server and back ends without a kernel. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { DaemonServers } from '../../src/cli/daemon-servers.ts';
import { createSource, tapped } from '../../src/cli/source.ts';
import { ProxyMetrics } from '../../src/metrics/proxy-metrics.ts';
import { NodeProxy } from '../../src/proxy.ts';
import { type ApiServer, type KubeObject, startApiServer } from '../support/apiserver/apiserver.ts';
import { endpointSlice, node, service } from '../support/apiserver/samples.ts';
import { FakeBackend } from '../support/fake-backend.ts';
import { freePort } from '../support/free-port.ts';
import { optionsOf } from '../support/node-under-test.ts';
import { until } from '../support/until.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Daemon {
  readonly api: ApiServer;
  readonly backends: readonly FakeBackend[];
  readonly metricsPort: number;
  readonly healthzPort: number;
  /** Rejects when a server cannot listen and that is fatal. */
  readonly start: () => Promise<void>;
}

async function daemon(
  options: Readonly<Record<string, string>> = {},
  objects: readonly KubeObject[] = [],
): Promise<Daemon> {
  const api = await startApiServer({ objects: [node('node1', '192.0.2.1'), ...objects] });
  cleanups.push(api.close);
  const [healthzPort, metricsPort] = [await freePort(), await freePort()];
  const parsed = optionsOf({
    master: api.url,
    proxyMode: 'nftables',
    minSyncPeriod: '0s',
    nodeportAddresses: '0.0.0.0/0',
    healthzBindAddress: `127.0.0.1:${healthzPort}`,
    metricsBindAddress: `127.0.0.1:${metricsPort}`,
    ...options,
  });
  const log = pino({ level: 'silent' });
  const runner = { run: () => Promise.reject(new Error('there are no tools')) };
  const metrics = new ProxyMetrics({ mode: 'nftables', version: 'v0.1.0', featureGates: [], runner });
  const source = await createSource(parsed, 'node1', true, log, metrics.hooks);
  const backends = [new FakeBackend('nftables', 'IPv4')];
  const servers = new DaemonServers({
    options: parsed,
    flags: { 'proxy-mode': 'nftables' },
    nodeName: 'node1',
    families: ['IPv4'],
    requiredKinds: ['Service', 'EndpointSlice', 'Node'],
    nodeAddresses: () => ['127.0.0.1'],
    metrics,
    transport: source.transport,
    log,
  });
  const proxy = new NodeProxy({
    options: parsed,
    nodeName: 'node1',
    source: tapped(source, servers.tap),
    backends,
    nodeAddresses: () => ['127.0.0.1'],
    log,
    observers: servers.observers,
    requiredKinds: ['Service', 'EndpointSlice', 'Node'],
  });
  const over = new AbortController();
  const running: Promise<void>[] = [];
  cleanups.push(async () => {
    over.abort();
    metrics.close();
    await Promise.all([...running, servers.close()]);
  });
  return {
    api,
    backends,
    metricsPort,
    healthzPort,
    async start() {
      await servers.start(proxy);
      running.push(proxy.run(over.signal));
    },
  };
}

async function get(port: number, path: string): Promise<{ status: number; body: string }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return { status: response.status, body: await response.text() };
}

interface EventSeen {
  readonly reason: string;
  readonly type: string;
  readonly action: string;
  readonly note: string;
  readonly regarding: Readonly<Record<string, string>>;
}

/** The Events that the API server has, as `reason about`. */
async function events(api: ApiServer): Promise<EventSeen[]> {
  const response = await fetch(`${api.url}/apis/events.k8s.io/v1/events`);
  return ((await response.json()) as { items: EventSeen[] }).items;
}

test('from the API server to health, metrics and Events', async () => {
  const { api, backends, metricsPort, healthzPort, start } = await daemon({}, [
    service('web', '10.96.0.10'),
    endpointSlice('web-1', 'web', ['10.244.1.1']),
  ]);
  await start();
  await until(async () => (await get(metricsPort, '/readyz')).status === 200);
  expect(await get(metricsPort, '/readyz?verbose')).toEqual({
    status: 200,
    body: '[+]rules-ipv4 ok\n[+]source ok\nreadyz check passed\n',
  });
  expect((await get(healthzPort, '/healthz')).body).toMatch(
    /"nodeEligible":true,"healthy":true,"status":\{"IPv4":/,
  );
  expect((await get(metricsPort, '/proxyMode')).body).toBe('nftables');
  expect(JSON.parse((await get(metricsPort, '/configz')).body)).toMatchObject({
    'kubeproxy.config.k8s.io': {
      kind: 'KubeProxyConfiguration',
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      mode: 'nftables',
    },
  });
  expect((await get(metricsPort, '/flagz')).body).toMatch(/\nproxy-mode[:= ]+nftables\n$/);
  expect((await get(metricsPort, '/statusz')).body).toMatch(/\nBinary version[:= ]+\d+\.\d+\.\d+\n/);

  backends[0]?.refused.add('default/bad');
  api.apply({
    ...service('bad', '10.96.0.11'),
    metadata: { namespace: 'default', name: 'bad', uid: 'uid-of-bad' },
  });
  await until(async () => (await events(api)).length === 2);
  const told = (await events(api)).map(({ reason, type, action, regarding }) => ({
    reason,
    type,
    action,
    regarding,
  }));
  expect(told).toContainEqual({
    reason: 'Starting',
    type: 'Normal',
    action: 'StartKubeProxy',
    regarding: { apiVersion: 'v1', kind: 'Node', name: 'node1', uid: 'node1' },
  });
  expect(told).toContainEqual({
    reason: 'ServiceSetAside',
    type: 'Warning',
    action: 'SyncProxyRules',
    regarding: { apiVersion: 'v1', kind: 'Service', namespace: 'default', name: 'bad', uid: 'uid-of-bad' },
  });

  const host = new URL(api.url).host;
  const { body } = await get(metricsPort, '/metrics');
  const value = (sample: string) =>
    Number(
      body
        .split('\n')
        .find((line) => line.startsWith(`${sample} `))
        ?.slice(sample.length),
    );
  expect(value(`rest_client_requests_total{code="200",host="${host}",method="GET"}`)).toBeGreaterThanOrEqual(
    4,
  );
  expect(value(`rest_client_requests_total{code="201",host="${host}",method="POST"}`)).toBe(2);
  expect(value('kube_rulesync_relists_total{kind="Service",reason="first"}')).toBe(1);
  expect(value('kube_rulesync_services_set_aside{ip_family="IPv4"}')).toBe(1);
  expect(value('kubeproxy_proxy_healthz_total{code="200"}')).toBe(1);
  expect(value('kube_rulesync_source_last_heard_timestamp_seconds{kind="Service"}')).toBeGreaterThan(1e9);
});

test('a watch that breaks is counted, and readiness waits for the first list', async () => {
  const { api, metricsPort, healthzPort, start } = await daemon();
  api.fail({ status: 403, resource: 'services', count: Number.POSITIVE_INFINITY, message: 'no' });
  await start();
  await until(async () =>
    /\[-\]source failed: Service: nothing heard yet: .*no; grant list/.test(
      (await get(metricsPort, '/readyz')).body,
    ),
  );
  // An API server that is away takes no node out of load balancers.
  expect((await get(healthzPort, '/livez')).status).toBe(200);
  api.clearFaults();
  await api.until(() => api.watches('endpointslices') === 1);
  api.endWatches();
  const restarts = async () => (await get(metricsPort, '/metrics')).body;
  await until(async () =>
    /kube_rulesync_watch_restarts_total\{kind="EndpointSlice",reason="(ended|short)"\} 1/.test(
      await restarts(),
    ),
  );
});

test('a health check port that is taken is told of on its Service', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  cleanups.push(() => new Promise((resolve) => taken.close(resolve)));
  const { port } = taken.address() as AddressInfo;
  const web = service('web', '10.96.0.10');
  const spec = {
    ...(web.spec as object),
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: port,
  };
  const { api, start } = await daemon({}, [{ ...web, spec }]);
  await start();
  await until(async () =>
    (await events(api)).some(({ reason }) => reason === 'FailedToStartServiceHealthcheck'),
  );
  const told = (await events(api)).find(({ reason }) => reason === 'FailedToStartServiceHealthcheck');
  expect(told).toMatchObject({
    type: 'Warning',
    action: 'Listen',
    regarding: { kind: 'Service', name: 'web' },
  });
  expect(told?.note).toContain(`node node1 failed to start healthcheck "default/web" on port ${port}: `);
});

test('a server that cannot listen is fatal where that was asked for, and an Event says so', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  cleanups.push(() => new Promise((resolve) => taken.close(resolve)));
  const { port } = taken.address() as AddressInfo;
  const message = `server on 127.0.0.1:${port}: listen EADDRINUSE: address already in use 127.0.0.1:${port}`;
  const metrics = await daemon({ metricsBindAddress: `127.0.0.1:${port}`, bindAddressHardFail: 'true' });
  await expect(metrics.start()).rejects.toThrow(`metrics ${message}`);
  expect(await events(metrics.api)).toMatchObject([
    {
      reason: 'FailedToStartMetricServer',
      type: 'Warning',
      action: 'StartKubeProxy',
      note: `metrics ${message}`,
      regarding: { kind: 'Node', name: 'node1' },
    },
  ]);
  const healthz = await daemon({ healthzBindAddress: `127.0.0.1:${port}`, bindAddressHardFail: 'true' });
  await expect(healthz.start()).rejects.toThrow(`healthz ${message}`);
  expect((await events(healthz.api)).map(({ reason }) => reason)).toEqual([
    'FailedToStartProxierHealthcheck',
  ]);
});

test('IPVS mode is told of at the start, as in kube-proxy', async () => {
  const { api, start } = await daemon({ proxyMode: 'ipvs' });
  await start();
  await until(async () => (await events(api)).length === 2);
  const told = (await events(api)).map(
    ({ reason, type, regarding }) => `${reason} ${type} ${regarding.kind}`,
  );
  expect(told.sort()).toEqual(['IPVSDeprecation Warning Node', 'Starting Normal Node']);
});

test.for([
  ['ComponentFlagz', '/flagz', '/statusz'],
  ['ComponentStatusz', '/statusz', '/flagz'],
] as const)('the gate %s switches %s off, and not %s', async ([gate, off, on]) => {
  const { metricsPort, start } = await daemon({ featureGates: `${gate}=false` });
  await start();
  expect((await get(metricsPort, off)).status).toBe(404);
  expect((await get(metricsPort, on)).status).toBe(200);
  // Nor is it listed.
  expect((await get(metricsPort, on)).body).not.toContain(off);
});

test.for([
  ['ipvs', { ipvsSyncPeriod: '100ms', ipvsMinSyncPeriod: '0s', syncPeriod: '1h' }],
  ['nftables', { ipvsSyncPeriod: '1h', syncPeriod: '100ms' }],
] as const)('what waits for two sync periods of %s mode is too late', async ([proxyMode, periods]) => {
  const { api, backends, healthzPort, start } = await daemon({ proxyMode, ...periods });
  await start();
  await until(async () => /"IPv4":\{"lastUpdated":"2/.test((await get(healthzPort, '/healthz')).body));
  const gate = Promise.withResolvers<void>();
  for (const backend of backends) backend.gate = gate.promise;
  try {
    api.apply(service('web', '10.96.0.10'));
    await until(async () => (await get(healthzPort, '/livez')).status === 503);
  } finally {
    gate.resolve();
  }
  await until(async () => (await get(healthzPort, '/livez')).status === 200);
});

test('an empty address is no server, and all else goes on', async () => {
  const { api, metricsPort, healthzPort, start } = await daemon({ metricsBindAddress: '' });
  await start();
  await until(async () => (await get(healthzPort, '/healthz')).status === 200);
  await expect(fetch(`http://127.0.0.1:${metricsPort}/metrics`)).rejects.toThrow('fetch failed');
  await until(async () => (await events(api)).length === 1);
});
