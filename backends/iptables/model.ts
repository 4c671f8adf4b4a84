/**
 * What this program has put into the tables, and the difference a change makes. Nothing per Service is kept but
 * its plans, and its rules in the shared chains: its own chains are rendered again when they are compared.
 */
import type { IpFamily, ObjectKey } from '../../src/cluster/values.ts';
import { compareText } from '../../src/net/ip.ts';
import type { NodePlan, ServicePlan } from '../../src/plan/plan.ts';
import type { Change } from '../../src/reconcile/backend.ts';
import { compareChains, type Delta } from './delta.ts';
import { Layout } from './dispatch/layout.ts';
import type { Limits } from './dispatch/tree.ts';
import type { Features } from './features.ts';
import { type ChainId, DISPATCH_CHAINS, type DispatchChain, FIREWALL, type Table, tableOf } from './names.ts';
import { type DispatchRule, RuleObjects } from './objects.ts';
import { renderPlan } from './render.ts';
import type { SavedRules } from './save.ts';
import { type EnsuredRule, ensuredRules, fixedChains, IPVS_WAYS, tailOf } from './skeleton.ts';

type Plans = ReadonlyMap<ObjectKey, readonly ServicePlan[]>;

/** What was read from the kernel. */
export interface ObservedRules {
  /** Our chains. */
  readonly own: SavedRules;
  /** All others. */
  readonly foreign: SavedRules;
}

export interface ModelChange {
  readonly delta: Delta;
  commit(): void;
}

interface State {
  readonly node: NodePlan;
  readonly features: Features;
  readonly plans: Map<ObjectKey, readonly ServicePlan[]>;
  readonly layouts: Map<DispatchChain, Layout>;
}

export class IptablesModel {
  readonly family: IpFamily;
  readonly #limits: Limits;
  #state: State | undefined;
  /** Chains that nothing jumps to any more and that wait to be deleted. */
  #stale = new Set<ChainId>();
  #ruleCounts: RuleCounts = new Map();

  /** @param limits above which the shared chains are split */
  constructor(family: IpFamily, limits: Limits) {
    this.family = family;
    this.#limits = limits;
  }

  get stale(): ReadonlySet<ChainId> {
    return this.#stale;
  }

  /** How many rules of ours are in each table, those in chains of others included. */
  get ruleCounts(): RuleCounts {
    return this.#ruleCounts;
  }

  get plans(): Plans {
    return this.#state?.plans ?? new Map();
  }

  /** The chains were deleted. */
  collected(chains: Iterable<ChainId>): void {
    for (const chain of chains) this.#stale.delete(chain);
  }

