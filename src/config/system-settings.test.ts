import { expect, test } from 'vitest';
import type { OptionName } from './flags.ts';
import { parseOptions } from './options.ts';
import { systemSettings } from './system-settings.ts';

function settings(given: Partial<Record<OptionName, unknown>>, cpus: number): string[] {
  const result = parseOptions(given);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return systemSettings(result.options, cpus).map(
    ({ path, value, onlyRaise }) => `${path}=${value}${onlyRaise ? ' or more' : ''}`,
  );
}

const TIMEOUTS = [
  '/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established=86400',
  '/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close_wait=3600',
];

test.for<[string, Partial<Record<OptionName, unknown>>, number, string]>([
  ['the minimum holds on small machines', {}, 2, '131072'],
  ['the number grows with the cores', {}, 8, '262144'],
  ['but not without end', {}, 64, '1048576'],
  ['a larger minimum is kept', { conntrackMin: '2000000' }, 64, '2000000'],
  ['both are options', { conntrackMin: '10', conntrackMaxPerCore: '1000' }, 4, '4000'],
])('connections: %s', ([, given, cpus, max]) => {
  expect(settings(given, cpus)).toEqual([
    `/proc/sys/net/netfilter/nf_conntrack_max=${max}`,
    `/sys/module/nf_conntrack/parameters/hashsize=${Number(max) / 4} or more`,
    ...TIMEOUTS,
  ]);
});

test('0 leaves everything alone', () => {
  expect(
    settings(
      {
        conntrackMaxPerCore: '0',
        conntrackTcpTimeoutEstablished: '0s',
        conntrackTcpTimeoutCloseWait: '0',
      },
      8,
    ),
  ).toEqual([]);
});

test('everything there is', () => {
  expect(
    settings(
      {
        conntrackMaxPerCore: '0',
        conntrackTcpTimeoutEstablished: '2h',
        conntrackTcpTimeoutCloseWait: '100ms',
        conntrackTcpBeLiberal: 'true',
        conntrackUdpTimeout: '30s',
        conntrackUdpTimeoutStream: '3m',
      },
      8,
    ),
  ).toEqual([
    '/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established=7200',
    '/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close_wait=1',
    '/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal=1',
    '/proc/sys/net/netfilter/nf_conntrack_udp_timeout=30',
    '/proc/sys/net/netfilter/nf_conntrack_udp_timeout_stream=180',
  ]);
});
