import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { IpFamily } from '../../../src/cluster/values.ts';
import { compareText } from '../../../src/net/ip.ts';
import type { DispatchRule } from '../objects.ts';
import { Layout, limitsOf } from './layout.ts';
import { partOf, pathOf } from './path.ts';

const chain = 'nat KUBE-SERVICES';

function toAddress(address: string, order = address): DispatchRule {
  return { chain, key: { address }, order, rule: `-d ${address}/32 -j ${order}` };
}

function toPort(port: number, protocol: 'TCP' | 'UDP' = 'TCP'): DispatchRule {
  const order = `${protocol} ${port}`;
  return { chain, key: { protocol, port }, order, rule: `--dport ${port} ${protocol}` };
}

const ADDRESSES = fc
  .tuple(fc.constantFrom('10.96', '10.97', '203.0'), fc.nat(3), fc.nat(40))
  .map(([network, third, fourth]) => toAddress(`${network}.${third}.${fourth}`));
const PORTS = fc
  .tuple(fc.constantFrom('TCP' as const, 'UDP' as const), fc.integer({ min: 30_000, max: 30_300 }))
  .map(([protocol, port]) => toPort(port, protocol));
const RULES = fc.uniqueArray(fc.oneof(ADDRESSES, PORTS), { selector: ({ order }) => order, maxLength: 60 });
const LIMITS = fc.constantFrom({ root: 1, part: 1 }, { root: 8, part: 2 }, limitsOf('flat'));

describe('layouts', () => {
  it('are changed to what would be built, chain by chain', () => {
    fc.assert(
      fc.property(RULES, RULES, LIMITS, (before, after, limits) => {
        const known = new Set(before.map(({ order }) => order));
        const added = after.filter(({ order }) => !known.has(order));
        const removed = before.filter((_, index) => index % 2 === 0);
        const old = Layout.build(chain, 'IPv4', limits, before);
        const change = old.change(removed, added, ['tail']);
        const wanted = Layout.build(chain, 'IPv4', limits, [
          ...before.filter((one) => !removed.includes(one)),
          ...added,
        ]).chains(['tail']);
        const there = old.chains(['tail']);
        for (const [id, rules] of change.before) expect(there.get(id)).toEqual(rules);
        for (const id of change.before.keys()) there.delete(id);
        for (const [id, rules] of change.after) there.set(id, rules);
        expect(byName(there)).toEqual(byName(wanted));
        expect(byName(change.layout.chains(['tail']))).toEqual(byName(wanted));
      }),
    );
  });

  it('say where each rule stands', () => {
    fc.assert(
      fc.property(RULES, LIMITS, (rules, limits) => {
        const layout = Layout.build(chain, 'IPv4', limits, rules);
        const chains = layout.chains([]);
        for (const rule of rules) expect(chains.get(layout.chainOf(rule))).toContain(rule.rule);
      }),
    );
  });

  it('stay flat up to a number of rules, in the order of the rules', () => {
    const rules = ['10.96.0.3', '10.96.0.1', '10.96.0.2'].map((address) => toAddress(address));
    expect([...Layout.build(chain, 'IPv4', limitsOf('auto'), rules).chains(['tail'])]).toEqual([
      [
        chain,
        [
          '-d 10.96.0.1/32 -j 10.96.0.1',
          '-d 10.96.0.2/32 -j 10.96.0.2',
          '-d 10.96.0.3/32 -j 10.96.0.3',
          'tail',
        ],
      ],
    ]);
  });

  it('lead by network, then by range of ports, then to the tail; a rule alone stays where it is', () => {
    const rules = [
      ...['10.96.0.1', '10.96.0.2', '10.96.1.1', '203.0.113.1'].map((address) => toAddress(address)),
      ...[30_080, 30_081].map((port) => toPort(port)),
    ];
    expect([...Layout.build(chain, 'IPv4', { root: 1, part: 2 }, rules).chains(['tail'])]).toEqual([
      ['nat KUBE-SVC-10.96.0.0/24', ['-d 10.96.0.1/32 -j 10.96.0.1', '-d 10.96.0.2/32 -j 10.96.0.2']],
      [
        'nat KUBE-SVC-10.96.0.0/20',
        ['-d 10.96.0.0/24 -j KUBE-SVC-10.96.0.0/24', '-d 10.96.1.1/32 -j 10.96.1.1'],
      ],
      [
        chain,
        [
          '-d 10.96.0.0/20 -j KUBE-SVC-10.96.0.0/20',
          '-d 203.0.113.1/32 -j 203.0.113.1',
          '--dport 30080 TCP',
          '--dport 30081 TCP',
          'tail',
        ],
      ],
    ]);
  });

  it('find the last of 10,000 Services in about as many rules as the first', () => {
    const rules = Array.from({ length: 10_000 }, (_, index) =>
      toAddress(`10.${97 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`),
    );
    const chains = Layout.build(chain, 'IPv4', limitsOf('auto'), rules).chains([]);
    // Whatever its length, a packet passes at most this many rules: those of the chains on its way.
    const longest = Math.max(...Array.from(chains.values(), (list) => list.length));
    expect(longest).toBe(16);
    expect(depthOf(chains, chain)).toBe(4);
  });
});

describe('paths', () => {
  it.each([
    ['IPv4', { address: '10.96.0.1' }, '0a600001'],
    ['IPv6', { address: 'fd00:10:96::1' }, 'fd000010009600000000000000000001'],
    ['IPv4', { protocol: 'TCP', port: 30_080 }, '17580'],
  ] as const)('%s %o is %s', (_, key, path) => {
    expect(pathOf(key)).toBe(path);
  });

  it.each([
    ['address', 'IPv4', '0a6', '10.96.0.0/12', '-d 10.96.0.0/12'],
    ['address', 'IPv6', 'fd0000100096000000000000000', 'fd00:10:96::/108', '-d fd00:10:96::/108'],
    ['port', 'IPv4', '17', 'tcp-28672-32767', '-p tcp -m tcp --dport 28672:32767'],
    ['port', 'IPv4', '2', 'udp', '-p udp'],
    ['port', 'IPv4', '07580', 'sctp-30080-30080', '-p sctp -m sctp --dport 30080'],
  ] as const)('%s %s %s stands for %s', (kind, family, prefix, name, match) => {
    expect(partOf(kind, family as IpFamily, prefix)).toEqual({ name, match });
  });
});

function byName(chains: ReadonlyMap<string, readonly string[]>): [string, readonly string[]][] {
  return [...chains].sort(([a], [b]) => compareText(a, b));
}

function depthOf(chains: ReadonlyMap<string, readonly string[]>, from: string): number {
  const below = (chains.get(from) ?? []).map((rule) => `nat ${rule.split('-j ')[1]}`);
  return 1 + Math.max(0, ...below.filter((name) => chains.has(name)).map((name) => depthOf(chains, name)));
}
