import { describe, expect, it, test } from 'vitest';
import { NORMAL_FIELDS } from '../../../backends/nftables/syntax/fields.ts';
import { parseListing } from '../../../backends/nftables/syntax/listing.ts';
import { Ruleset } from '../../../backends/nftables/syntax/ruleset.ts';
import type { WalkEnvironment, WalkedPacket } from '../flow.ts';
import { WALKED_FIELDS } from './field-values.ts';
import { distinctOutcomes, type Outcome, walk } from './walk.ts';

const NODE: WalkEnvironment = {
  localAddresses: new Set(['127.0.0.1', '192.0.2.1', 'fd00:30::1']),
  outInterface: (destination) => (destination.startsWith('10.244.') ? 'cni0' : 'eth0'),
};

/** From outside, to be forwarded. */
const FROM_OUTSIDE: WalkedPacket = {
  source: '198.51.100.9',
  destination: '203.0.113.1',
  protocol: 'TCP',
  port: 80,
  inInterface: 'eth0',
};
const TO_NODE: WalkedPacket = { ...FROM_OUTSIDE, destination: '192.0.2.1' };
const FROM_NODE: WalkedPacket = { ...FROM_OUTSIDE, source: '192.0.2.1', inInterface: '' };
const FROM_NODE_TO_ITSELF: WalkedPacket = { ...FROM_NODE, destination: '192.0.2.1' };

/** Base chains by the names that the tests below use. */
const BASES: Readonly<Record<string, string>> = {
  'pre-raw': 'filter hook prerouting priority -110',
  'pre-nat': 'nat hook prerouting priority -100',
  pre: 'filter hook prerouting priority 0',
  in: 'filter hook input priority 0',
  fwd: 'filter hook forward priority 0',
  'out-raw': 'filter hook output priority -110',
  'out-nat': 'nat hook output priority -100',
  out: 'filter hook output priority 0',
  'post-nat': 'nat hook postrouting priority 100',
  post: 'filter hook postrouting priority 0',
};

/** A table `ip t` of the given chains: a name from `BASES`, or a plain chain's; rules in order. */
function ruleset(chains: Readonly<Record<string, readonly string[]>>, sets = ''): Ruleset {
  const names = Object.keys(chains);
  const declared = names.map(
    (name) => `add chain ip t ${chainName(name)}${BASES[name] ? ` { type ${BASES[name]} ; }` : ''}`,
  );
  const rules = names.flatMap((name) =>
    (chains[name] ?? []).map((rule) => `add rule ip t ${chainName(name)} ${rule}`),
  );
  const made = new Ruleset();
  made.apply(['add table ip t', ...declared, sets, ...rules, ''].join('\n'));
  return made;
}

/** Some of the short names are words of nft. */
function chainName(name: string): string {
  return BASES[name] ? `at-${name}` : name;
}

function only(outcomes: readonly Outcome[]): Outcome {
  const [outcome, ...others] = outcomes;
  if (outcome === undefined || others.length > 0) throw new Error(`${outcomes.length} outcomes`);
  return outcome;
}

function action(rules: Ruleset, packet: WalkedPacket): string {
  return only(walk(rules, packet, NODE)).action;
}

