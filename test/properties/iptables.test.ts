/**
 * Random clusters and packets: what the plans say happens to a packet is what the iptables rules do, and rules that
 * were changed step by step are those that would have been written at once.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limitsOf } from '../../backends/iptables/dispatch/layout.ts';
import type { Limits } from '../../backends/iptables/dispatch/tree.ts';
import { DEFAULT_FEATURES, type Features } from '../../backends/iptables/features.ts';
import { IptablesModel } from '../../backends/iptables/model.ts';
import { collectScript, script } from '../../backends/iptables/script.ts';
import type { IpFamily, ObjectKey } from '../../src/cluster/values.ts';
import { parseRuleset } from '../../src/explain/iptables/ruleset.ts';
import { walk } from '../../src/explain/iptables/walk.ts';
import { distinctOutcomes, type Outcome } from '../../src/explain/nft/walk.ts';
import type { NodePlan, ServicePlan } from '../../src/plan/plan.ts';
import { type Packet, PlanIndex, type Verdict, verdict } from '../../src/plan/verdict.ts';
import { clusters, nodes, planCluster, situations } from '../support/arbitrary.ts';
import { FakeTables } from '../support/fake-tables.ts';

type Plans = ReadonlyMap<ObjectKey, readonly ServicePlan[]>;

/** Every form a dispatch chain can have, the most parted one included. */
const LIMITS: fc.Arbitrary<Limits> = fc.constantFrom(
  limitsOf('auto'),
  limitsOf('flat'),
  { root: 1, part: 1 },
  { root: 2, part: 2 },
);

const FEATURES: fc.Arbitrary<Features> = fc.record({
  randomFully: fc.boolean(),
  dropInvalid: fc.boolean(),
  counters: fc.boolean(),
  localhostNodePorts: fc.boolean(),
});

/** A back end on tables in memory. */
class Bench {
  readonly tables = new FakeTables();
  readonly #model: IptablesModel;
  readonly #features: Features;
  readonly #chainsPerInput: number;

  constructor(family: IpFamily, limits: Limits, features: Features = DEFAULT_FEATURES, chainsPerInput = 3) {
    this.#model = new IptablesModel(family, limits);
    this.#features = features;
    this.#chainsPerInput = chainsPerInput;
  }

  sync(node: NodePlan, services: Plans, full: boolean): void {
    const change = this.#model.change({ node, services, full }, this.#features);
    for (const input of script(change.delta, this.#chainsPerInput)) this.tables.restore(input);
    change.commit();
  }

  collect(): void {
    const stale = [...this.#model.stale];
    for (const input of collectScript(stale, this.#chainsPerInput)) this.tables.restore(input);
    this.#model.collected(stale);
  }
}

describe('iptables rules', { timeout: 120_000 }, () => {
  it('do with a packet what the plans say', () => {
    fc.assert(
      fc.property(situations(), LIMITS, FEATURES, ({ family, cluster, here, packets }, limits, features) => {
        const plans = planCluster(cluster, here);
        const bench = new Bench(family, limits, features);
        bench.sync(here.node, plans, true);
        const ruleset = parseRuleset(bench.tables.save());
        const index = new PlanIndex([...plans.values()].flat());
        for (const packet of packets) {
          const expected = verdict(index, here.node, here.facts, packet);
          expectOutcomes(distinctOutcomes(walk(ruleset, packet, here.facts)), expected, packet);
        }
      }),
      { numRuns: 400 },
    );
  });

  it('are the same whether they were changed step by step or written at once', () => {
    const journeys = fc.constantFrom<IpFamily>('IPv4', 'IPv6').chain((family) =>
      fc.record({
        family: fc.constant(family),
        here: nodes(family),
        steps: fc.array(clusters(family), { minLength: 2, maxLength: 5 }),
      }),
    );
    fc.assert(
      fc.property(journeys, LIMITS, ({ family, here, steps }, limits) => {
        const bench = new Bench(family, limits);
        let before: Plans = new Map();
        for (const [number, cluster] of steps.entries()) {
          const plans = planCluster(cluster, here);
          const gone = [...before.keys()].filter((key) => !plans.has(key)).map((key) => [key, []] as const);
          bench.sync(here.node, new Map([...plans, ...gone]), number === 0);
          if (number % 2 === 1) bench.collect();
          before = plans;
        }
        bench.collect();
        const fresh = new Bench(family, limits);
        fresh.sync(here.node, before, true);
        expect(bench.tables.save()).toBe(fresh.tables.save());
      }),
      { numRuns: 250 },
    );
  });
});

function expectOutcomes(outcomes: readonly Outcome[], expected: Verdict, packet: Packet): void {
  switch (expected.action) {
    case 'balance': {
      const shares = outcomes.map(({ action, dnat, masquerade, probability }) => ({
        action,
        to: dnat && `${dnat.address} ${dnat.port}`,
        masquerade,
        probability: probability.toFixed(6),
      }));
      const wanted = expected.targets.map(({ endpoint, masquerade }) => ({
        action: 'accept',
        to: `${endpoint.address} ${endpoint.port}`,
        // kube-proxy's rules masquerade whatever comes back to its sender, wherever that is.
        masquerade: masquerade || endpoint.address === packet.source,
        probability: (1 / expected.targets.length).toFixed(6),
      }));
      expect(sorted(shares)).toEqual(sorted(wanted));
      return;
    }
    case 'reject':
    case 'drop':
      // As kube-proxy's iptables mode has it, closed ports of cluster IPs and unused ones are left to routing.
      expectOnly(outcomes, LEFT_TO_ROUTING.has(expected.reason) ? 'accept' : expected.action);
      return;
    case 'pass':
      expectOnly(outcomes, 'accept');
  }
}

const LEFT_TO_ROUTING: ReadonlySet<string> = new Set(['undefined-port', 'unallocated']);

function expectOnly(outcomes: readonly Outcome[], action: Outcome['action']): void {
  expect(outcomes.map((outcome) => [outcome.action, outcome.dnat, outcome.masquerade])).toEqual([
    [action, undefined, false],
  ]);
}

function sorted<T>(list: readonly T[]): T[] {
  return [...list].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
