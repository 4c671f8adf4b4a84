import { describe, expect, test } from 'vitest';
import type { IpFamily } from '../cluster/values.ts';
import { adviceOn, familyProblems } from './advice.ts';
import type { Options } from './options.ts';

const UNSET =
  '--nodeport-addresses is not set: node ports answer on all addresses of this node; "primary" keeps them to those of its Node';

type Advised = Parameters<typeof adviceOn>[0];

const QUIET: Advised = {
  proxyMode: 'nftables',
  nodeportAddresses: 'primary',
  ipvsExcludeCidrs: [],
  healthzBindAddress: { host: '0.0.0.0', port: 10256 },
  metricsBindAddress: { host: '0.0.0.0', port: 10249 },
};

test.each([
  ['iptables', undefined, [UNSET]],
  ['ipvs', [], [UNSET]],
  ['nftables', undefined, []],
  ['nftables', 'primary', []],
  ['iptables', 'primary', []],
  ['iptables', ['192.0.2.0/24', '2001:db8::/64'], []],
  [
    'nftables',
    ['192.0.2.0/24'],
    ['--nodeport-addresses has no IPv6 network: over IPv6 node ports answer on all addresses of this node'],
  ],
] as const)('%s, node ports on %j', (proxyMode, nodeportAddresses, advice) => {
  expect(adviceOn({ ...QUIET, proxyMode, nodeportAddresses }, ['IPv4', 'IPv6'])).toEqual(advice);
});

test('nobody misses a network of a family that is not served', () => {
  const options = { ...QUIET, proxyMode: 'iptables', nodeportAddresses: ['192.0.2.0/24'] } as const;
  expect(adviceOn(options, ['IPv4'])).toEqual([]);
});

describe('a node that serves one family alone', () => {
  test.for<[Partial<Advised>, IpFamily[], string[]]>([
    [
      { ipvsExcludeCidrs: ['fd00::/8'], proxyMode: 'ipvs' },
      ['IPv4'],
      ['--ipvs-exclude-cidrs "fd00::/8": this node serves IPv4 alone: it keeps nothing here'],
    ],
    [{ ipvsExcludeCidrs: ['fd00::/8', '10.0.0.0/8'] }, ['IPv4'], []],
    [
      { healthzBindAddress: { host: '::1', port: 1 }, metricsBindAddress: { host: 'fd00::1', port: 2 } },
      ['IPv4'],
      [
        '--healthz-bind-address "::1": this node serves IPv4 alone: nothing can listen there',
        '--metrics-bind-address "fd00::1": this node serves IPv4 alone: nothing can listen there',
      ],
    ],
    [
      { metricsBindAddress: { host: '127.0.0.1', port: 2 } },
      ['IPv6'],
      ['--metrics-bind-address "127.0.0.1": this node serves IPv6 alone: nothing can listen there'],
    ],
    [{ healthzBindAddress: { host: '::', port: 1 }, metricsBindAddress: undefined }, ['IPv4'], []],
    [{ healthzBindAddress: { host: '::1', port: 1 } }, ['IPv4', 'IPv6'], []],
    [
      { nodeportAddresses: ['fd00::/64'] },
      ['IPv4'],
      ['--nodeport-addresses has no IPv4 network: over IPv4 node ports answer on all addresses of this node'],
    ],
  ])('%j, %j: is told', ([given, families, advice]) => {
    expect(adviceOn({ ...QUIET, ...given }, families)).toEqual(advice);
  });

  test('what is told has the name that it was given by', () => {
    const given = { ...QUIET, nodeportAddresses: ['fd00::/64'], ipvsExcludeCidrs: ['fd00::/8'] };
    expect(adviceOn(given, ['IPv4'], (option) => `file: ${option}`)).toEqual([
      'file: nodeportAddresses has no IPv4 network: over IPv4 node ports answer on all addresses of this node',
      'file: ipvsExcludeCidrs "fd00::/8": this node serves IPv4 alone: it keeps nothing here',
    ]);
  });

  type Checked = Pick<Options, 'detectLocalMode' | 'clusterCidr' | 'bindAddress'>;
  const PLAIN: Checked = { detectLocalMode: 'ClusterCIDR', clusterCidr: [], bindAddress: '0.0.0.0' };

  test.for<[Partial<Checked>, IpFamily[], string[]]>([
    [
      { clusterCidr: ['fd00::/56'] },
      ['IPv4'],
      [
        '--cluster-cidr "fd00::/56": must have an IPv4 CIDR, or be left out, as this node serves no other IP family',
      ],
    ],
    [
      { clusterCidr: ['10.244.0.0/16'] },
      ['IPv6'],
      [
        '--cluster-cidr "10.244.0.0/16": must have an IPv6 CIDR, or be left out, as this node serves no other IP family',
      ],
    ],
    [{ clusterCidr: ['fd00::/56'] }, ['IPv4', 'IPv6'], []],
    [{ clusterCidr: ['fd00::/56', '10.244.0.0/16'] }, ['IPv4'], []],
    [{ clusterCidr: [] }, ['IPv4'], []],
    [{ clusterCidr: ['fd00::/56'], detectLocalMode: 'NodeCIDR' }, ['IPv4'], []],
    [
      { bindAddress: '2001:db8::1' },
      ['IPv4'],
      [
        '--bind-address "2001:db8::1": must be an IPv4 address, or be left out, as this node serves no other IP family',
      ],
    ],
    [{ bindAddress: '2001:db8::1' }, ['IPv4', 'IPv6'], []],
    [{ bindAddress: '::' }, ['IPv4'], []],
    [{ bindAddress: '0.0.0.0' }, ['IPv6'], []],
  ])('%j, %j: ends the program', ([given, families, problems]) => {
    expect(familyProblems({ ...PLAIN, ...given }, families)).toEqual(problems);
  });
});
