import { describe, expect, test } from 'vitest';
import type { OptionName } from './flags.ts';
import { parseOptions } from './options.ts';
import { modeSettings, oomScore, systemSettings } from './system-settings.ts';

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

describe('what a mode sets when it writes rules', () => {
  const OWN = ['127.0.0.1', '192.0.2.10', '::1'];
  const ROUTE_LOCALNET = ['/proc/sys/net/ipv4/conf/all/route_localnet=1'];
  const IPVS = [
    '/proc/sys/net/ipv4/vs/conntrack=1',
    '/proc/sys/net/ipv4/vs/expire_nodest_conn=1',
    '/proc/sys/net/ipv4/vs/expire_quiescent_template=1',
    '/proc/sys/net/ipv4/ip_forward=1',
  ];

  test.for<[Partial<Record<OptionName, unknown>>, string, string[]]>([
    [{ proxyMode: 'nftables' }, '6.1.0', []],
    [{ proxyMode: 'iptables' }, '6.1.0', ROUTE_LOCALNET],
    [{ proxyMode: 'iptables', nodeportAddresses: '127.0.0.0/8' }, '6.1.0', ROUTE_LOCALNET],
    [{ proxyMode: 'iptables', nodeportAddresses: '192.0.2.0/24' }, '6.1.0', []],
    [{ proxyMode: 'iptables', localhostNodePorts: 'false' }, '6.1.0', []],
    [{ proxyMode: 'ipvs' }, '6.1.0', IPVS],
    [{ proxyMode: 'ipvs' }, '5.4.0-1', [...IPVS, '/proc/sys/net/ipv4/vs/conn_reuse_mode=0']],
    [
      { proxyMode: 'ipvs', ipvsStrictArp: 'true' },
      '6.1.0',
      [...IPVS, '/proc/sys/net/ipv4/conf/all/arp_ignore=1', '/proc/sys/net/ipv4/conf/all/arp_announce=2'],
    ],
  ])('%o on Linux %s', ([given, kernel, expected]) => {
    const result = parseOptions(given);
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    expect(modeSettings(result.options, OWN, kernel).map(({ path, value }) => `${path}=${value}`)).toEqual(
      expected,
    );
  });
});

test('what a container may lack: the limit when it is large enough, and the hash table', () => {
  const result = parseOptions({ oomScoreAdj: '-5' });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const [limit, table, ...others] = systemSettings(result.options, 2);
  expect(limit).toMatchObject({ largerServes: true, essential: true });
  expect(table).toMatchObject({ onlyRaise: true, essential: false });
  expect(others.every(({ essential, largerServes }) => essential && !largerServes)).toBe(true);
  expect(oomScore(result.options)).toMatchObject({
    path: '/proc/self/oom_score_adj',
    value: -5,
    essential: false,
  });
});
