/** Random clusters and flows: what the plans would do now is never stale, and deletions take what is stale alone. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { POOLS, situations, slicesOf } from '../../test/support/arbitrary.ts';
import { valueKey } from '../cluster/values.ts';
import type { ServicePlan } from '../plan/plan.ts';
import { Planner } from '../plan/planner.ts';
import { PlanIndex, verdict } from '../plan/verdict.ts';
import { socketKey, type UdpFlow } from './flow.ts';
import { type UdpFrontEnds, udpFrontEnds, udpSockets } from './front-ends.ts';
import { isStale, StaleFlows } from './stale.ts';

type Situation = typeof situations extends () => fc.Arbitrary<infer S> ? S : never;

function settledPlans({ cluster, here }: Situation): ServicePlan[] {
  const services = new Map(cluster.services.map((service) => [valueKey(service), service]));
  const slices = (key: string) => {
    const service = services.get(key);
    return service ? slicesOf(cluster, service) : [];
  };
  const planner = new Planner({ service: (key) => services.get(key), slicesOf: slices }, here.context);
  planner.update(services.keys());
  return [...planner.all().values()].flat();
}

function frontEndsOf(
  situation: Situation,
  plans: readonly ServicePlan[],
  before: readonly ServicePlan[] = [],
) {
  const { node, facts } = situation.here;
  return udpFrontEnds({
    now: { node, plans },
    former: udpSockets({ node, plans: before }, [...facts.localAddresses]),
    nodeAddresses: [...facts.localAddresses],
    slicesOf: (key) =>
      situation.cluster.slices.filter((one) => `${one.namespace}/${one.serviceName}` === key),
  });
}

/** Flows between what the situation's packets address and what may have answered: endpoints, strangers, nobody. */
function flowsOf({ family, packets }: Situation): UdpFlow[] {
  const { localEndpoints, remoteEndpoints, outside } = POOLS[family];
  const answerers = [...localEndpoints, ...remoteEndpoints, ...outside].flatMap((address) =>
    [8080, 8081, 53].map((port) => socketKey(address, port)),
  );
  return packets.flatMap(({ destination, port }) => {
    const to = socketKey(destination, port);
    return [to, ...answerers].map((answeredBy) => ({ destination: to, answeredBy }));
  });
}

/** Whether a slice of the Service says of this port's endpoint that it may be used, or goes on answering. */
function isGood({ cluster }: Situation, plan: ServicePlan, answeredBy: string): boolean {
  return cluster.slices
    .filter((slice) => `${slice.namespace}/${slice.serviceName}` === plan.service)
    .some(({ ports, endpoints }) =>
      ports.some(
        ({ name, protocol, port }) =>
          name === plan.portName &&
          protocol === 'UDP' &&
          endpoints.some(
            ({ address, ready, serving }) => socketKey(address, port) === answeredBy && (ready || serving),
          ),
      ),
    );
}

describe('for random clusters, nodes and packets', () => {
  it('a flow that the plans would make now is never stale', () => {
    let made = 0;
    fc.assert(
      fc.property(situations(), (situation) => {
        const plans = settledPlans(situation);
        const ends = frontEndsOf(situation, plans);
        const index = new PlanIndex(plans);
        const { node, facts } = situation.here;
        for (const packet of situation.packets) {
          const destination = socketKey(packet.destination, packet.port);
          const outcome = verdict(index, node, facts, { ...packet, protocol: 'UDP' });
          if (outcome.action !== 'balance') continue;
          for (const { endpoint } of outcome.targets) {
            made += 1;
            const answeredBy = socketKey(endpoint.address, endpoint.port);
            expect(isStale({ destination, answeredBy }, ends)).toBe(false);
          }
        }
      }),
    );
    expect(made).toBeGreaterThan(0);
  });

  it('a flow is stale where a Service answers and no slice of it speaks for the endpoint, and only there', () => {
    const seen = { stale: 0, good: 0, foreign: 0 };
    fc.assert(
      fc.property(situations(), (situation) => {
        const plans = settledPlans(situation);
        const ends = frontEndsOf(situation, plans);
        const index = new PlanIndex(plans);
        const { node, facts } = situation.here;
        const own = node.nodePortAddresses === 'any' ? [...facts.localAddresses] : node.nodePortAddresses;
        for (const packet of situation.packets) {
          const { destination, port } = packet;
          const hit =
            index.find('UDP', destination, port) ??
            (own.includes(destination) ? index.find('UDP', '', port) : undefined);
          for (const flow of flowsOf({ ...situation, packets: [packet] })) {
            const good = hit !== undefined && isGood(situation, hit.plan, flow.answeredBy);
            expect(isStale(flow, ends)).toBe(hit !== undefined && !good);
            seen[hit === undefined ? 'foreign' : good ? 'good' : 'stale'] += 1;
          }
        }
      }),
    );
    expect(Math.min(seen.stale, seen.good, seen.foreign)).toBeGreaterThan(0);
  });

  it('the deletions take every stale flow of a listing and no other', () => {
    fc.assert(
      fc.property(situations(), fc.nat(), (situation, cut) => {
        const plans = settledPlans(situation);
        // Some of the plans are no longer in force.
        const left = plans.slice(cut % (plans.length + 1));
        const ends: UdpFrontEnds = frontEndsOf(situation, left, plans);
        const flows = flowsOf(situation);
        const gathered = new StaleFlows(ends);
        for (const flow of flows) gathered.add(flow);
        const selections = gathered.selections();
        for (const flow of flows) {
          const taken = selections.some(
            ({ destination, answeredBy }) =>
              destination === flow.destination && (answeredBy ?? flow.answeredBy) === flow.answeredBy,
          );
          expect(taken).toBe(isStale(flow, ends));
        }
      }),
    );
  });
});
