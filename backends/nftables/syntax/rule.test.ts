import { describe, expect, it, test } from 'vitest';
import { readRule, sameRule } from './rule.ts';
import { statementsText } from './text.ts';

/** The normal form of a rule, as text. */
function normal(text: string): string {
  return statementsText(readRule(text).statements);
}

describe('readRule', () => {
  test.for<[written: string, normalForm: string]>([
    ['ip daddr 10.0.0.1 accept', 'ip daddr 10.0.0.1 accept'],
    ['ip daddr == 10.0.0.1 accept', 'ip daddr 10.0.0.1 accept'],
    ['ip daddr { 10.96.0.0/12 } drop', 'ip daddr 10.96.0.0/12 drop'],
    ['ip daddr 10.1.2.3/8 drop', 'ip daddr 10.0.0.0/8 drop'],
    ['ip daddr 10.0.0.1/32 drop', 'ip daddr 10.0.0.1 drop'],
    ['ip daddr 10.0.0.0-10.0.0.3 drop', 'ip daddr 10.0.0.0/30 drop'],
    ['ip daddr != { 10.0.0.0/9, 10.128.0.0/9, 11.0.0.1 } drop', 'ip daddr != { 10.0.0.0/8, 11.0.0.1 } drop'],
    ['ip6 daddr FD00:0:0::1 accept', 'ip6 daddr fd00::1 accept'],
    ['ip6 daddr { fd00::-fd00::ffff } accept', 'ip6 daddr fd00::/112 accept'],
    ['tcp dport 80 accept', 'meta l4proto tcp th dport 80 accept'],
    ['meta l4proto tcp th dport 80 accept', 'meta l4proto tcp th dport 80 accept'],
    ['ip protocol tcp tcp dport 80 accept', 'meta l4proto tcp th dport 80 accept'],
    ['ip6 nexthdr udp udp dport 53 accept', 'meta l4proto udp th dport 53 accept'],
    ['meta l4proto { 6 } th dport { 80, 82, 81 } accept', 'meta l4proto tcp th dport 80-82 accept'],
    ['udp dport 53 udp sport 53 accept', 'meta l4proto udp th dport 53 th sport 53 accept'],
    ['icmp type echo-request accept', 'icmp type echo-request meta l4proto icmp accept'],
    [
      'mark and 0x4000 != 0 mark set mark xor 0x4000',
      'meta mark and 0x00004000 != 0 meta mark set meta mark xor 0x00004000',
    ],
    ['meta mark set meta mark | 0x00004000', 'meta mark set meta mark or 0x00004000'],
    ['meta mark != 0x00000000/1', 'meta mark and 0x80000000 != 0'],
    ['meta mark set (meta mark & 0xff) | 0x4000', 'meta mark set meta mark and 0x000000ff xor 0x00004000'],
    ['meta mark set 0x1 | 0x2', 'meta mark set 3'],
    ['ct mark set meta mark', 'ct mark set meta mark'],
    ['ct state new,established jump services', 'ct state established,new jump services'],
    ['ct state { new, related } accept', 'ct state { new, related } accept'],
    ['ct state == new accept', 'ct state { new } accept'],
    ['ct status != dnat accept', 'ct status != dnat accept'],
    ['th dport >= 1024 accept', 'th dport >= 1024 accept'],
    ['iifname cni* accept', 'meta iifname "cni*" accept'],
    ['fib saddr type != local drop', 'fib saddr type != local drop'],
    ['counter packets 5 bytes 10 drop', 'drop'],
    ['log prefix "a: " level info accept', 'log prefix "a: " accept'],
    ['reject with icmp type port-unreachable', 'reject'],
    ['reject with icmpv6 no-route', 'reject with icmpv6 no-route'],
    ['reject with tcp reset', 'meta l4proto tcp reject with tcp reset'],
    ['masquerade fully-random', 'masquerade fully-random'],
    [
      'meta l4proto tcp masquerade to :1024-2048 persistent,random',
      'meta l4proto tcp masquerade to :1024-2048 persistent,random',
    ],
    ['meta l4proto tcp dnat ip to 10.0.0.1:80', 'meta l4proto tcp dnat to 10.0.0.1:80'],
    ['meta l4proto tcp dnat to [fd00::1]:80', 'meta l4proto tcp dnat to [fd00::1]:80'],
    [
      'dnat ip addr . port to ip daddr . meta l4proto . th dport . numgen random mod 3 map @endpoints',
      'dnat to ip daddr . meta l4proto . th dport . numgen random mod 3 map @endpoints',
    ],
    [
      'numgen random mod 2 vmap { 1 : goto b, 0 : goto a }',
      'numgen random mod 2 vmap { 0 : goto a, 1 : goto b }',
    ],
    ['numgen inc mod 3 offset 5 vmap { 5 : drop }', 'numgen inc mod 3 offset 5 vmap { 5 : drop }'],
    ['update @affinity-A/b_c.d { ip saddr }', 'update @affinity-A/b_c.d { ip saddr }'],
    ['add @m { ip saddr timeout 3h : ip daddr }', 'add @m { ip saddr timeout 3h : ip daddr }'],
    [
      'ip saddr . ip daddr { 10.0.0.2 . 10.0.0.3, 10.0.0.1 . 10.0.0.0/8 } accept',
      'ip saddr . ip daddr { 10.0.0.1 . 10.0.0.0/8, 10.0.0.2 . 10.0.0.3 } accept',
    ],
  ])('%s', ([written, normalForm]) => {
    expect(normal(written)).toBe(normalForm);
    expect(normal(normalForm)).toBe(normalForm);
  });

  it('keeps the text and the comment', () => {
    expect(readRule('  reject   comment "why, because"')).toEqual({
      statements: [{ kind: 'reject' }],
      comment: 'why, because',
      text: 'reject   comment "why, because"',
    });
  });

  it('does not move a match over a statement that does something', () => {
    expect(normal('meta mark set 1 tcp dport 80 accept')).toBe(
      'meta mark set 1 meta l4proto tcp th dport 80 accept',
    );
  });

  test.for<[text: string, message: string]>([
    ['', 'line 1, column 1: expected a rule, found the end of the text'],
    ['ip daddr 999.1.1.1', 'line 1, column 10: expected an address, found "999.1.1.1"'],
    [
      'ip daddr fd00::1',
      'line 1, column 10: expected values of type ipv4_addr rather than fd00::1, found "fd00::1"',
    ],
    [
      'ip daddr 10.0.0.0/33 drop',
      'line 1, column 10: expected a prefix such as 10.0.0.0/8, found "10.0.0.0"',
    ],
    [
      'ip daddr 10.0.0.9-10.0.0.1 drop',
      'line 1, column 10: expected a range from a lower to a higher value, found "10.0.0.9"',
    ],
    [
      'tcp dport 70000',
      'line 1, column 11: expected values of type inet_service rather than 70000, found "70000"',
    ],
    [
      'ip daddr . tcp dport { 10.0.0.1 } drop',
      'line 1, column 22: expected values of type ipv4_addr . inet_service rather than 10.0.0.1, found "{"',
    ],
    [
      'ip frag-off 1',
      'line 1, column 1: expected a field that is understood here rather than "ip frag-off", found "ip"',
    ],
    ['ip daddr @', 'line 1, column 11: expected the name of a set or map, found the end of the text'],
    ['ip daddr vmap 5', 'line 1, column 15: expected "@" and a name, or "{", found "5"'],
    ['goto', 'line 1, column 5: expected a chain name, found the end of the text'],
    [
      'drop drop',
      'line 1, column 6: expected the end of the rule: nothing after its verdict has any effect, found "drop"',
    ],
    [
      'drop comment "a" drop',
      'line 1, column 18: expected the end of the rule after its comment, found "drop"',
    ],
    [
      `drop comment "${'é'.repeat(65)}"`,
      `line 1, column 14: expected a comment of at most 128 bytes, found "${'é'.repeat(65)}"`,
    ],
    [
      'ip daddr set 10.0.0.1',
      `line 1, column 10: expected a comparison; only the packet's mark and the connection's can be set, found "set"`,
    ],
    ['meta mark set meta mark or ct mark', 'line 1, column 28: expected a number, found "ct"'],
    ['drop; drop', 'line 1, column 5: expected the end of the rule, found ";"'],
  ])('refuses %j', ([text, message]) => {
    expect(() => readRule(text)).toThrow(message);
  });
});

describe('sameRule', () => {
  test.for<[a: string, b: string, same: boolean]>([
    ['meta l4proto tcp ip daddr 10.0.0.1 th dport 80 drop', 'ip daddr 10.0.0.1 tcp dport 80 drop', true],
    ['drop comment "a"', 'drop comment "a"', true],
    ['drop comment "a"', 'drop comment "b"', false],
    ['drop comment "a"', 'drop', false],
    ['counter drop', 'counter packets 3 bytes 9 drop', true],
    ['tcp dport 80 drop', 'udp dport 80 drop', false],
    ['th dport 80 drop', 'tcp dport 80 drop', false],
    ['goto a', 'jump a', false],
    ['ip daddr @a drop', 'ip daddr @b drop', false],
    ['ip daddr 10.0.0.1 drop', 'ip daddr != 10.0.0.1 drop', false],
    ['ct state == new drop', 'ct state new drop', false],
    ['numgen random mod 2 vmap { 0 : goto a }', 'numgen random mod 3 vmap { 0 : goto a }', false],
    ['masquerade', 'masquerade fully-random', false],
  ])('%s / %s', ([a, b, same]) => {
    expect(sameRule(readRule(a), readRule(b))).toBe(same);
  });
});
