/**
 * Random clusters and packets: what the plans say happens to a packet is what virtual servers, sets and rules do,
 * but for what IPVS cannot; and a kernel changed step by step is the kernel that would have been programmed
 * at once, by tools that take no step out of order.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createIpvsBackend } from '../../backends/ipvs/backend.ts';
import type { IpvsSettings } from '../../backends/ipvs/settings.ts';
import type { IpFamily, ObjectKey } from '../../src/cluster/values.ts';
import { type IpvsOutcome, walkIpvs } from '../../src/explain/ipvs/walk.ts';
import type { NodePlan, ServicePlan } from '../../src/plan/plan.ts';
import { type Packet, PlanIndex, senderClass, type Verdict, verdict } from '../../src/plan/verdict.ts';
import type { Backend } from '../../src/reconcile/backend.ts';
import { clusters, nodes, planCluster, type RandomNode, situations } from '../support/arbitrary.ts';
import { FakeIpvs } from '../support/uml/fake-ipvs.ts';

type Plans = ReadonlyMap<ObjectKey, readonly ServicePlan[]>;

const NO_TOOLS = {
  run: () => Promise.reject(new Error('nothing is to be run')),
};

class Bench {
  readonly kernel = new FakeIpvs();
  readonly #backend: Backend;

  constructor(family: IpFamily, ipvs: IpvsSettings = {}) {
    this.#backend = createIpvsBackend({ family, runner: NO_TOOLS, ipvs: { kernel: '6.1.0', ...ipvs } });
  }

  sync(node: NodePlan, services: Plans, full: boolean): void {
    const diff = this.#backend.diff({ node, services, full });
    for (const step of diff.steps) this.kernel.apply(step);
    diff.commit();
  }
}

/** The node's addresses are those that IPVS has virtual servers for node ports on. */
function withAddresses({ node, facts }: RandomNode): NodePlan {
  const localAddresses = [...facts.localAddresses].filter(
    (address) => address !== '::1' && !address.startsWith('127.'),
  );
  return { ...node, localAddresses };
}

interface Ending {
  readonly action: string;
  readonly to?: string;
  readonly masquerade?: boolean;
}

function endingsOf(outcomes: readonly IpvsOutcome[]): Ending[] {
  return sorted(
    outcomes.map(({ action, to, masquerade }) =>
      to === undefined ? { action } : { action, to: `${to.address} ${to.port}`, masquerade },
    ),
  );
}

/** What the plans say, as far as IPVS can do it (docs/ipvs.md). */
function expectedOf(
  expected: Verdict,
  packet: Packet,
  node: NodePlan,
  here: RandomNode,
  plans: Plans,
): Ending[] {
  switch (expected.action) {
    case 'balance': {
      const { plan, frontEnd } = expected;
      const { other } = frontEnd.routes;
      // One list of endpoints for all senders: that of those outside, where they have one.
      const pool = other.action === 'balance' ? plan.pools[other.pool] : undefined;
      const route = frontEnd.routes[senderClass(packet, node, here.facts)];
      // A pod that is the node at the same time counts as the node on the way to external front ends.
      const node2 = here.facts.localAddresses.has(packet.source) && frontEnd.kind !== 'clusterIP';
      const masquerade = (route.action === 'balance' && route.masquerade) || node2;
      return sorted(
        (pool ?? expected.targets.map(({ endpoint }) => endpoint)).map((endpoint) => ({
          action: 'accept',
          to: `${endpoint.address} ${endpoint.port}`,
          masquerade: masquerade || (endpoint.maybeHere && endpoint.address === packet.source),
        })),
      );
    }
    case 'reject':
      return [{ action: 'reject' }];
    case 'drop':
      // Networks are not known to IPVS mode, only addresses.
      return [{ action: expected.reason === 'unallocated' ? 'accept' : 'drop' }];
    case 'pass':
      // Every address of a Service is the node's own in this mode, with nothing behind its other ports.
      return [{ action: isServiceAddress(packet.destination, plans) ? 'reject' : 'accept' }];
  }
}

function isServiceAddress(address: string, plans: Plans): boolean {
  return [...plans.values()].flat().some(({ frontEnds }) => frontEnds.some((one) => one.address === address));
}

function sorted<T>(list: readonly T[]): T[] {
  return [...list].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

describe('virtual servers, sets and rules', () => {
  it('do with a packet what the plans say', () => {
    fc.assert(
      fc.property(situations(), ({ family, cluster, here, packets }) => {
        const node = withAddresses(here);
        const plans = planCluster(cluster, here);
        const bench = new Bench(family);
        bench.sync(node, plans, true);
        const kernel = bench.kernel.kernel();
        const index = new PlanIndex([...plans.values()].flat());
        for (const packet of packets) {
          const outcomes = walkIpvs(kernel, packet, here.facts);
          const expected = verdict(index, node, here.facts, packet);
          expect({ packet, endings: endingsOf(outcomes) }).toEqual({
            packet,
            endings: expectedOf(expected, packet, node, here, plans),
          });
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('are the same whether they were changed step by step or programmed at once', () => {
    const journeys = fc.constantFrom<IpFamily>('IPv4', 'IPv6').chain((family) =>
      fc.record({
        family: fc.constant(family),
        here: nodes(family),
        parity: fc.boolean(),
        steps: fc.array(clusters(family), { minLength: 2, maxLength: 5 }),
      }),
    );
    fc.assert(
      fc.property(journeys, ({ family, here, parity, steps }) => {
        const node = withAddresses(here);
        const bench = new Bench(family, { parity });
        let before: Plans = new Map();
        for (const [number, cluster] of steps.entries()) {
          const plans = planCluster(cluster, here);
          const gone = [...before.keys()].filter((key) => !plans.has(key)).map((key) => [key, []] as const);
          bench.sync(node, new Map([...plans, ...gone]), number === 0);
          before = plans;
        }
        const fresh = new Bench(family, { parity });
        fresh.sync(node, before, true);
        expect(bench.kernel.contents()).toEqual(fresh.kernel.contents());
      }),
      { numRuns: 500 },
    );
  });
});
