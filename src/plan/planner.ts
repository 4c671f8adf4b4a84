/**
 * The plans of one family, kept up to date: a change to one Service plans that Service, and those whose
 * claims to an address it decides.
 */
import type { ObjectKey, ServiceValue, SliceValue } from '../cluster/values.ts';
import { Claims, type LostFrontEnd } from './claims.ts';
import type { ServicePlan } from './plan.ts';
import { type PlanContext, planService } from './service-plan.ts';

/** Where the planner looks Services up. `Cluster` is one. */
export interface ServiceLookup {
  service(key: ObjectKey): ServiceValue | undefined;
  slicesOf(key: ObjectKey): readonly SliceValue[];
}

export interface Planned {
  /** The plans of every Service that had to be looked at; an empty list for one that is gone. */
  readonly plans: ReadonlyMap<ObjectKey, readonly ServicePlan[]>;
  /** Front ends that these Services asked for and another one has. */
  readonly lost: readonly LostFrontEnd[];
}

export class Planner {
  readonly #lookup: ServiceLookup;
  #context: PlanContext;
  #claims = new Claims();
  /** As planned, before claims are settled: what each Service asks for. */
  #asked = new Map<ObjectKey, readonly ServicePlan[]>();

  constructor(lookup: ServiceLookup, context: PlanContext) {
    this.#lookup = lookup;
    this.#context = context;
  }

  /** Plans these Services again. */
  update(services: Iterable<ObjectKey>): Planned {
    const touched = new Set<ObjectKey>();
    for (const key of services) {
      touched.add(key);
      const before = this.#asked.get(key) ?? NONE;
      const service = this.#lookup.service(key);
      const after = service ? planService(service, this.#lookup.slicesOf(key), this.#context) : [];
      if (after.length > 0) this.#asked.set(key, after);
      else this.#asked.delete(key);
      this.#claims.update(key, before, after, touched);
    }
    return this.#settle(touched);
  }

  /** Plans everything under a new context (another zone, another detector): for a full sync. */
  replace(context: PlanContext, services: Iterable<ObjectKey>): Planned {
    this.#context = context;
    this.#claims = new Claims();
    this.#asked = new Map();
    return this.update(services);
  }

  /** The settled plans of every Service. */
  all(): ReadonlyMap<ObjectKey, readonly ServicePlan[]> {
    return this.#settle(this.#asked.keys()).plans;
  }

  #settle(keys: Iterable<ObjectKey>): Planned {
    const plans = new Map<ObjectKey, readonly ServicePlan[]>();
    const lost: LostFrontEnd[] = [];
    for (const key of keys) {
      const asked = this.#asked.get(key) ?? NONE;
      plans.set(key, this.#claims.contested ? this.#settleOne(asked, lost) : asked);
    }
    return { plans, lost };
  }

  #settleOne(asked: readonly ServicePlan[], lost: LostFrontEnd[]): readonly ServicePlan[] {
    const before = lost.length;
    const settled = asked.map((plan) => this.#claims.settle(plan, lost));
    return lost.length === before ? asked : settled;
  }
}

const NONE: readonly ServicePlan[] = [];
