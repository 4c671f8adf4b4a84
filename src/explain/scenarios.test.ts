/**
 * What kube-proxy had in the kernel, walked, against what real packets did with it: the walkers' reading of rules
 * against the kernel's.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseListing } from '../../backends/nftables/syntax/listing.ts';
import type { WalkEnvironment, WalkedPacket } from './flow.ts';
import { parseRuleset } from './iptables/ruleset.ts';
import { walk as walkIptables } from './iptables/walk.ts';
import { type Outcome, walk as walkNft } from './nft/walk.ts';

interface Scenario {
  readonly name: string;
  readonly expect: Readonly<Record<'iptables' | 'nftables', Readonly<Record<string, Expected>>>>;
  readonly kubeProxyDump: { readonly nftables: { readonly ip: string; readonly ip6: string } };
}

interface Expected {
  readonly backends: readonly string[] | { readonly oneOf: true; readonly count: number };
  readonly clientSeen: readonly ('client' | 'node')[];
  readonly failures: readonly string[];
}

const FIXTURES = new URL('../../test/fixtures/', import.meta.url);

const NODE: WalkEnvironment = {
  localAddresses: new Set(['172.30.0.11', '10.244.1.1', 'fd00:30::11', 'fd00:244:1::1']),
};

const SCENARIOS = readdirSync(new URL('scenarios/', FIXTURES))
  .filter((file) => file.endsWith('.json'))
  .map((file) => JSON.parse(readFileSync(new URL(`scenarios/${file}`, FIXTURES), 'utf8')) as Scenario);

describe.each([
  {
    mode: 'nftables',
    walk: ({ kubeProxyDump: { nftables } }: Scenario, packet: WalkedPacket): Outcome[] =>
      walkNft(parseListing(isIPv6(packet) ? nftables.ip6 : nftables.ip), packet, NODE),
  },
  {
    mode: 'iptables',
    walk: ({ name }: Scenario, packet: WalkedPacket): Outcome[] => {
      const file = `iptables/${name}.${isIPv6(packet) ? 'ipv6' : 'ipv4'}.txt`;
      return walkIptables(parseRuleset(readFileSync(new URL(file, FIXTURES), 'utf8')), packet, NODE);
    },
  },
] as const)('walk over what kube-proxy recorded, $mode', ({ mode, walk }) => {
  const cases = SCENARIOS.flatMap((scenario) =>
    Object.entries(scenario.expect[mode]).map(([attempt, expected]) => ({
      name: scenario.name,
      attempt,
      expected,
      scenario,
    })),
  );

  test.for(cases)('$name: $attempt', ({ attempt, expected, scenario }) => {
    const packet = packetOf(attempt);
    const outcomes = walk(scenario, packet);
    expect(outcomes.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1, 9);
    const backends = new Set(outcomes.flatMap(({ dnat }) => (dnat ? [socket(dnat.address, dnat.port)] : [])));
    if ('oneOf' in expected.backends) {
      // Without the memory of who came before, any backend is possible, but no other end.
      expect(backends.size).toBeGreaterThanOrEqual(expected.backends.count);
    } else {
      expect(backends).toEqual(new Set(expected.backends));
    }
    expect(new Set(outcomes.flatMap((outcome) => clientSeen(packet, outcome)))).toEqual(
      new Set(expected.clientSeen),
    );
    expect(new Set(outcomes.flatMap((outcome) => failure(packet, outcome)))).toEqual(
      new Set(expected.failures),
    );
  });
});

function isIPv6({ destination }: WalkedPacket): boolean {
  return destination.includes(':');
}

/** `client1->10.96.40.2:80/tcp`, `pods1(10.244.1.2)->…` */
function packetOf(attempt: string): WalkedPacket {
  const [, who = '', pod, destination = '', port = '', protocol = ''] = ATTEMPT.exec(attempt) ?? [];
  const v6 = destination.includes(':');
  const senders: Readonly<Record<string, readonly [source: string, inInterface: string]>> = {
    client1: [v6 ? 'fd00:244:1::100' : '10.244.1.100', 'veth1'],
    ext: [v6 ? 'fd00:30::50' : '172.30.0.50', 'eth0'],
    node1: [destination === '127.0.0.1' ? '127.0.0.1' : v6 ? 'fd00:30::11' : '172.30.0.11', ''],
    pods1: [pod ?? '', 'veth0'],
  };
  const [source, inInterface] = senders[who] ?? ['', ''];
  return {
    source,
    inInterface,
    destination,
    port: Number(port),
    protocol: protocol === 'udp' ? 'UDP' : 'TCP',
  };
}

const ATTEMPT = /^(\w+)(?:\((.+)\))?->(.+):(\d+)\/(\w+)$/;

function socket(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

function clientSeen({ inInterface }: WalkedPacket, { dnat, masquerade }: Outcome): string[] {
  if (dnat === undefined) return [];
  return [masquerade || inInterface === '' ? 'node' : 'client'];
}

/** Nobody listens on the node itself, and nothing answers for an address that is nobody's. */
function failure({ destination }: WalkedPacket, { action, dnat }: Outcome): string[] {
  if (action === 'drop') return ['timeout'];
  if (action === 'reject') return ['refused'];
  if (dnat !== undefined) return [];
  return [NODE.localAddresses.has(destination) || destination.startsWith('127.') ? 'refused' : 'timeout'];
}
