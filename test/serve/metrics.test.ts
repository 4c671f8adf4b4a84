/** What metrics say after a reconciler has done real work, with a back end that has no kernel under it. */
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { tapped } from '../../src/cli/source.ts';
import { exposition, formatFor } from '../../src/metrics/exposition.ts';
import { ProxyMetrics } from '../../src/metrics/proxy-metrics.ts';
import { ToolError } from '../../src/node/runner.ts';
import { NodeProxy } from '../../src/proxy.ts';
import type { ProxyMode } from '../../src/reconcile/backend.ts';
import { FakeBackend } from '../support/fake-backend.ts';
import { MemorySource } from '../support/memory-source.ts';
import { optionsOf } from '../support/node-under-test.ts';
import type { ApiObject } from '../support/scenarios.ts';
import { until } from '../support/until.ts';

const NODE = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node1' },
  status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] },
};

function service(name: string, clusterIP: string, spec: object = {}): ApiObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'default', name },
    spec: { clusterIPs: [clusterIP], ipFamilies: ['IPv4'], ports: [{ port: 80, protocol: 'TCP' }], ...spec },
  } as ApiObject;
}

function slice(name: string, address: string, changedAt?: number): ApiObject {
  const annotations =
    changedAt === undefined
      ? {}
      : { 'endpoints.kubernetes.io/last-change-trigger-time': new Date(changedAt).toISOString() };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace: 'default',
      name: `${name}-1`,
      labels: { 'kubernetes.io/service-name': name },
      annotations,
    },
    addressType: 'IPv4',
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
    endpoints: [{ addresses: [address], nodeName: 'node2', conditions: { ready: true } }],
  } as ApiObject;
}

class Daemon {
  readonly metrics: ProxyMetrics;
  readonly source: MemorySource;
  readonly backends: readonly [FakeBackend, FakeBackend];
  readonly #over = new AbortController();
  readonly #done: Promise<void>;

  constructor(mode: ProxyMode, objects: readonly ApiObject[]) {
    const runner = { run: () => Promise.reject(new Error('there are no tools')) };
    this.metrics = new ProxyMetrics({ mode, version: 'v1.2.3', featureGates: [], runner });
    this.source = new MemorySource(objects);
    this.backends = [new FakeBackend(mode, 'IPv4'), new FakeBackend(mode, 'IPv6')];
    const proxy = new NodeProxy({
      options: optionsOf({
        manifests: '-',
        proxyMode: mode,
        minSyncPeriod: '0s',
        syncPeriod: '50ms',
        clusterCidr: '10.244.0.0/16',
      }),
      nodeName: 'node1',
      source: tapped(this.source, this.metrics),
      backends: this.backends.map((backend) => this.metrics.counted(backend)),
      nodeAddresses: () => ['192.0.2.1'],
      log: pino({ level: 'silent' }),
      observers: this.metrics.observers,
    });
    this.metrics.follow({
      families: ['IPv4', 'IPv6'],
      pendingServices: () => proxy.reconciler.loops.flatMap((loop) => [...loop.pending]),
      statuses: () => proxy.cluster.statuses(),
    });
    this.#done = proxy.run(this.#over.signal);
  }

  /** The value of a sample, by its name and labels as they are written; `undefined` when there is no such. */
  async value(sample: string): Promise<number | undefined> {
    const text = exposition(await this.metrics.registry.read(), formatFor(''));
    const line = text.split('\n').find((one) => one.startsWith(`${sample} `));
    return line === undefined ? undefined : Number(line.slice(sample.length + 1));
  }

  async values(...samples: string[]): Promise<(number | undefined)[]> {
    return Promise.all(samples.map((sample) => this.value(sample)));
  }

  /** Waits until a sample has this value. */
  async sees(sample: string, value: number): Promise<void> {
    await until(async () => (await this.value(sample)) === value);
  }

  async stop(): Promise<void> {
    this.#over.abort();
    this.metrics.close();
    await this.#done;
  }
}

const running: Daemon[] = [];
function daemon(mode: ProxyMode, ...objects: readonly ApiObject[]): Daemon {
  const created = new Daemon(mode, objects);
  running.push(created);
  return created;
}
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});

const WORK = 'kubeproxy_sync_proxy_rules';

