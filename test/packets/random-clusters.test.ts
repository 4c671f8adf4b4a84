/**
 * A sample of random clusters in the kernel: real packets from a pod, the node and outside, to every front end,
 * fare as the plans say.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createNftablesBackend } from '../../backends/nftables/backend.ts';
import type { IpFamily, Protocol } from '../../src/cluster/values.ts';
import type { NodePlan } from '../../src/plan/plan.ts';
import { type Packet, PlanIndex, type Verdict, verdict } from '../../src/plan/verdict.ts';
import {
  clusters,
  type FamilyPool,
  planCluster,
  type RandomCluster,
  type RandomNode,
} from '../support/arbitrary.ts';
import { createNetwork, type Network } from '../support/network/network.ts';
import { nftablesSupported } from '../support/network/supported.ts';
import { ADDRESS, BACKEND_ADDRESSES, NODE1_ADDRESSES } from '../support/network/topology.ts';
import type { Outcome } from '../support/probe/protocol.ts';

const supported = nftablesSupported();
/** Random, and the same every time: a failure here can be looked at again. */
const SEED = 36;
const CLUSTERS = 8;
const TRIES = 24;
const SENDERS = ['client1', 'node1', 'ext'] as const;
type Sender = (typeof SENDERS)[number];

/** Addresses of the test network. */
const POOLS: Record<IpFamily, FamilyPool> = {
  IPv4: {
    clusterIPs: ['10.96.0.1', '10.96.0.2', '10.96.0.3'],
    externalIPs: ['203.0.113.1', '203.0.113.2'],
    localEndpoints: ['10.244.1.2', '10.244.1.3', '10.244.1.4'],
    remoteEndpoints: ['10.244.2.2', '10.244.2.3', '10.244.2.4'],
    nodeAddresses: [ADDRESS.node1.ipv4],
    loopback: '127.0.0.1',
    podCIDR: '10.244.1.0/24',
    clusterCIDR: '10.244.0.0/16',
    serviceCIDR: '10.96.0.0/16',
    unallocated: '10.96.200.200',
    outside: [ADDRESS.ext.ipv4],
    ranges: ['172.30.0.50/32', '172.30.0.0/24', '10.244.1.100/32', '198.51.100.0/24'],
  },
  IPv6: {
    clusterIPs: ['fd00:10:96::1', 'fd00:10:96::2', 'fd00:10:96::3'],
    externalIPs: ['2001:db8:113::1', '2001:db8:113::2'],
    localEndpoints: ['fd00:244:1::2', 'fd00:244:1::3', 'fd00:244:1::4'],
    remoteEndpoints: ['fd00:244:2::2', 'fd00:244:2::3', 'fd00:244:2::4'],
    nodeAddresses: [ADDRESS.node1.ipv6],
    loopback: '::1',
    podCIDR: 'fd00:244:1::/64',
    clusterCIDR: 'fd00:244::/32',
    serviceCIDR: 'fd00:10:96::/112',
    unallocated: 'fd00:10:96::ff',
    outside: [ADDRESS.ext.ipv6],
    ranges: ['fd00:30::50/128', 'fd00:30::/64', 'fd00:244:1::100/128', '2001:db8:51::/48'],
  },
};

describe.skipIf(!supported.ok)(
  supported.ok
    ? 'random clusters in the kernel'
    : `random clusters in the kernel (skipped: ${supported.reason})`,
  () => {
    let net: Network;
    beforeAll(async () => {
      net = await createNetwork();
      // Random slices send UDP wherever TCP goes.
      for (const pods of ['pods1', 'pods2'] as const) {
        await net.agent(pods).listen({ addresses: BACKEND_ADDRESSES[pods], udp: [8080, 8081] });
      }
    });
    afterAll(() => net.close());

    for (const family of ['IPv4', 'IPv6'] as const) {
      const samples = fc.sample(clusters(family, POOLS[family]), { numRuns: CLUSTERS, seed: SEED });
      it.each(samples.map((cluster, number) => ({ cluster, number })))(
        `${family}, cluster $number`,
        async ({ cluster }) => expect(await mismatches(net, family, cluster)).toEqual([]),
      );
    }
  },
);

