import { expect, test, vi } from 'vitest';
import type { Command, CommandRunner } from '../node/runner.ts';
import type { Backend, Step } from '../reconcile/backend.ts';
import { exposition, formatFor } from './exposition.ts';
import { IptablesMetrics, readCounters, registerPacketCounters } from './iptables.ts';
import { Registry } from './registry.ts';

const TEXT = formatFor('');

/** The samples alone. */
async function samples(registry: Registry): Promise<string[]> {
  return exposition(await registry.read(), TEXT)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

const LISTING = `{ pkts = 00000000000000000042, bytes = 00000000000000004200 } = ct_state_invalid_dropped_pkts;
{ pkts = 00000000000000000007, bytes = 00000000000000000700 } = somebody_else;
`;

test('a listing of counters', () => {
  expect(readCounters(LISTING)).toEqual(
    new Map([
      ['ct_state_invalid_dropped_pkts', 42],
      ['somebody_else', 7],
    ]),
  );
  expect(readCounters('')).toEqual(new Map());
});

test('packet counters are asked for when they are read, but not by everybody', async () => {
  const registry = new Registry();
  const run = vi.fn<CommandRunner['run']>(async () => ({ stdout: LISTING, stderr: '' }));
  registerPacketCounters(registry, { run });
  await Promise.all([samples(registry), samples(registry)]);
  expect(await samples(registry)).toEqual(['kubeproxy_iptables_ct_state_invalid_dropped_packets_total 42']);
  expect(run.mock.calls.map(([{ argv }]: [Command]) => argv)).toEqual([['nfacct', 'list']]);
});

test('without the tool there are no counters, and nothing fails', async () => {
  const registry = new Registry();
  registerPacketCounters(registry, { run: () => Promise.reject(new Error('no such program')) });
  expect(await samples(registry)).toEqual([]);
});

function step(...stdin: string[]): Step {
  return { argv: ['iptables-restore'], stdin, services: [], serviceOfLine: () => undefined };
}

test('rules are counted as they are written, and none of a sync that failed', async () => {
  const registry = new Registry();
  const metrics = new IptablesMetrics(registry);
  let refuse = false;
  const backend: Backend = {
    mode: 'iptables',
    family: 'IPv4',
    probe: async () => ({ usable: true, versions: {}, missing: [] }),
    observe: async () => {},
    audit: async () => [],
    diff: () => ({ steps: [], commit() {} }),
    ruleCounts: () =>
      new Map([
        ['nat', 30],
        ['filter', 12],
        ['mangle', 1],
      ]),
    collect: () => ({ steps: [], commit() {} }),
    check: async () => {},
    apply: () => (refuse ? Promise.reject(new Error('refused')) : Promise.resolve()),
    cleanup: async () => [],
  };
  const counted = metrics.counted(backend);
  const nat = step(
    '# a comment\n',
    '*nat\n',
    ':A - [0:0]\n',
    '-A A -j B\n',
    '-I C 1 -j A\n',
    '-D C -j X\n',
    'COMMIT\n',
  );
  await counted.apply(nat);
  await counted.apply(step('*mangle\n', '-A M -j N\n', 'COMMIT\n', '*filter\n', '-A F -j G\n', 'COMMIT\n'));
  metrics.synced({ family: 'IPv4' });
  expect(await samples(registry)).toEqual([
    'kubeproxy_sync_proxy_rules_iptables_last{ip_family="IPv4",table="filter"} 1',
    'kubeproxy_sync_proxy_rules_iptables_last{ip_family="IPv4",table="nat"} 2',
    'kubeproxy_sync_proxy_rules_iptables_total{ip_family="IPv4",table="filter"} 12',
    'kubeproxy_sync_proxy_rules_iptables_total{ip_family="IPv4",table="nat"} 30',
  ]);
  await counted.apply(nat);
  refuse = true;
  await expect(counted.apply(nat)).rejects.toThrow('refused');
  metrics.failed('IPv4');
  metrics.synced({ family: 'IPv4' });
  expect((await samples(registry)).slice(0, 2)).toEqual([
    'kubeproxy_sync_proxy_rules_iptables_last{ip_family="IPv4",table="filter"} 0',
    'kubeproxy_sync_proxy_rules_iptables_last{ip_family="IPv4",table="nat"} 0',
  ]);
});
