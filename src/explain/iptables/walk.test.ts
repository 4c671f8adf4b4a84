import { describe, expect, it } from 'vitest';
import type { WalkedPacket } from '../flow.ts';
import { distinctOutcomes } from '../nft/walk.ts';
import { everyRun } from './chances.ts';
import type { IptablesEnvironment } from './matches.ts';
import { parseRule } from './rule.ts';
import { parseRuleset } from './ruleset.ts';
import { walk } from './walk.ts';

const NODE: IptablesEnvironment = {
  localAddresses: new Set(['192.0.2.11']),
  outInterface: (destination) => (destination.startsWith('10.244.1.') ? 'veth1' : 'eth0'),
};

/** From outside to a cluster IP. */
const PACKET: WalkedPacket = {
  source: '198.51.100.7',
  destination: '10.96.0.1',
  protocol: 'TCP',
  port: 80,
  inInterface: 'eth0',
};
const FROM_NODE = { ...PACKET, source: '192.0.2.11', inInterface: '' };
const TO_NODE = { ...PACKET, destination: '192.0.2.11' };

/** Tables by name: lines of rules, `:CHAIN` for chains of one's own. */
function tables(given: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(given)
    .map(([table, lines]) => {
      const chains = ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'];
      const declared = chains.map((chain) => `:${chain} ACCEPT [0:0]`);
      const own = lines.filter((line) => line.startsWith(':')).map((line) => `${line} - [0:0]`);
      const rules = lines.filter((line) => !line.startsWith(':'));
      return [`*${table}`, ...declared, ...own, ...rules, 'COMMIT', ''].join('\n');
    })
    .join('');
}

function outcomes(
  given: Parameters<typeof tables>[0],
  packet: Partial<WalkedPacket> = {},
  environment: Partial<IptablesEnvironment> = {},
) {
  return walk(parseRuleset(tables(given)), { ...PACKET, ...packet }, { ...NODE, ...environment });
}

/** Whether a match holds for a packet, asked of a rule that drops it. */
function holds(
  match: string,
  packet: Partial<WalkedPacket> = {},
  environment: Partial<IptablesEnvironment> = {},
) {
  const [outcome] = outcomes({ mangle: [`-A PREROUTING ${match} -j DROP`] }, packet, environment);
  return outcome?.action === 'drop';
}

describe('matches', () => {
  it.each([
    ['-s 198.51.100.0/24', true],
    ['-s 198.51.100.7', true],
    ['! -s 198.51.100.0/24', false],
    ['-d 10.96.0.1/32', true],
    ['-d 10.96.0.2/32', false],
    ['-i eth0', true],
    ['-i eth+', true],
    ['! -i veth+', true],
    ['-p tcp', true],
    ['-p udp', false],
    ['! -p udp', true],
    ['-p tcp -m tcp --dport 80', true],
    ['-p tcp -m tcp --dport 81', false],
    ['-p tcp -m tcp ! --dport 81', true],
    ['-p tcp -m tcp --dport 0:1023', true],
    ['-p tcp -m tcp --dport 81:', false],
    ['-p tcp -m tcp --sport 40000', true],
    ['-p tcp -m multiport --dports 443,80', true],
    ['-p tcp -m multiport --dports 443,8000:9000', false],
    ['-m comment --comment "-j ACCEPT \\"quoted\\""', true],
    ['-m nfacct --nfacct-name ct_state_invalid_dropped_pkts', true],
    ['-m addrtype --dst-type LOCAL', false],
    ['-m addrtype ! --src-type LOCAL', true],
    ['-m conntrack --ctstate NEW', true],
    ['-m conntrack --ctstate RELATED,ESTABLISHED', false],
    ['-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT', true],
    ['-m conntrack --ctstate INVALID', false],
    ['-m state --state NEW', true],
    ['-m mark --mark 0x4000/0x4000', false],
    ['-m mark ! --mark 0x4000/0x4000', true],
    ['-m recent --rcheck --seconds 10 --reap --name L --mask 255.255.255.255 --rsource', false],
    ['-m recent --set --name L --mask 255.255.255.255 --rsource', true],
    ['', true],
  ])('%s: %s', (match, expected) => {
    expect(holds(match)).toBe(expected);
  });

  it('see loopback and the node’s own addresses as local', () => {
    const local = '-m addrtype --dst-type LOCAL';
    expect([holds(local, TO_NODE), holds(local, { destination: '127.0.0.1' })]).toEqual([true, true]);
  });

  it('see the mark a packet came with', () => {
    expect(holds('-m mark --mark 0x4000/0x4000', { mark: 0x4001 })).toBe(true);
    expect(holds('-m mark --mark 0x80000000/0x80000000', { mark: 0x80000000 })).toBe(true);
  });

  it('know whom a list of recent senders has', () => {
    const recent = new Map([['L', new Set(['198.51.100.7'])]]);
    expect(holds('-m recent --rcheck --name L --rsource', {}, { recent })).toBe(true);
    expect(holds('-m recent --rcheck --name M --rsource', {}, { recent })).toBe(false);
    const [outcome] = outcomes({ mangle: ['-A PREROUTING -m recent --set --name L --rsource'] });
    expect(outcome?.updates).toEqual([{ operation: 'add', set: 'L', key: '198.51.100.7' }]);
  });
});

