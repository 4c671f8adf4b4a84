import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseListing } from '../../../backends/nftables/syntax/listing.ts';
import type { WalkEnvironment, WalkedPacket } from '../flow.ts';
import { type Outcome, walk } from './walk.ts';

/**
 * What kube-proxy had in the kernel, walked, against what real packets did with it: the walker's reading of nft
 * against the kernel's.
 */
interface Scenario {
  readonly name: string;
  readonly expect: { readonly nftables: Readonly<Record<string, Expected>> };
  readonly kubeProxyDump: { readonly nftables: { readonly ip: string; readonly ip6: string } };
}

interface Expected {
  readonly backends: readonly string[] | { readonly oneOf: true; readonly count: number };
  readonly clientSeen: readonly ('client' | 'node')[];
  readonly failures: readonly string[];
}

const FOLDER = new URL('../../../test/fixtures/scenarios/', import.meta.url);

const NODE: WalkEnvironment = {
  localAddresses: new Set(['127.0.0.1', '172.30.0.11', '10.244.1.1', '::1', 'fd00:30::11', 'fd00:244:1::1']),
};

const CASES = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.json'))
  .map((file) => JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Scenario)
  .flatMap(({ name, expect: { nftables }, kubeProxyDump }) =>
    Object.entries(nftables).map(([attempt, expected]) => ({
      name,
      attempt,
      expected,
      dump: kubeProxyDump.nftables,
    })),
  );

describe('walk over what kube-proxy recorded', () => {
  test.for(CASES)('$name: $attempt', ({ attempt, expected, dump }) => {
    const packet = packetOf(attempt);
    const outcomes = walk(parseListing(packet.destination.includes(':') ? dump.ip6 : dump.ip), packet, NODE);
    expect(outcomes.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1, 12);
    const backends = [
      ...new Set(outcomes.flatMap(({ dnat }) => (dnat ? [socket(dnat.address, dnat.port)] : []))),
    ].sort();
    if ('oneOf' in expected.backends) {
      // Without the memory of who came before, any backend is possible, but no other end.
      expect(backends.length).toBeGreaterThanOrEqual(expected.backends.count);
    } else {
      expect(backends).toEqual([...expected.backends].sort());
    }
    expect([...new Set(outcomes.flatMap((outcome) => clientSeen(packet, outcome)))].sort()).toEqual(
      expected.clientSeen,
    );
    expect([...new Set(outcomes.flatMap((outcome) => failure(packet, outcome)))]).toEqual(expected.failures);
  });
});

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
  return [NODE.localAddresses.has(destination) ? 'refused' : 'timeout'];
}
