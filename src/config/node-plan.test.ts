import { describe, expect, test } from 'vitest';
import type { IpFamily, NodeValue } from '../cluster/values.ts';
import type { LocalDetector } from '../plan/plan.ts';
import type { OptionName } from './flags.ts';
import { localDetectors, nodePlan, primaryAddress } from './node-plan.ts';
import { type Options, parseOptions } from './options.ts';

type Given = Partial<Record<OptionName, unknown>>;

function options(given: Given): Options {
  const result = parseOptions({ proxyMode: 'nftables', ...given });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.options;
}

const NODE: NodeValue = {
  kind: 'Node',
  name: 'node-a',
  addresses: ['192.0.2.10', '2001:db8::10'],
  allAddresses: ['192.0.2.10', '2001:db8::10'],
  podCIDRs: ['10.244.1.0/24', 'fd00:10:244:1::/64'],
  zone: 'z1',
  leaving: false,
};

describe('local detectors', () => {
  const NONE: LocalDetector = { kind: 'none' };
  test.for<[string, Given, Partial<NodeValue> | undefined, LocalDetector, LocalDetector]>([
    ['no cluster CIDR', {}, NODE, NONE, NONE],
    [
      'an IPv4 cluster CIDR',
      { clusterCidr: '10.244.0.0/16' },
      NODE,
      { kind: 'cidr', cidr: '10.244.0.0/16' },
      NONE,
    ],
    [
      'a cluster CIDR of each family',
      { clusterCidr: 'fd00:10:244::/56,10.244.0.0/16' },
      undefined,
      { kind: 'cidr', cidr: '10.244.0.0/16' },
      { kind: 'cidr', cidr: 'fd00:10:244::/56' },
    ],
    [
      'the Node’s pod CIDRs',
      { detectLocalMode: 'NodeCIDR' },
      NODE,
      { kind: 'cidr', cidr: '10.244.1.0/24' },
      { kind: 'cidr', cidr: 'fd00:10:244:1::/64' },
    ],
    [
      'the first of several pod CIDRs',
      { detectLocalMode: 'NodeCIDR' },
      { podCIDRs: ['10.1.0.0/24', '10.2.0.0/24'] },
      { kind: 'cidr', cidr: '10.1.0.0/24' },
      NONE,
    ],
    ['a Node without pod CIDRs', { detectLocalMode: 'NodeCIDR' }, { podCIDRs: [] }, NONE, NONE],
    ['no Node', { detectLocalMode: 'NodeCIDR' }, undefined, NONE, NONE],
    [
      'a bridge',
      { detectLocalMode: 'BridgeInterface', podBridgeInterface: 'cni0', clusterCidr: '10.244.0.0/16' },
      NODE,
      { kind: 'interface', name: 'cni0' },
      { kind: 'interface', name: 'cni0' },
    ],
    [
      'interfaces by prefix',
      { detectLocalMode: 'InterfaceNamePrefix', podInterfaceNamePrefix: 'veth' },
      NODE,
      { kind: 'interface-prefix', prefix: 'veth' },
      { kind: 'interface-prefix', prefix: 'veth' },
    ],
  ])('%s', ([, given, node, ipv4, ipv6]) => {
    expect(localDetectors(options(given), node && { ...NODE, ...node })).toEqual({ IPv4: ipv4, IPv6: ipv6 });
  });
});

describe('the primary address', () => {
  test.for<[string, Given, Partial<NodeValue> | undefined, string | undefined, string | undefined]>([
    ['is the Node’s', {}, NODE, '192.0.2.10', '2001:db8::10'],
    ['of another family is absent', {}, { addresses: ['2001:db8::10'] }, undefined, '2001:db8::10'],
    ['is absent without a Node', {}, undefined, undefined, undefined],
    ['is --bind-address’s', { bindAddress: '198.51.100.1' }, NODE, '198.51.100.1', '2001:db8::10'],
    ['is not an unspecified one', { bindAddress: '::' }, NODE, '192.0.2.10', '2001:db8::10'],
  ])('%s', ([, given, node, ipv4, ipv6]) => {
    const value = node && { ...NODE, ...node };
    expect(primaryAddress(options(given), value, 'IPv4')).toBe(ipv4);
    expect(primaryAddress(options(given), value, 'IPv6')).toBe(ipv6);
  });
});