describe('targets and chains', () => {
  it('translate, masquerade and say which rules held', () => {
    const given = {
      nat: [
        ':KUBE-SERVICES',
        ':KUBE-MARK-MASQ',
        '-A PREROUTING -j KUBE-SERVICES',
        '-A KUBE-SERVICES -d 10.96.0.1/32 -j KUBE-MARK-MASQ',
        '-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000',
        '-A KUBE-SERVICES -p tcp -d 10.96.0.1/32 -j DNAT --to-destination 10.244.1.2:8080',
        '-A KUBE-SERVICES -j DROP',
        '-A POSTROUTING -m mark --mark 0x4000/0x4000 -o veth1 -j MASQUERADE --random-fully',
      ],
    };
    expect(outcomes(given)).toEqual([
      {
        action: 'accept',
        dnat: { address: '10.244.1.2', port: 8080 },
        masquerade: true,
        probability: 1,
        updates: [],
        trace: [
          'nat PREROUTING: -j KUBE-SERVICES',
          'nat KUBE-SERVICES: -d 10.96.0.1/32 -j KUBE-MARK-MASQ',
          'nat KUBE-MARK-MASQ: -j MARK --set-xmark 0x4000/0x4000',
          'nat KUBE-SERVICES: -p tcp -d 10.96.0.1/32 -j DNAT --to-destination 10.244.1.2:8080',
          'nat POSTROUTING: -m mark --mark 0x4000/0x4000 -o veth1 -j MASQUERADE --random-fully',
        ],
      },
    ]);
  });

  it('translate to IPv6 addresses, and to an address alone', () => {
    const to = (target: string, packet: Partial<WalkedPacket> = {}) =>
      outcomes({ nat: [`-A PREROUTING -j DNAT --to-destination ${target}`] }, packet)[0]?.dnat;
    expect(to('[fd00::2]:8080', { source: 'fd00::1', destination: 'fd00:96::1' })).toEqual({
      address: 'fd00::2',
      port: 8080,
    });
    expect(to('10.244.1.2')).toEqual({ address: '10.244.1.2', port: 80 });
  });

  it('set, clear and flip bits of the mark', () => {
    const marked = (xmark: string, mark: number): boolean =>
      outcomes(
        {
          mangle: [
            `-A PREROUTING -j MARK --set-xmark ${xmark}`,
            '-A PREROUTING -m mark --mark 0x4000/0x4000 -j DROP',
          ],
        },
        { mark },
      )[0]?.action === 'drop';
    expect([marked('0x4000/0x4000', 0), marked('0x4000/0x0', 0x4000), marked('0x0/0x4000', 0x4000)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('come back from a chain that was jumped to, and do not from one that was gone to', () => {
    const given = (verb: string) => ({
      filter: [':A', `-A FORWARD ${verb} A`, '-A FORWARD -j DROP', '-A A -p udp -j ACCEPT'],
    });
    expect(outcomes(given('-j'))[0]?.action).toBe('drop');
    expect(outcomes(given('-g'))[0]?.action).toBe('accept');
  });

  it('return to the rule behind the jump', () => {
    const given = {
      filter: [':A', '-A FORWARD -j A', '-A FORWARD -j REJECT', '-A A -j RETURN', '-A A -j DROP'],
    };
    expect(outcomes(given)[0]?.action).toBe('reject');
  });

  it('end with the policy', () => {
    const text = tables({ filter: [] }).replace(':FORWARD ACCEPT', ':FORWARD DROP');
    const [outcome] = walk(parseRuleset(text), PACKET, NODE);
    expect(outcome).toMatchObject({ action: 'drop', trace: ['filter FORWARD: policy drop'] });
  });
});

describe('the way of a packet', () => {
  /** One rule in every chain of every table, which only leaves its trace. */
  const EVERYWHERE = Object.fromEntries(
    ['security', 'filter', 'nat', 'mangle', 'raw'].map((table) => [
      table,
      ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'].map(
        (chain) => `-A ${chain} -m comment --comment here`,
      ),
    ]),
  );
  const way = (packet: Partial<WalkedPacket>) =>
    outcomes(EVERYWHERE, packet)[0]?.trace.map((line) => line.split(':')[0]);

  it('from elsewhere to elsewhere', () => {
    expect(way({})).toEqual([
      'raw PREROUTING',
      'mangle PREROUTING',
      'nat PREROUTING',
      'mangle FORWARD',
      'filter FORWARD',
      'security FORWARD',
      'mangle POSTROUTING',
      'nat POSTROUTING',
    ]);
  });

  it('from elsewhere to the node', () => {
    expect(way(TO_NODE)).toEqual([
      'raw PREROUTING',
      'mangle PREROUTING',
      'nat PREROUTING',
      'mangle INPUT',
      'filter INPUT',
      'security INPUT',
      'nat INPUT',
    ]);
  });

  it('from the node to elsewhere', () => {
    expect(way(FROM_NODE)).toEqual([
      'raw OUTPUT',
      'mangle OUTPUT',
      'nat OUTPUT',
      'filter OUTPUT',
      'security OUTPUT',
      'mangle POSTROUTING',
      'nat POSTROUTING',
    ]);
  });

  it('from the node to itself, translated once', () => {
    expect(way({ ...TO_NODE, source: '192.0.2.11', inInterface: '' })).toEqual([
      'raw OUTPUT',
      'mangle OUTPUT',
      'nat OUTPUT',
      'filter OUTPUT',
      'security OUTPUT',
      'mangle POSTROUTING',
      'nat POSTROUTING',
      'raw PREROUTING',
      'mangle PREROUTING',
      'mangle INPUT',
      'filter INPUT',
      'security INPUT',
    ]);
  });

  it('is by the destination after translation', () => {
    const given = {
      nat: ['-A PREROUTING -d 192.0.2.11/32 -j DNAT --to-destination 10.244.1.2:8080'],
      filter: [
        '-A INPUT -j DROP',
        '-A FORWARD -d 10.244.1.2/32 -o veth1 -m conntrack --ctstate DNAT -j REJECT',
      ],
    };
    expect(outcomes(given, TO_NODE)[0]?.action).toBe('reject');
  });
});

describe('chance', () => {
  it('deals evenly by the shares of what is left', () => {
    const deal = (left: number, port: number) =>
      `-A PREROUTING ${left > 1 ? `-m statistic --mode random --probability ${1 / left} ` : ''}-j DNAT --to-destination 10.244.1.2:${port}`;
    const found = outcomes({ nat: [deal(4, 1), deal(3, 2), deal(2, 3), deal(1, 4)] });
    expect(found.map(({ dnat, probability }) => [dnat?.port, probability])).toEqual([
      [1, 0.25],
      [2, 0.25],
      [3, 0.25],
      [4, 0.25],
    ]);
  });

  it('adds up to one, whatever hangs on it', () => {
    const half = '-m statistic --mode random --probability 0.5';
    const found = outcomes({
      mangle: [`-A PREROUTING ${half} -j MARK --set-xmark 0x1/0x1`],
      filter: [`-A FORWARD -m mark --mark 0x1/0x1 ${half} -j DROP`],
    });
    expect(found).toHaveLength(3);
    expect(distinctOutcomes(found).map(({ action, probability }) => [action, probability])).toEqual([
      ['drop', 0.25],
      ['accept', 0.75],
    ]);
  });

  it('leaves what is certain alone', () => {
    const runs = [...everyRun((chance) => [chance(1), chance(0), chance(0.5)])];
    expect(runs).toEqual([
      { result: [true, false, true], probability: 0.5 },
      { result: [true, false, false], probability: 0.5 },
    ]);
  });
});

describe('what is not understood', () => {
  it.each([
    ['-m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT', 'the match set is not known'],
    ['-m addrtype --dst-type BROADCAST -j ACCEPT', 'which addresses are BROADCAST is not known'],
    ['-m conntrack --ctdir ORIGINAL -j ACCEPT', '--ctdir is not known'],
    ['-j NFQUEUE --queue-num 0', 'the target NFQUEUE is not known'],
    ['-m statistic --mode nth --every 3 --packet 0 -j ACCEPT', 'statistic is only known with --probability'],
  ])('is refused, with its reason: %s', (rule, reason) => {
    expect(() => outcomes({ mangle: [`-A PREROUTING ${rule}`] })).toThrow(
      `mangle PREROUTING: cannot follow the rule "${rule}": ${reason}`,
    );
  });

  it('is passed over where that is asked for, and traced', () => {
    const [outcome] = outcomes({ mangle: ['-A PREROUTING -j NFQUEUE'] }, {}, { unread: 'pass-over' });
    expect(outcome).toMatchObject({
      action: 'accept',
      trace: ['mangle PREROUTING: not understood and passed over: -j NFQUEUE'],
    });
  });

  it('does not matter where the packet does not come by', () => {
    expect(outcomes({ mangle: ['-A INPUT -j NFQUEUE'] })[0]?.action).toBe('accept');
    expect(outcomes({ mangle: ['-A PREROUTING -p udp -j NFQUEUE'] })[0]?.action).toBe('accept');
  });

  it('ends chains that lead in a circle', () => {
    const given = { filter: [':A', ':B', '-A FORWARD -j A', '-A A -j B', '-A B -j A'] };
    expect(() => outcomes(given)).toThrow('chains lead in a circle, or too deep, at filter');
  });
});

it('cuts a rule into matches and target', () => {
  expect(
    parseRule(
      '! -s 10.0.0.0/8 -p tcp -m comment --comment "a -j b" -m tcp --dport 80 -j DNAT --to-destination 10.0.0.1:80',
    ),
  ).toEqual({
    text: '! -s 10.0.0.0/8 -p tcp -m comment --comment "a -j b" -m tcp --dport 80 -j DNAT --to-destination 10.0.0.1:80',
    matches: [
      {
        name: '',
        options: [
          { name: '-s', negated: true, values: ['10.0.0.0/8'] },
          { name: '-p', negated: false, values: ['tcp'] },
        ],
      },
      { name: 'comment', options: [{ name: '--comment', negated: false, values: ['a -j b'] }] },
      { name: 'tcp', options: [{ name: '--dport', negated: false, values: ['80'] }] },
    ],
    target: {
      kind: 'jump',
      name: 'DNAT',
      options: [{ name: '--to-destination', negated: false, values: ['10.0.0.1:80'] }],
    },
  });
});
