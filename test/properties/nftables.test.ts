/**
 * Random clusters and packets: what the plans say happens to a packet is what the nftables rules do; and a table
 * changed step by step is the table that would have been written at once.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { collectScript, script } from '../../backends/nftables/delta.ts';
import { NftModel } from '../../backends/nftables/model.ts';
import { Ruleset } from '../../backends/nftables/syntax/ruleset.ts';
import type { IpFamily, ObjectKey } from '../../src/cluster/values.ts';
import { distinctOutcomes, type Outcome, walk } from '../../src/explain/nft/walk.ts';
import type { NodePlan, ServicePlan } from '../../src/plan/plan.ts';
import { PlanIndex, type Verdict, verdict } from '../../src/plan/verdict.ts';
import { clusters, nodes, planCluster, situations } from '../support/arbitrary.ts';

type Plans = ReadonlyMap<ObjectKey, readonly ServicePlan[]>;

/** The back end's model on a table in memory. */
class Bench {
  readonly ruleset = new Ruleset();
  readonly #family: IpFamily;
  readonly #model: NftModel;

  constructor(family: IpFamily) {
    this.#family = family;
    this.#model = new NftModel(family);
  }

  sync(node: NodePlan, services: Plans, full: boolean): void {
    const { delta, commit } = this.#model.change({ node, services, full });
    this.ruleset.apply(script(this.#family, delta).join(''));
    commit();
  }

  collect(): void {
    const stale = [...this.#model.stale];
    this.ruleset.apply(collectScript(this.#family, stale).join(''));
    this.#model.collected(stale);
  }

  /** What there is, without the order in which it came. */
  contents(): object {
    return Object.fromEntries(
      [...this.ruleset.tables].map(([key, { chains, sets }]) => [
        key,
        {
          chains: byName(chains, ({ base, rules }) => ({ base, rules: rules.map(({ text }) => text) })),
          sets: byName(sets, ({ declaration, elements, notes }) => ({
            declaration,
            elements: byName(elements, (value, element) => [value, notes.get(element)]),
          })),
        },
      ]),
    );
  }
}

function byName<V>(map: ReadonlyMap<string, V>, show: (value: V, name: string) => unknown): object {
  return Object.fromEntries([...map].map(([name, value]) => [name, show(value, name)]));
}

/** As `verdict` has it, in one form for both. */
interface Ending {
  readonly action: string;
  readonly to?: string;
  readonly masquerade?: boolean;
  readonly share?: string;
}

function endingsOf(outcomes: readonly Outcome[]): Ending[] {
  return sorted(
    distinctOutcomes(outcomes.map((outcome) => ({ ...outcome, updates: [] }))).map(
      ({ action, dnat, masquerade, probability }) =>
        dnat === undefined
          ? { action }
          : { action, to: `${dnat.address} ${dnat.port}`, masquerade, share: probability.toFixed(6) },
    ),
  );
}

function expectedEndings(expected: Verdict): Ending[] {
  switch (expected.action) {
    case 'pass':
      return [{ action: 'accept' }];
    case 'reject':
    case 'drop':
      return [{ action: expected.action }];
    case 'balance':
      return sorted(
        expected.targets.map(({ endpoint, masquerade }) => ({
          action: 'accept',
          to: `${endpoint.address} ${endpoint.port}`,
          masquerade,
          share: (1 / expected.targets.length).toFixed(6),
        })),
      );
  }
}

function sorted(endings: readonly Ending[]): Ending[] {
  return [...endings].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

describe('nftables rules', { timeout: 120_000 }, () => {
  it('do with a packet what the plans say', () => {
    const seen = { pass: 0, reject: 0, drop: 0, balance: 0 };
    fc.assert(
      fc.property(situations(), ({ family, cluster, here, packets }) => {
        const plans = planCluster(cluster, here);
        const bench = new Bench(family);
        bench.sync(here.node, plans, true);
        const index = new PlanIndex([...plans.values()].flat());
        for (const packet of packets) {
          const expected = verdict(index, here.node, here.facts, packet);
          seen[expected.action] += 1;
          expect(endingsOf(walk(bench.ruleset, packet, here.facts))).toEqual(expectedEndings(expected));
        }
      }),
      { numRuns: 1000 },
    );
    // A property that never met a case says nothing about it.
    for (const [action, times] of Object.entries(seen)) expect(times, action).toBeGreaterThan(100);
  });

  it('are the same whether they were changed step by step or written at once', () => {
    const journeys = fc.constantFrom<IpFamily>('IPv4', 'IPv6').chain((family) =>
      fc.record({
        family: fc.constant(family),
        here: nodes(family),
        steps: fc.array(clusters(family), { minLength: 2, maxLength: 5 }),
        collecting: fc.boolean(),
      }),
    );
    fc.assert(
      fc.property(journeys, ({ family, here, steps, collecting }) => {
        const bench = new Bench(family);
        let before: Plans = new Map();
        for (const [number, cluster] of steps.entries()) {
          const plans = planCluster(cluster, here);
          const gone = [...before.keys()].filter((key) => !plans.has(key)).map((key) => [key, []] as const);
          bench.sync(here.node, new Map([...plans, ...gone]), number === 0);
          if (collecting) bench.collect();
          before = plans;
        }
        bench.collect();
        const fresh = new Bench(family);
        fresh.sync(here.node, before, true);
        expect(bench.contents()).toEqual(fresh.contents());
      }),
      { numRuns: 500 },
    );
  });

  it('are the same after the node changes as if it had always been so', () => {
    const changes = fc.constantFrom<IpFamily>('IPv4', 'IPv6').chain((family) =>
      fc.record({
        family: fc.constant(family),
        cluster: clusters(family),
        before: nodes(family),
        after: nodes(family),
      }),
    );
    fc.assert(
      fc.property(changes, ({ family, cluster, before, after }) => {
        const bench = new Bench(family);
        bench.sync(before.node, planCluster(cluster, before), true);
        bench.sync(after.node, planCluster(cluster, after), true);
        bench.collect();
        const fresh = new Bench(family);
        fresh.sync(after.node, planCluster(cluster, after), true);
        expect(bench.contents()).toEqual(fresh.contents());
      }),
      { numRuns: 300 },
    );
  });
});
