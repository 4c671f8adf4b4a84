/** Names, types and labels of metrics, held against the list of kube-proxy's. */
import { describe, expect, test } from 'vitest';
import { registeredMetrics } from '../../src/metrics/docs.ts';
import { exponentialBuckets, type Family, linearBuckets } from '../../src/metrics/metric.ts';
import { ProxyMetrics } from '../../src/metrics/proxy-metrics.ts';
import { ToolError } from '../../src/node/runner.ts';
import type { ProxyMode } from '../../src/reconcile/backend.ts';
import { FakeBackend } from '../support/fake-backend.ts';
import { codeIn, referenceMissing, referenceRows } from '../support/reference.ts';

const MODES: readonly ProxyMode[] = ['iptables', 'ipvs', 'nftables'];

interface Listed {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  /** Of a histogram's buckets, without `+Inf`. */
  readonly bounds: readonly number[];
  readonly modes: readonly ProxyMode[];
}

/** The rows of the table of metrics that are kube-proxy's own. */
function listed(): Listed[] {
  const rows = referenceRows('1.4').filter(([names = '']) => names.startsWith('`kubeproxy_'));
  return rows.flatMap(([names = '', types = '', labels = '', modes = '']) => {
    const [first = '', ...more] = codeIn(names);
    // `kubeproxy_a_pending` / `_total`: the second takes the place of the first one's last word.
    const all = [
      first,
      ...more.map((name) => (name.startsWith('_') ? first.replace(/_[a-z]+$/, name) : name)),
    ];
    const kinds = types.replaceAll(/\*|\(.*\)/g, '').split(' / ');
    return all.map((name, index) => ({
      name,
      type: /counter|gauge|histogram/.exec(kinds[index] ?? kinds[0] ?? '')?.[0] ?? '',
      labels:
        labels === 'none'
          ? []
          : labels
              .replaceAll(/\s*\(.*?\)/g, '')
              .split(', ')
              .sort(),
      bounds: boundsIn(types),
      modes: /^all/.test(modes) ? MODES : MODES.filter((mode) => modes.includes(mode)),
    }));
  });
}

/** `histogram 2x15`; `histogram 0.25, 0.5, 1..59 by 1, 60..115 by 5`. */
function boundsIn(type: string): number[] {
  const [, factor, count] = /^histogram (\d+)x(\d+)$/.exec(type) ?? [];
  if (factor !== undefined) return exponentialBuckets(0.001, Number(factor), Number(count));
  const [, parts = ''] = /^histogram (.+)$/.exec(type) ?? [];
  return parts.split(', ').flatMap((part) => {
    const [, from, to, width] = /^(\d+)\.\.(\d+) by (\d+)$/.exec(part) ?? [];
    if (from === undefined) return part === '' ? [] : [Number(part)];
    return linearBuckets(Number(from), Number(width), (Number(to) - Number(from)) / Number(width) + 1);
  });
}

/** `name{a,b}` of the rows of what all components have: each with its labels. */
function listedShared(): { readonly name: string; readonly labels: readonly string[] }[] {
  const rows = referenceRows('1.4').filter(([names = '']) => names.startsWith('Shared: '));
  return rows.flatMap(([names = '']) =>
    codeIn(names).flatMap((text) => {
      const [, name, labels] = /^(\w+)\{(.+)\}$/.exec(text) ?? [];
      return name === undefined || labels === undefined ? [] : [{ name, labels: labels.split(',').sort() }];
    }),
  );
}

/** Everything a mode has, after each thing that can happen has happened. */
async function measured(mode: ProxyMode): Promise<Map<string, Family>> {
  const listing = `{ pkts = 1, bytes = 2 } = ct_state_invalid_dropped_pkts;\n{ pkts = 3, bytes = 4 } = localhost_nps_accepted_pkts;\n`;
  const metrics = new ProxyMetrics({
    mode,
    version: 'v0.1.0',
    featureGates: [{ name: 'ComponentFlagz', stage: 'BETA', enabled: true }],
    runner: { run: async () => ({ stdout: listing, stderr: '' }) },
  });
  metrics.close();
  metrics.follow({ families: ['IPv4'], pendingServices: () => [], statuses: () => new Map() });
  metrics.counted(new FakeBackend(mode, 'IPv4'));
  for (const observer of metrics.observers) {
    observer.queued?.('IPv4');
    for (const full of [true, false]) {
      observer.synced?.({
        family: 'IPv4',
        full,
        services: 0,
        steps: 0,
        planSeconds: 0.001,
        diffSeconds: 0.001,
        applySeconds: 0.001,
        waitedSeconds: 1,
        plans: new Map(),
        changedAt: [Date.now()],
      });
    }
    observer.failed?.('IPv4', new ToolError(['iptables-restore'], 'exit', 1, ''), false);
  }
  metrics.flowsCleaned({ family: 'IPv4', listed: 1, deleted: 1, seconds: 0.5 });
  for (const path of ['/healthz', '/livez']) metrics.answered(path, 200);
  metrics.hooks.requestDone?.('200', 'GET', 'server:6443', 0.1);
  return new Map((await metrics.registry.read()).map((family) => [family.name, family]));
}

