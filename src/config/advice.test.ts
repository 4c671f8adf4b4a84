import { expect, test } from 'vitest';
import { adviceOn } from './advice.ts';

const UNSET =
  '--nodeport-addresses is not set: node ports answer on all addresses of this node; "primary" keeps them to those of its Node';

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
  expect(adviceOn({ proxyMode, nodeportAddresses }, ['IPv4', 'IPv6'])).toEqual(advice);
});

test('nobody misses a network of a family that is not served', () => {
  const options = { proxyMode: 'iptables', nodeportAddresses: ['192.0.2.0/24'] } as const;
  expect(adviceOn(options, ['IPv4'])).toEqual([]);
});
