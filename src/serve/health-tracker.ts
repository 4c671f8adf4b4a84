/** Whether what was queued gets written in time: what healthz answers from, fed by the reconciler. */
import type { IpFamily } from '../cluster/values.ts';
import { IP_FAMILIES } from '../cluster/values.ts';
import type { ReconcileObserver, SyncReport } from '../reconcile/observer.ts';

/** One family, times in milliseconds since the epoch; 0 for never. */
export interface FamilyHealth {
  /** When a sync last went through. */
  readonly lastUpdated: number;
  /** Since when something has been waiting to be synced; 0 when nothing is. */
  readonly oldestPending: number;
}

export interface HealthState {
  /** The families that have been heard of. */
  readonly families: Readonly<Partial<Record<IpFamily, FamilyHealth>>>;
  /** The Node is there and is not about to go. */
  readonly nodeEligible: boolean;
  /** Milliseconds. */
  readonly syncPeriod: number;
}

export interface HealthTrackerOptions {
  /** Milliseconds. */
  readonly syncPeriod: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** Hang it on the reconciler as an observer, and tell it of the Node. */
export class HealthTracker implements ReconcileObserver {
  readonly #syncPeriod: number;
  readonly #now: () => number;
  readonly #families = new Map<IpFamily, FamilyHealth>();
  #nodeEligible = false;

  constructor(options: HealthTrackerOptions) {
    this.#syncPeriod = options.syncPeriod;
    this.#now = options.now ?? Date.now;
  }

  queued(family: IpFamily): void {
    const { lastUpdated, oldestPending } = this.#family(family);
    this.#families.set(family, { lastUpdated, oldestPending: oldestPending || this.#now() });
  }

  /** What failed is pending still, also when nothing was queued for it: the first sync, or a repair. */
  failed(family: IpFamily): void {
    this.queued(family);
  }

  synced({ family }: Pick<SyncReport, 'family'>): void {
    this.#families.set(family, { lastUpdated: this.#now(), oldestPending: 0 });
  }

  /** `leaving` is the Node's; `undefined` when there is no such Node. */
  nodeChanged(node: { readonly leaving: boolean } | undefined): void {
    this.#nodeEligible = node !== undefined && !node.leaving;
  }

  state(): HealthState {
    return {
      families: Object.fromEntries(this.#families),
      nodeEligible: this.#nodeEligible,
      syncPeriod: this.#syncPeriod,
    };
  }

  /** Whether every family is healthy, whatever the Node: what per-Service health checks report. */
  isHealthy(): boolean {
    return isHealthy(this.state(), this.#now());
  }

  #family(family: IpFamily): FamilyHealth {
    return this.#families.get(family) ?? { lastUpdated: 0, oldestPending: 0 };
  }
}

/** A family is unhealthy when something has waited for two sync periods. Until it has heard of work, it is well. */
export function isFamilyHealthy(family: FamilyHealth, syncPeriod: number, now: number): boolean {
  return family.oldestPending === 0 || now - family.oldestPending < 2 * syncPeriod;
}

export function isHealthy(state: HealthState, now: number): boolean {
  return IP_FAMILIES.every((name) => {
    const family = state.families[name];
    return family === undefined || isFamilyHealthy(family, state.syncPeriod, now);
  });
}
