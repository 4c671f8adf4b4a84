/**
 * What this program has put into one table, and the difference a change makes to it. Nothing per Service is kept
 * but its plans: its objects are rendered again when they are compared, so memory stays small and an old
 * object is never remembered differently from how it was written.
 */
import type { IpFamily, ObjectKey } from '../../src/cluster/values.ts';
import { compareText } from '../../src/net/ip.ts';
import type { NodePlan, ServicePlan } from '../../src/plan/plan.ts';
import type { Change } from '../../src/reconcile/backend.ts';
import { compare, type Delta } from './delta.ts';
import { TableObjects } from './objects.ts';
import { renderPlan } from './render.ts';
import { renderSkeleton } from './skeleton.ts';

type Uses = TableObjects['uses'];
type Plans = ReadonlyMap<ObjectKey, readonly ServicePlan[]>;

export interface ModelChange {
  readonly delta: Delta;
  readonly commit: () => void;
}

export class NftModel {
  readonly family: IpFamily;
  #node: NodePlan | undefined;
  #plans = new Map<ObjectKey, readonly ServicePlan[]>();
  /** How often each shared object is wanted: `TableObjects.uses` of everything. */
  #uses: Uses = new Map();
  /** Rules of the shared chains: a few dozen, whatever the number of Services. */
  #sharedChains = new Map<string, readonly string[]>();
  /** Services with chains and sets of their own. */
  #affine = new Set<ObjectKey>();
  /** Emptied chains that wait to be deleted. */
  #stale = new Set<string>();

  constructor(family: IpFamily) {
    this.family = family;
  }

  get stale(): ReadonlySet<string> {
    return this.#stale;
  }

  /** The chains were deleted. */
  collected(chains: Iterable<string>): void {
    for (const chain of chains) this.#stale.delete(chain);
  }

  /**
   * What brings the table to `change`.
   * @param before what the table holds, when it was read anew; only for full changes
   */
  change(change: Change, before?: (wanted: TableObjects) => TableObjects): ModelChange {
    if (change.full || this.#node === undefined) return this.#full(change, before);
    return this.#incremental(change.services, this.#node);
  }

  /** Everything this program has written. */
  objects(): TableObjects {
    return this.#node === undefined ? new TableObjects() : renderAll(this.#node, this.#plans);
  }

  /** `objects` without elements: what can be checked at a cost that does not grow with the cluster. */
  structure(): TableObjects {
    const out = new TableObjects();
    if (this.#node === undefined) return out;
    renderSkeleton(this.#node, out);
    for (const key of this.#affine) {
      for (const plan of this.#plans.get(key) ?? []) renderPlan(plan, this.#node, out);
    }
    for (const [name, rules] of this.#sharedChains) out.chain(name, rules);
    out.elements.clear();
    return out;
  }

  #full(change: Change, before: ((wanted: TableObjects) => TableObjects) | undefined): ModelChange {
    const plans = new Map(sorted(change.services).filter(([, list]) => list.length > 0));
    const after = renderAll(change.node, plans);
    const delta = compare(before === undefined ? this.objects() : before(after), after);
    return {
      delta,
      commit: () => {
        this.#node = change.node;
        this.#plans = plans;
        this.#uses = after.uses;
        this.#sharedChains = new Map();
        this.#affine = new Set();
        this.#settle(after, plans, delta);
      },
    };
  }

  #incremental(changed: Plans, node: NodePlan): ModelChange {
    const before = new TableObjects();
    const after = new TableObjects();
    const services = sorted(changed);
    for (const [key, list] of services) {
      for (const plan of this.#plans.get(key) ?? []) renderPlan(plan, node, before);
      for (const plan of list) renderPlan(plan, node, after);
    }
    const uses = this.#usesAfter(before.uses, after.uses);
    for (const { kind, name, was, now } of uses) {
      // Others want it too: it was there before and stays.
      if (was > 0 && now > 0) forget(kind, name, before, after);
    }
    const delta = compare(before, after);
    return {
      delta,
      commit: () => {
        for (const [key, list] of services) {
          if (list.length > 0) this.#plans.set(key, list);
          else this.#plans.delete(key);
        }
        for (const { kind, name, now } of uses) setUse(this.#uses, kind, name, now);
        this.#settle(after, services, delta);
      },
    };
  }

  #usesAfter(before: Uses, after: Uses): { kind: string; name: string; was: number; now: number }[] {
    const found: { kind: string; name: string; was: number; now: number }[] = [];
    for (const kind of new Set([...before.keys(), ...after.keys()])) {
      const old = before.get(kind);
      const fresh = after.get(kind);
      for (const name of new Set([...(old?.keys() ?? []), ...(fresh?.keys() ?? [])])) {
        const was = this.#uses.get(kind)?.get(name) ?? 0;
        found.push({ kind, name, was, now: was - (old?.get(name) ?? 0) + (fresh?.get(name) ?? 0) });
      }
    }
    return found;
  }

  #settle(
    after: TableObjects,
    services: Iterable<readonly [ObjectKey, readonly ServicePlan[]]>,
    delta: Delta,
  ): void {
    for (const [name, rules] of after.chains) {
      if (this.#uses.get('chains')?.has(name)) this.#sharedChains.set(name, rules);
    }
    for (const chain of delta.staleChains) {
      this.#stale.add(chain);
      this.#sharedChains.delete(chain);
    }
    // A stale chain that is in use again is not to be deleted (kubernetes/kubernetes#122604).
    for (const chain of delta.rules.keys()) this.#stale.delete(chain);
    for (const [key, plans] of services) {
      if (plans.some(({ affinitySeconds }) => affinitySeconds > 0)) this.#affine.add(key);
      else this.#affine.delete(key);
    }
  }
}

function sorted(plans: Plans): [ObjectKey, readonly ServicePlan[]][] {
  return [...plans].sort(([a], [b]) => compareText(a, b));
}

function renderAll(node: NodePlan, plans: Plans): TableObjects {
  const out = new TableObjects();
  renderSkeleton(node, out);
  for (const [, list] of sorted(plans)) for (const plan of list) renderPlan(plan, node, out);
  return out;
}

/** All objects of one Service. */
export function renderService(plans: readonly ServicePlan[], node: NodePlan): TableObjects {
  const out = new TableObjects();
  for (const plan of plans) renderPlan(plan, node, out);
  return out;
}

function forget(kind: string, name: string, ...all: readonly TableObjects[]): void {
  for (const objects of all) {
    if (kind === 'chains') objects.chains.delete(name);
    else objects.elements.get(kind)?.delete(name);
  }
}

function setUse(uses: Uses, kind: string, name: string, count: number): void {
  const ofKind = uses.get(kind);
  if (count === 0) ofKind?.delete(name);
  else if (ofKind === undefined) uses.set(kind, new Map([[name, count]]));
  else ofKind.set(name, count);
}
