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

type Plans = ReadonlyMap<ObjectKey, readonly ServicePlan[]>;

/** Objects that several Services write. They go with the last of them. */
const SHARED_SETS: readonly string[] = ['cluster-ips', 'hairpin-connections'];
const SHARED_CHAIN = /^(pick|masquerade|inside|firewall)-/;

export interface ModelChange {
  readonly delta: Delta;
  commit(): void;
}

export class NftModel {
  readonly family: IpFamily;
  #node: NodePlan | undefined;
  #plans = new Map<ObjectKey, readonly ServicePlan[]>();
  /** How many Services write a shared object. */
  #references = new Map<string, number>();
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
    for (const key of this.#affine) merge(renderService(this.#plans.get(key) ?? [], this.#node), out);
    for (const [name, rules] of this.#sharedChains) out.chain(name, rules);
    out.elements.clear();
    return out;
  }

  #full(change: Change, before: ((wanted: TableObjects) => TableObjects) | undefined): ModelChange {
    const plans = new Map(sorted(change.services).filter(([, list]) => list.length > 0));
    const after = new TableObjects();
    renderSkeleton(change.node, after);
    const references = new Map<string, number>();
    for (const list of plans.values()) {
      const own = renderService(list, change.node);
      for (const name of sharedIn(own)) references.set(name, (references.get(name) ?? 0) + 1);
      merge(own, after);
    }
    const delta = compare(before === undefined ? this.objects() : before(after), after);
    return {
      delta,
      commit: () => {
        this.#node = change.node;
        this.#plans = plans;
        this.#references = references;
        this.#sharedChains = new Map();
        this.#affine = new Set();
        this.#settle(after, plans, delta);
      },
    };
  }

  #incremental(changed: Plans, node: NodePlan): ModelChange {
    const before = new TableObjects();
    const after = new TableObjects();
    const counts = new Map<string, number>();
    const count = (objects: TableObjects, by: number): void => {
      for (const name of sharedIn(objects)) counts.set(name, (counts.get(name) ?? 0) + by);
    };
    const services = sorted(changed);
    for (const [key, list] of services) {
      const old = renderService(this.#plans.get(key) ?? [], node);
      const now = renderService(list, node);
      count(old, -1);
      count(now, 1);
      merge(old, before);
      merge(now, after);
    }
    for (const [name, by] of counts) {
      const was = this.#references.get(name) ?? 0;
      if (was > 0 && was + by > 0) {
        forget(before, name);
        forget(after, name);
      }
    }
    const delta = compare(before, after);
    return {
      delta,
      commit: () => {
        for (const [key, list] of services) {
          if (list.length > 0) this.#plans.set(key, list);
          else this.#plans.delete(key);
        }
        for (const [name, by] of counts) {
          const now = (this.#references.get(name) ?? 0) + by;
          if (now > 0) this.#references.set(name, now);
          else this.#references.delete(name);
        }
        this.#settle(after, services, delta);
      },
    };
  }

  #settle(
    after: TableObjects,
    services: Iterable<readonly [ObjectKey, readonly ServicePlan[]]>,
    delta: Delta,
  ): void {
    for (const [name, rules] of after.chains) {
      if (this.#references.has(`chain ${name}`)) this.#sharedChains.set(name, rules);
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

function merge(from: TableObjects, into: TableObjects): void {
  for (const [name, declaration] of from.sets) into.set(name, declaration);
  for (const [name, rules] of from.chains) into.chain(name, rules);
  for (const [set, elements] of from.elements) {
    for (const [key, value] of elements) into.element(set, key, value);
  }
}

/** Names of shared objects: `chain pick-3`, `cluster-ips 10.96.0.1`. */
function* sharedIn(objects: TableObjects): Generator<string> {
  for (const chain of objects.chains.keys()) if (SHARED_CHAIN.test(chain)) yield `chain ${chain}`;
  for (const set of SHARED_SETS) {
    for (const key of objects.elements.get(set)?.keys() ?? []) yield `${set} ${key}`;
  }
}

function forget(objects: TableObjects, name: string): void {
  const space = name.indexOf(' ');
  const kind = name.slice(0, space);
  const rest = name.slice(space + 1);
  if (kind === 'chain') objects.chains.delete(rest);
  else objects.elements.get(kind)?.delete(rest);
}
