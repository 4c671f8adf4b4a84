import { expect, test } from 'vitest';
import { bucketsText, kubeProxyMetricsTable, ownMetricsTable, registeredMetrics } from './docs.ts';
import { exponentialBuckets, linearBuckets } from './metric.ts';

test.for<[readonly number[], string]>([
  [[], ''],
  [[0.1, 0.5, 1], '0.1, 0.5, 1'],
  [exponentialBuckets(0.001, 2, 15), '0.001 to 16.384, doubling'],
  [[0, 0.25, 0.5, ...linearBuckets(1, 1, 60), 65, 70, 75], '0, 0.25, 0.5, 1 to 60 by 1, 65, 70, 75'],
  [[1, 2, 3, 4], '1 to 4 by 1'],
])('buckets %j', ([bounds, text]) => {
  expect(bucketsText(bounds)).toBe(text);
});

test('what is registered is told with the modes it is there in', () => {
  const told = (name: string) => {
    const found = registeredMetrics().get(name);
    return [found?.metric.type, found?.metric.labelNames, found?.modes];
  };
  expect(told('kubeproxy_sync_proxy_rules_iptables_last')).toEqual([
    'gauge',
    ['ip_family', 'table'],
    ['iptables'],
  ]);
  expect(told('kubeproxy_sync_proxy_rules_iptables_restore_failures_total')).toEqual([
    'counter',
    ['ip_family'],
    ['iptables', 'ipvs'],
  ]);
  expect(told('kubernetes_healthcheck')).toEqual([
    'gauge',
    ['name', 'type'],
    ['nftables', 'iptables', 'ipvs'],
  ]);
});

test('rows of the tables', () => {
  const rows = kubeProxyMetricsTable().split('\n');
  expect(rows).toContain(
    '| `kubeproxy_sync_proxy_rules_duration_seconds` | histogram | `ip_family` | 0.001 to 16.384, doubling | all | How long a sync took: planning, comparing and writing | same |',
  );
  expect(rows.filter((row) => row.includes('not here: '))).toHaveLength(10);
  expect(rows.join()).not.toContain('kube_rulesync_sync');
  expect(ownMetricsTable()).toContain(
    '| `kube_rulesync_drift_repairs_total` | counter | `ip_family` |  | Does somebody else change our rules? |',
  );
});