async function mismatches(net: Network, family: IpFamily, cluster: RandomCluster): Promise<string[]> {
  const pool = POOLS[family];
  const here = nodeOf(family, pool);
  const plans = planCluster(cluster, here);
  const backend = createNftablesBackend({ family, runner: net.runner('node1') });
  await backend.cleanup();
  for (const step of backend.diff({ node: here.node, services: plans, full: true }).steps) {
    await backend.apply(step);
  }
  const index = new PlanIndex([...plans.values()].flat());
  const found = await Promise.all(
    SENDERS.map(async (sender) => {
      const wrong: string[] = [];
      for (const packet of packetsFrom(sender, family, plans)) {
        const expected = verdict(index, here.node, here.facts, packet);
        const problem = await probe(net, sender, packet, expected);
        if (problem)
          wrong.push(`${sender} to ${packet.protocol} ${packet.destination} ${packet.port}: ${problem}`);
      }
      return wrong;
    }),
  );
  await backend.cleanup();
  return found.flat();
}

function nodeOf(family: IpFamily, pool: FamilyPool): RandomNode {
  const detector = { kind: 'cidr', cidr: pool.clusterCIDR } as const;
  const node: NodePlan = {
    family,
    detector,
    masqueradeAll: false,
    masqueradeBit: 14,
    nodePortAddresses: pool.nodeAddresses,
    serviceCIDRs: [pool.serviceCIDR],
  };
  return {
    node,
    context: {
      family,
      nodeName: 'node1',
      zone: 'z1',
      detector,
      masqueradeAll: false,
      nodeAddresses: pool.nodeAddresses,
      podCIDRs: [pool.podCIDR],
    },
    facts: { localAddresses: new Set([...NODE1_ADDRESSES, pool.loopback]) },
  };
}

function packetsFrom(sender: Sender, family: IpFamily, plans: ReturnType<typeof planCluster>): Packet[] {
  const source = ADDRESS[sender][family === 'IPv4' ? 'ipv4' : 'ipv6'];
  return [...plans.values()].flat().flatMap(({ protocol, frontEnds }) =>
    // Nothing here can dial SCTP.
    protocol === 'SCTP'
      ? []
      : frontEnds.map(({ address, port }) => ({
          source,
          destination: address || (POOLS[family].nodeAddresses[0] ?? ''),
          protocol,
          port,
          inInterface: sender === 'node1' ? '' : 'any',
        })),
  );
}

/** What is wrong, or undefined. A back end may hide from 24 tries; it gets three rounds to show itself. */
async function probe(
  net: Network,
  sender: Sender,
  packet: Packet,
  expected: Verdict,
): Promise<string | undefined> {
  const outcomes: Outcome[] = [];
  let problem: string | undefined;
  for (let round = 0; round < 3; round++) {
    outcomes.push(
      ...(await net.agent(sender).tries({
        address: packet.destination,
        port: packet.port,
        protocol: packet.protocol.toLowerCase() as Lowercase<Exclude<Protocol, 'SCTP'>>,
        count: TRIES,
      })),
    );
    problem = compare(outcomes, expected, sender, packet);
    if (problem === undefined) return undefined;
  }
  return problem;
}

function compare(
  outcomes: readonly Outcome[],
  expected: Verdict,
  sender: Sender,
  { protocol, destination }: Packet,
): string | undefined {
  const seen = new Set(outcomes.map((outcome) => describeOutcome(outcome, sender)));
  const wanted = new Set(describeVerdict(expected, sender));
  const stopped = expected.action === 'reject' || expected.action === 'drop';
  if (stopped && sender === 'node1' && protocol === 'UDP' && !NODE1_ADDRESSES.includes(destination)) {
    // A local sender whose datagram a rule stops on the way out is told so at once, without any ICMP.
    for (const refusal of ['refused', 'timeout']) if (wanted.delete(refusal)) wanted.add('EPERM');
  }
  const sticky = expected.action === 'balance' && expected.plan.affinitySeconds > 0;
  const same = sticky
    ? seen.size === 1 && [...seen].every((one) => wanted.has(one))
    : seen.size === wanted.size && [...seen].every((one) => wanted.has(one));
  return same
    ? undefined
    : `${[...seen].join(', ')} instead of ${sticky ? 'one of ' : ''}${[...wanted].join(', ')}`;
}

function describeOutcome(outcome: Outcome, sender: Sender): string {
  if (!outcome.ok) return outcome.failure;
  const masqueraded = sender === 'node1' || NODE1_ADDRESSES.includes(outcome.client);
  return `${outcome.backend} sees ${masqueraded ? 'the node' : 'the sender'}`;
}

function describeVerdict(expected: Verdict, sender: Sender): string[] {
  switch (expected.action) {
    case 'reject':
      return ['refused'];
    case 'drop':
      return ['timeout'];
    case 'pass':
      // A node port that nobody serves: nothing listens there.
      return ['refused'];
    case 'balance':
      return expected.targets.map(({ endpoint: { address, port }, masquerade }) => {
        const backend = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
        return `${backend} sees ${masquerade || sender === 'node1' ? 'the node' : 'the sender'}`;
      });
  }
}