const bounds = (family: Family | undefined) =>
  family?.samples.flatMap(({ bound }) => (bound === undefined ? [] : [bound]));

const title = "kube-proxy's metrics";
describe.skipIf(referenceMissing)(
  referenceMissing ? `${title} (skipped: ${referenceMissing})` : title,
  () => {
    test('the list can be read', () => {
      expect(listed().length).toBe(23);
      expect(listed().every(({ type, modes }) => type !== '' && modes.length > 0)).toBe(true);
    });

    test.for(MODES)('%s mode has those of its own, and no others', async (mode) => {
      const own = listed().filter(({ modes }) => modes.includes(mode));
      const families = await measured(mode);
      const told = [...families.values()].filter(({ name }) => name.startsWith('kubeproxy_'));
      const shown = told.map(({ name, type, samples }) => ({
        name,
        type,
        labels: (samples[0]?.labels ?? []).map(([label]) => label),
      }));
      const expected = own.map(({ name, type, labels }) => ({ name, type, labels }));
      expect(shown).toEqual(expected.sort((a, b) => (a.name < b.name ? -1 : 1)));
    });

    test('their buckets are as they are there', () => {
      const histograms = listed().filter(({ type }) => type === 'histogram');
      expect(histograms.map(({ bounds }) => bounds.length)).toEqual([15, 15, 15, 80, 15]);
      for (const { name, bounds } of histograms) {
        const own = registeredMetrics().get(name)?.metric.bounds;
        // kube-proxy's lists of several parts begin with a zero (component-base's `MergeBuckets`).
        expect([name, own]).toEqual([name, bounds.length === 15 ? bounds : [0, ...bounds]]);
      }
    });

    test('what all components have, has the labels it has there', () => {
      const shared = listedShared();
      expect(shared.length).toBeGreaterThan(2);
      for (const { name, labels } of shared) {
        expect([name, registeredMetrics().get(name)?.metric.labelNames]).toEqual([name, labels]);
      }
    });
  },
);

test('their buckets', async () => {
  const families = await measured('nftables');
  const work = [
    0.001,
    0.002,
    0.004,
    0.008,
    0.016,
    0.032,
    0.064,
    0.128,
    0.256,
    0.512,
    1.024,
    2.048,
    4.096,
    8.192,
    16.384,
    Number.POSITIVE_INFINITY,
  ];
  for (const name of ['sync_proxy_rules', 'sync_full_proxy_rules', 'conntrack_reconciler_sync']) {
    expect(bounds(families.get(`kubeproxy_${name}_duration_seconds`))).toEqual(work);
  }
  const network = bounds(families.get('kubeproxy_network_programming_duration_seconds')) ?? [];
  expect(network.length).toBe(82);
  expect(network.slice(0, 6)).toEqual([0, 0.25, 0.5, 1, 2, 3]);
  expect(network.slice(60, 65)).toEqual([58, 59, 60, 65, 70]);
  expect(network.slice(-9)).toEqual([115, 120, 150, 180, 210, 240, 270, 300, Number.POSITIVE_INFINITY]);
  expect(bounds(families.get('rest_client_request_duration_seconds'))).toEqual([
    0.005,
    0.025,
    0.1,
    0.25,
    0.5,
    1,
    2,
    4,
    8,
    15,
    30,
    60,
    Number.POSITIVE_INFINITY,
  ]);
});

test('what every component tells', async () => {
  const families = await measured('ipvs');
  const labels = (name: string) => Object.fromEntries(families.get(name)?.samples[0]?.labels ?? []);
  expect(labels('kubernetes_build_info')).toEqual({
    build_date: '',
    compiler: 'node',
    git_commit: '',
    git_tree_state: '',
    git_version: 'v0.1.0',
    go_version: `nodejs${process.versions.node}`,
    major: '0',
    minor: '1',
    platform: expect.stringMatching(/^linux\/(amd64|arm64)$/),
  });
  expect(labels('kubernetes_feature_enabled')).toEqual({ name: 'ComponentFlagz', stage: 'BETA' });
  expect(labels('rest_client_requests_total')).toEqual({ code: '200', method: 'GET', host: 'server:6443' });
  expect(labels('rest_client_request_duration_seconds')).toEqual({ verb: 'GET', host: 'server:6443' });
});