describe('node port addresses', () => {
  const OWN = [
    '127.0.0.1',
    '::1',
    '192.0.2.10',
    '10.0.0.7',
    '10.0.0.5',
    '2001:db8::10',
    'fe80::1',
    '10.0.0.5',
  ];
  test.for<[string, Given, Partial<NodeValue> | undefined, 'any' | string[], 'any' | string[]]>([
    ['by default the primary ones, in nftables mode', {}, NODE, ['192.0.2.10'], ['2001:db8::10']],
    ['primary', { nodeportAddresses: 'primary' }, NODE, ['192.0.2.10'], ['2001:db8::10']],
    [
      'primary, with --bind-address',
      { nodeportAddresses: 'primary', bindAddress: '10.0.0.7' },
      NODE,
      ['10.0.0.7'],
      ['2001:db8::10'],
    ],
    ['primary, of a Node with IPv4 alone', {}, { addresses: ['192.0.2.10'] }, ['192.0.2.10'], 'any'],
    ['primary, without a Node', {}, undefined, 'any', 'any'],
    ['primary, of a Node at loopback', {}, { addresses: ['127.0.0.1', '::1'] }, 'any', 'any'],
    ['everything', { nodeportAddresses: '0.0.0.0/0,::/0' }, NODE, 'any', 'any'],
    ['everything, and more', { nodeportAddresses: '10.0.0.0/8,0.0.0.0/0' }, NODE, 'any', 'any'],
    ['CIDRs of one family', { nodeportAddresses: '10.0.0.0/8' }, NODE, ['10.0.0.5', '10.0.0.7'], 'any'],
    [
      'CIDRs of both',
      { nodeportAddresses: ['192.0.2.0/24', '2001:db8::/32', 'fe80::/10'] },
      NODE,
      ['192.0.2.10'],
      ['2001:db8::10', 'fe80::1'],
    ],
    [
      'overlapping CIDRs',
      { nodeportAddresses: '10.0.0.0/8,10.0.0.5/32,::1/128' },
      NODE,
      ['10.0.0.5', '10.0.0.7'],
      [],
    ],
    [
      'CIDRs that hold none of the node’s',
      { nodeportAddresses: '198.51.100.0/24,127.0.0.0/8' },
      NODE,
      [],
      'any',
    ],
    [
      'loopback in iptables mode, which has node ports there over IPv4',
      { proxyMode: 'iptables', nodeportAddresses: '127.0.0.0/8,::1/128' },
      NODE,
      ['127.0.0.1'],
      [],
    ],
  ])('%s', ([, given, node, ipv4, ipv6]) => {
    const plan = (family: IpFamily) =>
      nodePlan(options(given), node && { ...NODE, ...node }, [], OWN, family).nodePortAddresses;
    expect(plan('IPv4')).toEqual(ipv4);
    expect(plan('IPv6')).toEqual(ipv6);
  });
});

test('a whole node plan, the same for input in any order', () => {
  const given = {
    clusterCidr: '10.244.0.0/16',
    masqueradeAll: 'true',
    masqueradeBit: '10',
    nodeportAddresses: '10.0.0.0/8',
  };
  const expected = {
    family: 'IPv4',
    detector: { kind: 'cidr', cidr: '10.244.0.0/16' },
    masqueradeAll: true,
    masqueradeBit: 10,
    nodePortAddresses: ['10.0.0.5', '10.0.0.7'],
    serviceCIDRs: ['10.112.0.0/12', '10.96.0.0/12'],
  };
  const cidrs = ['fd00:10:96::/112', '10.96.0.0/12', '10.112.0.0/12', '10.96.128.0/17'];
  const own = ['10.0.0.7', '10.0.0.5', 'fd00::1'];
  expect(nodePlan(options(given), NODE, cidrs, own, 'IPv4')).toEqual(expected);
  expect(nodePlan(options(given), NODE, cidrs.toReversed(), own.toReversed(), 'IPv4')).toEqual(expected);
});