describe('walk', () => {
  it('accepts where there is no rule', () => {
    expect(walk(ruleset({}), FROM_OUTSIDE, NODE)).toEqual([
      { action: 'accept', masquerade: false, probability: 1, updates: [], trace: [] },
    ]);
  });

  describe('the order of hooks and priorities', () => {
    test.for<[who: string, packet: WalkedPacket, chains: string[]]>([
      ['outside to elsewhere', FROM_OUTSIDE, ['pre-raw', 'pre-nat', 'pre', 'fwd', 'post', 'post-nat']],
      ['outside to the node', TO_NODE, ['pre-raw', 'pre-nat', 'pre', 'in']],
      ['the node to elsewhere', FROM_NODE, ['out-raw', 'out-nat', 'out', 'post', 'post-nat']],
      // What comes back over loopback is a known connection: prerouting's nat chains are not asked.
      [
        'the node to itself',
        FROM_NODE_TO_ITSELF,
        ['out-raw', 'out-nat', 'out', 'post', 'post-nat', 'pre-raw', 'pre', 'in'],
      ],
    ])('from %s', ([, packet, chains]) => {
      const counted = ruleset(Object.fromEntries(Object.keys(BASES).map((name) => [name, ['counter']])));
      expect(only(walk(counted, packet, NODE)).trace).toEqual(chains.map((name) => `at-${name}: counter`));
    });

    it('has later hooks see the translated address, and earlier ones the one that was dialled', () => {
      const dnat = { 'pre-nat': ['meta l4proto tcp dnat to 10.244.1.2:8080'] };
      expect(action(ruleset({ ...dnat, 'pre-raw': ['ip daddr 203.0.113.1 drop'] }), FROM_OUTSIDE)).toBe(
        'drop',
      );
      expect(action(ruleset({ ...dnat, fwd: ['ip daddr 203.0.113.1 drop'] }), FROM_OUTSIDE)).toBe('accept');
      expect(
        action(ruleset({ ...dnat, fwd: ['ip daddr 10.244.1.2 th dport 8080 drop'] }), FROM_OUTSIDE),
      ).toBe('drop');
      expect(action(ruleset({ ...dnat, pre: ['ip daddr 203.0.113.1 drop'] }), FROM_OUTSIDE)).toBe('accept');
      const original = ['ct original ip daddr 203.0.113.1 ct original proto-dst 80 ct status dnat drop'];
      expect(action(ruleset({ ...dnat, fwd: original }), FROM_OUTSIDE)).toBe('drop');
    });

    it('routes by the translated address', () => {
      const toNode = ruleset({ 'pre-nat': ['dnat to 192.0.2.1'], in: ['drop'], fwd: ['accept'] });
      expect(action(toNode, FROM_OUTSIDE)).toBe('drop');
      const away = ruleset({
        'pre-nat': ['dnat to 10.244.1.2'],
        in: ['drop'],
        fwd: ['oifname "cni0" reject'],
      });
      expect(action(away, TO_NODE)).toBe('reject');
      const local = ruleset({ 'out-nat': ['dnat to 10.244.1.2'], post: ['oifname "cni0" drop'] });
      expect(action(local, FROM_NODE)).toBe('drop');
    });

    it('runs nat chains where connection tracking translates, whatever their priority', () => {
      const rules = new Ruleset();
      rules.apply(`add table ip t
add chain ip t late { type nat hook prerouting priority 50 ; }
add chain ip t early { type nat hook prerouting priority -150 ; }
add chain ip t filter0 { type filter hook prerouting priority 0 ; }
add rule ip t late dnat to 10.0.0.1
add rule ip t early counter
add rule ip t filter0 ip daddr 10.0.0.1 drop
`);
      expect(only(walk(rules, FROM_OUTSIDE, NODE)).trace).toEqual([
        'early: counter',
        'late: dnat to 10.0.0.1 → 10.0.0.1:80',
        'filter0: ip daddr 10.0.0.1 drop',
      ]);
    });

    it('translates once', () => {
      const rules = new Ruleset();
      rules.apply(`add table ip t
add chain ip t one { type nat hook prerouting priority -100 ; }
add chain ip t two { type nat hook prerouting priority -99 ; }
add rule ip t one dnat to 10.0.0.1
add rule ip t two dnat to 10.0.0.2
`);
      expect(only(walk(rules, FROM_OUTSIDE, NODE)).dnat).toEqual({ address: '10.0.0.1', port: 80 });
    });

    it('asks every base chain until one drops', () => {
      expect(action(ruleset({ 'pre-raw': ['accept'], pre: ['drop'] }), FROM_OUTSIDE)).toBe('drop');
      expect(action(ruleset({ 'pre-raw': ['drop'], pre: ['accept'] }), FROM_OUTSIDE)).toBe('drop');
    });

    it('takes in the tables of both families where they are one, and names them where there are several', () => {
      const rules = new Ruleset();
      rules.apply(`add table inet both
add chain inet both a { type filter hook forward priority 1 ; }
add rule inet both a ip daddr != 10.0.0.1 counter
add rule inet both a meta nfproto ipv6 drop
add table ip t
add chain ip t b { type filter hook forward priority 0 ; }
add rule ip t b counter
add table ip6 t
add chain ip6 t c { type filter hook forward priority 0 ; policy drop ; }
`);
      expect(only(walk(rules, FROM_OUTSIDE, NODE)).trace).toEqual([
        't b: counter',
        'both a: ip daddr != 10.0.0.1 counter',
      ]);
      const v6 = { ...FROM_OUTSIDE, source: 'fd00::9', destination: 'fd00::1' };
      expect(only(walk(rules, v6, NODE)).trace).toEqual(['t c: policy drop']);
    });
  });

  describe('chains', () => {
    it('goes on behind a jump, and not behind a goto', () => {
      const trace = (verdict: string): readonly string[] =>
        only(walk(ruleset({ sub: ['counter'], fwd: [`${verdict} sub`, 'drop'] }), FROM_OUTSIDE, NODE)).trace;
      expect(trace('jump')).toEqual(['at-fwd: jump sub', 'sub: counter', 'at-fwd: drop']);
      expect(trace('goto')).toEqual(['at-fwd: goto sub', 'sub: counter']);
    });

    it('returns to where the last jump came from', () => {
      const rules = ruleset({
        c: ['return', 'drop'],
        b: ['goto c'],
        a: ['jump b', 'reject'],
        fwd: ['jump a'],
      });
      expect(only(walk(rules, FROM_OUTSIDE, NODE))).toMatchObject({
        action: 'reject',
        trace: ['at-fwd: jump a', 'a: jump b', 'b: goto c', 'c: return', 'a: reject'],
      });
    });

    it('ends with the policy', () => {
      const rules = new Ruleset();
      rules.apply(
        'add table ip t\nadd chain ip t a { type filter hook forward priority 0 ; policy drop ; }\nadd rule ip t a return',
      );
      expect(only(walk(rules, FROM_OUTSIDE, NODE))).toMatchObject({
        action: 'drop',
        trace: ['a: return', 'a: policy drop'],
      });
    });

    it('finds rules that lead in a circle', () => {
      const rules = parseListing(`table ip t {
	chain a {
		type filter hook forward priority 0; policy accept;
		goto b
	}
	chain b {
		goto b
	}
}`);
      expect(() => walk(rules, FROM_OUTSIDE, NODE)).toThrow('chains lead in a circle, or too deep, at b');
    });
  });

  describe('matches', () => {
    const packet: WalkedPacket = { ...FROM_OUTSIDE, sourcePort: 5353, mark: 0x4001 };
    test.for<[rule: string, holds: boolean]>([
      ['ip daddr 203.0.113.1', true],
      ['ip daddr != 203.0.113.1', false],
      ['ip daddr 203.0.113.0/24', true],
      ['ip daddr 203.0.113.1-203.0.113.9', true],
      ['ip daddr 203.0.113.2-203.0.113.9', false],
      ['ip saddr { 10.0.0.0/8, 198.51.100.0/24 }', true],
      ['ip saddr != { 10.0.0.0/8, 198.51.100.0/24 }', false],
      ['tcp dport 80', true],
      ['tcp dport { 79, 81-90 }', false],
      ['udp dport 80', false],
      ['th sport 5353', true],
      ['th sport > 5353', false],
      ['th sport >= 5353', true],
      ['th sport < 6000', true],
      ['th sport <= 5352', false],
      ['meta l4proto { udp, tcp }', true],
      ['meta l4proto != udp', true],
      ['icmp type echo-request', false],
      ['iifname "eth0"', true],
      ['iifname "eth*"', true],
      ['iifname != "cni*"', true],
      ['iifname { "cni*", "lo" }', false],
      ['oifname "eth0"', true],
      ['iif eth0', true],
      ['meta mark & 0x4000 != 0', true],
      ['meta mark and 1 == 0', false],
      ['meta mark 0x4001', true],
      ['ct state new', true],
      ['ct state != new', false],
      ['ct state established,related', false],
      ['ct state { new, invalid }', true],
      ['ct status dnat', false],
      ['ct status != dnat', true],
      ['ct direction original', true],
      ['fib daddr type local', false],
      ['fib daddr type != local', true],
      ['fib daddr type { unicast, local }', true],
      ['fib saddr type multicast', false],
      ['ip daddr . meta l4proto . th dport { 203.0.113.1 . tcp . 80 }', true],
      ['ip daddr . th dport { 203.0.113.0/24 . 1-100, 10.0.0.1 . 1 }', true],
      ['ip daddr . th dport { 203.0.113.0/24 . 81-100 }', false],
      ['ip daddr @exact', true],
      ['ip daddr != @exact', false],
      ['ip saddr @networks', true],
      ['ip daddr @networks', false],
      ['ip saddr . th dport @pairs', true],
    ])('%s: %s', ([rule, holds]) => {
      const rules = ruleset(
        { fwd: [`${rule} drop`] },
        `add set ip t exact { type ipv4_addr ; elements = { 203.0.113.1 } ; }
add set ip t networks { type ipv4_addr ; flags interval ; elements = { 10.0.0.0/8, 198.51.100.1-198.51.100.20 } ; }
add set ip t pairs { type ipv4_addr . inet_service ; flags interval ; elements = { 198.51.100.0/24 . 80 } ; }`,
      );
      expect(action(rules, packet)).toBe(holds ? 'drop' : 'accept');
    });

    test.for<[rule: string, holds: boolean]>([
      ['iifname "eth0"', false],
      // A packet that came in by no interface has an empty name, not none.
      ['iifname != "eth0"', true],
      ['fib saddr type local', true],
    ])('%s of a packet of the node: %s', ([rule, holds]) => {
      expect(action(ruleset({ out: [`${rule} drop`] }), FROM_NODE)).toBe(holds ? 'drop' : 'accept');
    });

    it('knows every field that rules can be read with', () => {
      expect(NORMAL_FIELDS.filter((field) => !WALKED_FIELDS.has(field))).toEqual([]);
    });
  });

  describe('maps and random numbers', () => {
    const ENDPOINTS =
      'add map ip t endpoints { typeof ip daddr . tcp dport . numgen random mod 65536 : ip daddr . tcp dport ; }\n';
    const PICK = (count: number): string =>
      `meta l4proto tcp dnat ip addr . port to ip daddr . tcp dport . numgen random mod ${count} map @endpoints`;

    it('gives every endpoint its share', () => {
      const rules = ruleset(
        { 'pick-3': [PICK(3)], 'pre-nat': ['ip daddr . meta l4proto . th dport vmap @service-ips'] },
        `${ENDPOINTS}add map ip t service-ips { type ipv4_addr . inet_proto . inet_service : verdict ; }
add element ip t service-ips { 203.0.113.1 . tcp . 80 : goto pick-3 }
add element ip t endpoints { 203.0.113.1 . 80 . 0 : 10.244.1.2 . 8080, 203.0.113.1 . 80 . 1 : 10.244.1.3 . 8081,
  203.0.113.1 . 80 . 2 : 10.244.2.2 . 8082, 203.0.113.2 . 80 . 0 : 10.244.9.9 . 1 }`,
      );
      expect(walk(rules, FROM_OUTSIDE, NODE).map(({ dnat, probability }) => [dnat, probability])).toEqual([
        [{ address: '10.244.1.2', port: 8080 }, 1 / 3],
        [{ address: '10.244.1.3', port: 8081 }, 1 / 3],
        [{ address: '10.244.2.2', port: 8082 }, 1 / 3],
      ]);
      expect(walk(rules, FROM_OUTSIDE, NODE)[1]?.trace).toEqual([
        'at-pre-nat: ip daddr . meta l4proto . th dport vmap @service-ips → goto pick-3',
        `pick-3: ${PICK(3)} → 10.244.1.3:8081`,
      ]);
      expect(action(rules, { ...FROM_OUTSIDE, port: 81 })).toBe('accept');
    });

    it('goes on to the next rule where a number leads to nothing', () => {
      const rules = ruleset(
        { 'pick-1': [PICK(1)], 'pick-3': [PICK(3), 'goto pick-1'], 'pre-nat': ['goto pick-3'] },
        `${ENDPOINTS}add element ip t endpoints { 203.0.113.1 . 80 . 0 : 10.244.1.2 . 8080, 203.0.113.1 . 80 . 2 : 10.244.1.3 . 8080 }`,
      );
      const outcomes = distinctOutcomes(walk(rules, FROM_OUTSIDE, NODE));
      expect(outcomes.map(({ dnat }) => dnat?.address)).toEqual(['10.244.1.2', '10.244.1.3']);
      expect(outcomes[0]?.probability).toBeCloseTo(2 / 3, 12);
      expect(outcomes[1]?.probability).toBeCloseTo(1 / 3, 12);
    });

    it('draws for every rule anew', () => {
      const rules = ruleset({
        fwd: ['numgen random mod 2 0 numgen random mod 2 0 drop', 'numgen inc mod 4 offset 1 < 2 reject'],
      });
      const shares = Object.groupBy(walk(rules, FROM_OUTSIDE, NODE), ({ action: end }) => end);
      const sum = (end: Outcome['action']): number =>
        (shares[end] ?? []).reduce((total, { probability }) => total + probability, 0);
      expect(sum('drop')).toBeCloseTo(1 / 4, 12);
      expect(sum('reject')).toBeCloseTo((3 / 4) * (1 / 4), 12);
    });

    it('picks by a verdict map written in the rule', () => {
      const rules = ruleset({
        a: ['drop'],
        b: ['reject'],
        fwd: ['numgen random mod 4 vmap { 0-1 : goto a, 2 : goto b }'],
      });
      expect(walk(rules, FROM_OUTSIDE, NODE).map(({ action: end }) => end)).toEqual([
        'drop',
        'drop',
        'reject',
        'accept',
      ]);
    });

    it('goes on in the rule after continue', () => {
      const rules = ruleset({ fwd: ['ip daddr vmap { 203.0.113.1 : continue }', 'drop'] });
      expect(only(walk(rules, FROM_OUTSIDE, NODE)).trace).toEqual([
        'at-fwd: ip daddr vmap { 203.0.113.1 : continue } → continue',
        'at-fwd: drop',
      ]);
    });

    it('takes the element for everything else where no other fits', () => {
      const sets =
        'add map ip t m { type ipv4_addr : verdict ; }\nadd element ip t m { 203.0.113.1 : accept, * : drop }';
      const rules = ruleset({ fwd: ['ip daddr vmap @m'] }, sets);
      expect(action(rules, FROM_OUTSIDE)).toBe('accept');
      expect(action(rules, { ...FROM_OUTSIDE, destination: '203.0.113.2' })).toBe('drop');
    });
  });

  describe('what rules do', () => {
    it('carries the mark from hook to hook', () => {
      const rules = ruleset({
        'pre-nat': ['meta mark set meta mark or 0x4000', 'dnat to 10.244.1.2'],
        'post-nat': ['meta mark and 0x4000 != 0 meta mark set meta mark xor 0x4000 masquerade fully-random'],
      });
      expect(only(walk(rules, FROM_OUTSIDE, NODE))).toMatchObject({
        action: 'accept',
        dnat: { address: '10.244.1.2', port: 80 },
        masquerade: true,
      });
      expect(only(walk(rules, FROM_NODE, NODE)).masquerade).toBe(false);
    });

    it('knows a hairpin by the translation and both addresses', () => {
      const rules = ruleset(
        {
          'pre-nat': ['dnat to numgen random mod 2 map { 0 : 10.244.1.2, 1 : 10.244.1.3 }'],
          'post-nat': ['ct status dnat ip saddr . ip daddr @hairpin masquerade'],
        },
        'add set ip t hairpin { type ipv4_addr . ipv4_addr ; elements = { 10.244.1.2 . 10.244.1.2, 10.244.1.3 . 10.244.1.3 } ; }',
      );
      const pod = { ...FROM_OUTSIDE, source: '10.244.1.3', inInterface: 'cni0' };
      expect(walk(rules, pod, NODE).map(({ masquerade }) => masquerade)).toEqual([false, true]);
    });

    it('follows and records affinity', () => {
      const sets = 'add set ip t seen { type ipv4_addr ; flags dynamic,timeout ; timeout 5m ; }';
      const rules = ruleset(
        {
          one: ['update @seen { ip saddr }', 'dnat to 10.244.1.2'],
          two: ['dnat to 10.244.1.3'],
          'pre-nat': ['ip saddr @seen goto one', 'numgen random mod 2 vmap { 0 : goto one, 1 : goto two }'],
        },
        sets,
      );
      const addresses = (): (string | undefined)[] =>
        walk(rules, FROM_OUTSIDE, NODE).map(({ dnat }) => dnat?.address);
      expect(addresses()).toEqual(['10.244.1.2', '10.244.1.3']);
      expect(walk(rules, FROM_OUTSIDE, NODE)[0]?.updates).toEqual([
        { operation: 'update', set: 'seen', key: '198.51.100.9' },
      ]);
      rules.apply('add element ip t seen { 198.51.100.9 }');
      expect(addresses()).toEqual(['10.244.1.2']);
    });

    it('has nothing to say of the translation of what is dropped after it', () => {
      const rules = ruleset({ 'pre-nat': ['dnat to 10.244.1.2'], fwd: ['reject'] });
      expect(only(walk(rules, FROM_OUTSIDE, NODE))).toEqual({
        action: 'reject',
        masquerade: false,
        probability: 1,
        updates: [],
        trace: ['at-pre-nat: dnat to 10.244.1.2 → 10.244.1.2:80', 'at-fwd: reject'],
      });
    });

    it('gives another source', () => {
      const rules = ruleset({ 'post-nat': ['snat to 192.0.2.1'] });
      expect(only(walk(rules, FROM_OUTSIDE, NODE))).toMatchObject({ masquerade: false, snat: '192.0.2.1' });
    });

    it('redirects what the node sends to loopback', () => {
      const rules = ruleset({
        'out-nat': ['meta l4proto tcp redirect to :8080'],
        in: ['iifname "lo" ip daddr 127.0.0.1 drop'],
      });
      expect(action(rules, FROM_NODE)).toBe('drop');
    });

    it('keeps marks of the connection apart from those of the packet', () => {
      const rules = ruleset({
        'pre-raw': ['ct mark set 5', 'meta mark set ct mark'],
        fwd: ['ct mark 5 meta mark 5 drop'],
      });
      expect(action(rules, FROM_OUTSIDE)).toBe('drop');
    });
  });

  describe('rules that cannot be read', () => {
    const foreign = parseListing(`table ip t {
	chain a {
		type filter hook forward priority filter; policy accept;
		limit rate 10/second accept
		ip daddr 203.0.113.1 drop
	}
}`);

    it('refuses to go past them', () => {
      expect(() => walk(foreign, FROM_OUTSIDE, NODE)).toThrow(
        'a: cannot follow the rule "limit rate 10/second accept": line 4, column 3: expected an expression',
      );
    });

    it('passes over them when told to, and says so', () => {
      expect(only(walk(foreign, FROM_OUTSIDE, { ...NODE, unread: 'pass-over' }))).toMatchObject({
        action: 'drop',
        trace: [
          'a: not understood and passed over: limit rate 10/second accept',
          'a: ip daddr 203.0.113.1 drop',
        ],
      });
    });
  });

  it('walks over IPv6 alike', () => {
    const rules = new Ruleset();
    rules.apply(`add table ip6 t
add chain ip6 t n { type nat hook prerouting priority dstnat ; }
add chain ip6 t f { type filter hook forward priority filter ; }
add map ip6 t m { type ipv6_addr . inet_proto . inet_service : ipv6_addr . inet_service ; elements = { fd00:10::1 . udp . 53 : fd00:244::2 . 8053 } ; }
add rule ip6 t n fib daddr type != local ip6 saddr != fd00:244::/32 meta l4proto udp dnat ip6 addr . port to ip6 daddr . meta l4proto . th dport map @m
add rule ip6 t f ip6 daddr fd00:244::/64 udp dport 8053 accept
add rule ip6 t f drop
`);
    const packet: WalkedPacket = {
      source: 'fd00:30::50',
      destination: 'fd00:10::1',
      protocol: 'UDP',
      port: 53,
      inInterface: 'eth0',
    };
    expect(only(walk(rules, packet, NODE))).toMatchObject({
      action: 'accept',
      dnat: { address: 'fd00:244::2', port: 8053 },
    });
    expect(only(walk(rules, { ...packet, source: 'fd00:244::9' }, NODE)).action).toBe('drop');
  });
});