test('the first sync is full, and everything listed was a change', async () => {
  const began = Date.now() / 1000;
  const proxy = daemon(
    'nftables',
    NODE as ApiObject,
    service('web', '10.96.0.10'),
    slice('web', '10.244.2.1'),
  );
  await proxy.sees(`${WORK}_duration_seconds_count{ip_family="IPv4"}`, 1);
  await proxy.sees(`${WORK}_duration_seconds_count{ip_family="IPv6"}`, 1);
  expect(
    await proxy.values(
      'kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"}',
      'kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="IPv4"}',
      `${WORK}_service_changes_total`,
      `${WORK}_service_changes_pending`,
      `${WORK}_endpoint_changes_total`,
      `${WORK}_endpoint_changes_pending`,
      `${WORK}_nftables_sync_failures_total{ip_family="IPv4"}`,
      `${WORK}_nftables_cleanup_failures_total{ip_family="IPv6"}`,
      'kube_rulesync_sync_phase_duration_seconds_count{ip_family="IPv4",phase="plan"}',
      'kube_rulesync_sync_phase_duration_seconds_count{ip_family="IPv4",phase="diff"}',
      'kube_rulesync_sync_phase_duration_seconds_count{ip_family="IPv4",phase="apply"}',
      'kube_rulesync_change_latency_seconds_count{ip_family="IPv4"}',
      'kube_rulesync_sync_failures_total{ip_family="IPv4"}',
      'kube_rulesync_services_set_aside{ip_family="IPv4"}',
    ),
  ).toEqual([1, undefined, 1, 0, 1, 0, 0, 0, 1, 1, 1, undefined, 0, 0]);
  expect(await proxy.value(`${WORK}_last_timestamp_seconds{ip_family="IPv4"}`)).toBeGreaterThanOrEqual(began);
});

test('an endpoint change is measured from its cause, in the family of its Service', async () => {
  const began = Date.now() / 1000;
  const proxy = daemon(
    'nftables',
    NODE as ApiObject,
    service('web', '10.96.0.10'),
    slice('web', '10.244.2.1'),
  );
  await proxy.sees(`${WORK}_duration_seconds_count{ip_family="IPv4"}`, 1);
  await proxy.sees(`${WORK}_duration_seconds_count{ip_family="IPv6"}`, 1);
  proxy.source.apply(slice('web', '10.244.2.2', Date.now()));
  const latency = 'kubeproxy_network_programming_duration_seconds';
  await proxy.sees(`${latency}_count{ip_family="IPv4"}`, 1);
  await proxy.sees('kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="IPv6"}', 1);
  // What was caused before this program was there says nothing about it.
  proxy.source.apply(slice('web', '10.244.2.3', proxy.metrics.startedAt - 60_000));
  await proxy.sees('kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="IPv4"}', 2);
  await proxy.sees('kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="IPv6"}', 2);
  expect(
    await proxy.values(
      `${latency}_count{ip_family="IPv4"}`,
      `${latency}_count{ip_family="IPv6"}`,
      `${latency}_bucket{ip_family="IPv4",le="300"}`,
      'kube_rulesync_change_latency_seconds_count{ip_family="IPv4"}',
      `${WORK}_endpoint_changes_total`,
      `${WORK}_service_changes_total`,
    ),
  ).toEqual([1, undefined, 1, 2, 3, 1]);
  expect(await proxy.value(`${WORK}_last_queued_timestamp_seconds{ip_family="IPv4"}`)).toBeGreaterThanOrEqual(
    began,
  );
});

test('what is not yet written is pending', async () => {
  const proxy = daemon(
    'nftables',
    NODE as ApiObject,
    service('web', '10.96.0.10'),
    service('db', '10.96.0.11'),
  );
  await proxy.sees(`${WORK}_duration_seconds_count{ip_family="IPv4"}`, 1);
  const gate = Promise.withResolvers<void>();
  proxy.backends[0].gate = gate.promise;
  proxy.source.apply(service('web', '10.96.0.12'));
  proxy.source.apply(slice('db', '10.244.2.1'));
  // Of no Service that is known: there is nothing to write.
  proxy.source.apply(slice('other', '10.244.2.2'));
  try {
    await proxy.sees(`${WORK}_service_changes_pending`, 1);
    await proxy.sees(`${WORK}_endpoint_changes_pending`, 1);
  } finally {
    gate.resolve();
  }
  await proxy.sees(`${WORK}_service_changes_pending`, 0);
  await proxy.sees(`${WORK}_endpoint_changes_pending`, 0);
  expect(await proxy.values(`${WORK}_service_changes_total`, `${WORK}_endpoint_changes_total`)).toEqual([
    3, 2,
  ]);
});