  /**
   * What brings the tables to `change`.
   * @param observed what they hold, when it was read anew; only for full changes
   */
  change(change: Change, features: Features, observed?: ObservedRules): ModelChange {
    if (change.full || this.#state === undefined) return this.#full(change, features, observed);
    return this.#incremental(change.services, this.#state);
  }

  /** Every chain this program has written, and every rule it has put into other chains. */
  contents(): { chains: Map<ChainId, readonly string[]>; ensured: readonly EnsuredRule[] } {
    if (this.#state === undefined) return { chains: new Map(), ensured: [] };
    return { chains: allChains(this.#state), ensured: ensuredRules(this.#state.node, this.#state.features) };
  }

  /** Rules that have to be in the kernel: those that everything hangs on, and those of some Services. */
  expected(services: Iterable<readonly ServicePlan[]>): { chain: ChainId; rule: string }[] {
    const state = this.#state;
    if (state === undefined) return [];
    const out = [...ensuredRules(state.node, state.features)];
    const add = (chain: ChainId, rules: readonly string[]): void => {
      for (const rule of rules) out.push({ chain, rule });
    };
    for (const [chain, rules] of fixedChains(state.node, state.features)) add(chain, rules);
    for (const chain of DISPATCH_CHAINS) add(chain, tailOf(chain, state.node, state.features));
    for (const plans of services) {
      const own = renderService(plans, state);
      for (const [chain, rules] of own.chains) add(chain, rules);
      for (const rule of own.dispatch) {
        add(state.layouts.get(rule.chain)?.chainOf(rule) ?? rule.chain, [rule.rule]);
      }
    }
    return out;
  }

  #full(change: Change, features: Features, observed: ObservedRules | undefined): ModelChange {
    const state: State = {
      node: change.node,
      features,
      plans: new Map(sorted(change.services).filter(([, list]) => list.length > 0)),
      layouts: new Map(),
    };
    const wanted = allChains(state, (rules) => {
      for (const chain of DISPATCH_CHAINS) {
        const own = rules.get(chain) ?? [];
        state.layouts.set(chain, Layout.build(chain, this.family, this.#limits, own));
      }
    });
    const written = observed ? undefined : this.contents();
    const before = observed?.own ?? written?.chains ?? new Map();
    const foreign = observed?.foreign ?? asSavedRules(written?.ensured ?? []);
    const ensured = ensuredRules(state.node, features);
    const ruleCounts = countRules(wanted, countRules(ensured.map(({ chain, rule }) => [chain, [rule]])));
    const delta = {
      ...compareChains(before, wanted),
      missing: ensured.filter(({ chain, rule }) => !foreign.get(chain)?.includes(rule)),
      missingChains: foreign.has(FIREWALL) ? [] : [FIREWALL],
      obsolete: IPVS_WAYS.filter(({ chain, rule }) => foreign.get(chain)?.includes(rule)),
    };
    return {
      delta,
      commit: () => {
        this.#state = state;
        this.#ruleCounts = ruleCounts;
        if (observed) this.#stale = new Set();
        this.#settleStale(delta);
      },
    };
  }

  #incremental(changed: Plans, state: State): ModelChange {
    const before = new Map<ChainId, readonly string[]>();
    const after = new Map<ChainId, readonly string[]>();
    const removed: DispatchRule[] = [];
    const added: DispatchRule[] = [];
    const services = sorted(changed);
    for (const [key, list] of services) {
      const old = renderService(state.plans.get(key) ?? [], state);
      const now = renderService(list, state);
      for (const [chain, rules] of old.chains) before.set(chain, rules);
      for (const [chain, rules] of now.chains) after.set(chain, rules);
      removed.push(...without(old.dispatch, now.dispatch));
      added.push(...without(now.dispatch, old.dispatch));
    }
    const layouts = new Map<DispatchChain, Layout>();
    for (const chain of DISPATCH_CHAINS) {
      const gone = removed.filter((rule) => rule.chain === chain);
      const come = added.filter((rule) => rule.chain === chain);
      if (gone.length === 0 && come.length === 0) continue;
      const layout = state.layouts.get(chain) ?? Layout.build(chain, this.family, this.#limits);
      const change = layout.change(gone, come, tailOf(chain, state.node, state.features));
      layouts.set(chain, change.layout);
      for (const [id, rules] of change.before) before.set(id, rules);
      for (const [id, rules] of change.after) after.set(id, rules);
    }
    const delta = { ...compareChains(before, after), missing: [], missingChains: [], obsolete: [] };
    return {
      delta,
      commit: () => {
        for (const [key, list] of services) {
          if (list.length > 0) state.plans.set(key, list);
          else state.plans.delete(key);
        }
        for (const [chain, layout] of layouts) state.layouts.set(chain, layout);
        this.#ruleCounts = countRules(after, countRules(before, this.#ruleCounts, -1));
        this.#settleStale(delta);
      },
    };
  }

  /** A stale chain that is in use again is not to be deleted. */
  #settleStale(delta: Delta): void {
    for (const chain of delta.stale) this.#stale.add(chain);
    for (const { chain } of delta.changes) this.#stale.delete(chain);
  }
}

type RuleCounts = ReadonlyMap<Table, number>;

/** The rules of `chains`, table by table, added to `counts`, or with `sign` -1 taken from them. */
function countRules(
  chains: Iterable<readonly [ChainId, readonly string[]]>,
  counts: RuleCounts = new Map(),
  sign: 1 | -1 = 1,
): RuleCounts {
  const sums = new Map(counts);
  for (const [chain, rules] of chains) {
    const table = tableOf(chain);
    sums.set(table, (sums.get(table) ?? 0) + sign * rules.length);
  }
  return sums;
}

function sorted(plans: Plans): [ObjectKey, readonly ServicePlan[]][] {
  return [...plans].sort(([a], [b]) => compareText(a, b));
}

/** All objects of one Service. */
export function renderService(
  plans: readonly ServicePlan[],
  { node, features }: { readonly node: NodePlan; readonly features: Features },
): RuleObjects {
  const out = new RuleObjects();
  for (const plan of plans) renderPlan(plan, node, features, out);
  return out;
}

/**
 * Every chain, those that others jump to first.
 * @param layOut is given the Services' rules by dispatch chain, to make the layouts that are then asked
 */
function allChains(
  state: State,
  layOut?: (rules: ReadonlyMap<DispatchChain, readonly DispatchRule[]>) => void,
): Map<ChainId, readonly string[]> {
  const fixed = fixedChains(state.node, state.features);
  const chains = new Map<ChainId, readonly string[]>();
  const markMasq = fixed.get('nat KUBE-MARK-MASQ');
  if (markMasq) chains.set('nat KUBE-MARK-MASQ', markMasq);
  const rules = new Map<DispatchChain, DispatchRule[]>(DISPATCH_CHAINS.map((chain) => [chain, []]));
  for (const plans of state.plans.values()) {
    const own = renderService(plans, state);
    for (const [chain, list] of own.chains) chains.set(chain, list);
    if (layOut) for (const rule of own.dispatch) rules.get(rule.chain)?.push(rule);
  }
  layOut?.(rules);
  for (const [chain, layout] of state.layouts) {
    for (const [id, list] of layout.chains(tailOf(chain, state.node, state.features))) chains.set(id, list);
  }
  for (const [chain, list] of fixed) chains.set(chain, list);
  return chains;
}

function without(rules: readonly DispatchRule[], others: readonly DispatchRule[]): DispatchRule[] {
  const there = new Set(others.map(identity));
  return rules.filter((rule) => !there.has(identity(rule)));
}

function identity({ chain, order, rule }: DispatchRule): string {
  return `${chain}\n${order}\n${rule}`;
}

/** After a commit every ensured rule is there. */
function asSavedRules(ensured: readonly EnsuredRule[]): SavedRules {
  const saved: SavedRules = new Map();
  for (const { chain, rule } of ensured) saved.set(chain, [...(saved.get(chain) ?? []), rule]);
  if (ensured.length > 0 && !saved.has(FIREWALL)) saved.set(FIREWALL, []);
  return saved;
}
