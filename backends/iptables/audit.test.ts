import { describe, expect, it } from 'vitest';
import { checksOf, type ExpectedRule, findingOf, Turn } from './audit.ts';

const RULES: readonly ExpectedRule[] = [
  { chain: 'nat PREROUTING', rule: '-j KUBE-SERVICES' },
  { chain: 'filter INPUT', rule: '-j KUBE-NODEPORTS' },
  { chain: 'nat KUBE-SERVICES', rule: '-d 10.96.0.1/32 -j KUBE-SVC-A' },
  { chain: 'nat KUBE-SVC-A', rule: '-j KUBE-SEP-B' },
];

describe('checks', () => {
  const checks = checksOf(RULES);

  it('ask for every rule, table by table', () => {
    expect(checks.input.join('')).toBe(`*nat
-C PREROUTING -j KUBE-SERVICES
-C KUBE-SERVICES -d 10.96.0.1/32 -j KUBE-SVC-A
-C KUBE-SVC-A -j KUBE-SEP-B
COMMIT
*filter
-C INPUT -j KUBE-NODEPORTS
COMMIT
`);
  });

  it('find the missing rule by its line, and go on behind it', () => {
    const stderr =
      'iptables-nft-restore: line 3 failed: Bad rule (does a matching rule exist in that chain?).';
    expect(findingOf(stderr, checks)).toEqual({
      object: 'nat KUBE-SERVICES -d 10.96.0.1/32 -j KUBE-SVC-A',
      rest: [
        { chain: 'nat KUBE-SVC-A', rule: '-j KUBE-SEP-B' },
        { chain: 'filter INPUT', rule: '-j KUBE-NODEPORTS' },
      ],
    });
  });

  it.each([
    "iptables-nft-restore v1.8.9 (nf_tables): Chain 'KUBE-SVC-A' does not exist\nError occurred at line: 7",
    "iptables-restore v1.8.9 (legacy): Couldn't load target `KUBE-SVC-A':No such file or directory\n\nError occurred at line: 3",
  ])('find the chain that a rule would jump to, and ask no more about it: %s', (stderr) => {
    expect(findingOf(stderr, checks)).toEqual({
      object: 'nat KUBE-SVC-A',
      rest: [
        { chain: 'nat PREROUTING', rule: '-j KUBE-SERVICES' },
        { chain: 'filter INPUT', rule: '-j KUBE-NODEPORTS' },
      ],
    });
  });

  it.each(['Permission denied (you must be root)', '', 'line 1 failed'])(
    'say nothing when the tool fails for another reason: %j',
    (stderr) => {
      expect(findingOf(stderr, checks)).toBeUndefined();
    },
  );
});

describe('Turn', () => {
  it('comes to every Service, and begins again', () => {
    const plans = new Map(['b', 'a', 'd', 'c', 'e'].map((key) => [key, [{ key }]])) as unknown as Parameters<
      Turn['next']
    >[0];
    const turn = new Turn();
    const next = () => turn.next(plans, 2).map(([plan]) => plan?.key);
    expect([next(), next(), next(), next()]).toEqual([
      ['a', 'b'],
      ['c', 'd'],
      ['e', 'a'],
      ['b', 'c'],
    ]);
  });

  it('takes few Services once each', () => {
    const plans = new Map([['a', []]]);
    expect(new Turn().next(plans, 100)).toEqual([[]]);
    expect(new Turn().next(new Map(), 100)).toEqual([]);
  });
});