test('a Service that is refused is set aside until it changes', async () => {
  const proxy = daemon('nftables', NODE as ApiObject, service('web', '10.96.0.10'));
  await proxy.sees(`${WORK}_duration_seconds_count{ip_family="IPv4"}`, 1);
  proxy.backends[0].refused.add('default/bad');
  proxy.source.apply(service('bad', '10.96.0.11'));
  await proxy.sees('kube_rulesync_services_set_aside{ip_family="IPv4"}', 1);
  expect(
    await proxy.values(
      `${WORK}_nftables_sync_failures_total{ip_family="IPv4"}`,
      'kube_rulesync_sync_failures_total{ip_family="IPv4"}',
      'kube_rulesync_sync_failures_total{ip_family="IPv6"}',
      'kube_rulesync_services_set_aside{ip_family="IPv6"}',
    ),
  ).toEqual([1, 1, 0, 0]);
  proxy.backends[0].refused.clear();
  proxy.source.apply(service('bad', '10.96.0.12'));
  await proxy.sees('kube_rulesync_services_set_aside{ip_family="IPv4"}', 0);
});

test('repairs and failed clean-ups are counted', async () => {
  const proxy = daemon('nftables', NODE as ApiObject, service('web', '10.96.0.10'));
  await proxy.sees(`${WORK}_duration_seconds_count{ip_family="IPv4"}`, 1);
  proxy.backends[0].missing = ['chain services'];
  await proxy.sees('kube_rulesync_drift_repairs_total{ip_family="IPv4"}', 1);
  await proxy.sees('kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"}', 2);
  proxy.backends[1].collectError = new ToolError(['nft'], 'exit', 1, 'busy');
  await until(
    async () => ((await proxy.value(`${WORK}_nftables_cleanup_failures_total{ip_family="IPv6"}`)) ?? 0) > 0,
  );
});

test('ports without local endpoints, Service by Service', async () => {
  const local = { internalTrafficPolicy: 'Local' };
  const outside = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' };
  const both = { ...local, ...outside, externalIPs: ['198.51.100.1'] };
  const proxy = daemon(
    'iptables',
    NODE as ApiObject,
    service('in', '10.96.0.1', local),
    slice('in', '10.244.2.1'),
    service('both', '10.96.0.2', both),
    slice('both', '10.244.2.2'),
    // Without endpoints anywhere it is rejected, not dropped.
    service('none', '10.96.0.3', local),
    service('plain', '10.96.0.4'),
  );
  const missing = (policy: string) =>
    `${WORK}_no_local_endpoints_total{ip_family="IPv4",traffic_policy="${policy}"}`;
  await proxy.sees(missing('internal'), 2);
  expect(await proxy.value(missing('external'))).toBe(1);
  proxy.source.apply(service('both', '10.96.0.2', outside));
  await proxy.sees(missing('internal'), 1);
  proxy.source.delete(service('in', '10.96.0.1'));
  await proxy.sees(missing('internal'), 0);
});

test('failures of iptables-restore are told by what they were to write', async () => {
  const proxy = daemon('iptables', NODE as ApiObject, service('web', '10.96.0.10'));
  const total = `${WORK}_iptables_restore_failures_total{ip_family="IPv4"}`;
  const partial = `${WORK}_iptables_partial_restore_failures_total{ip_family="IPv4"}`;
  await proxy.sees(`${WORK}_duration_seconds_count{ip_family="IPv4"}`, 1);
  expect(await proxy.values(total, partial)).toEqual([0, 0]);
  proxy.backends[0].refused.add('default/bad');
  proxy.source.apply(service('bad', '10.96.0.11'));
  await proxy.sees(total, 1);
  expect(await proxy.value(partial)).toBe(1);
  expect(await proxy.value(`${WORK}_nftables_sync_failures_total{ip_family="IPv4"}`)).toBeUndefined();
});
