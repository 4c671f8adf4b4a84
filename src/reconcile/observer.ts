/** What others want to know of a reconciler's work: health, metrics and events hang on here. */
import type { IpFamily, ObjectKey } from '../cluster/values.ts';
import type { LostFrontEnd } from '../plan/claims.ts';
import type { ServicePlan } from '../plan/plan.ts';
import type { Change } from './backend.ts';

export interface SyncReport {
  readonly family: IpFamily;
  readonly full: boolean;
  readonly services: number;
  readonly steps: number;
  readonly planSeconds: number;
  readonly diffSeconds: number;
  readonly applySeconds: number;
  /** From the first of its changes reaching the reconciler until all were written; 0 for a sync without any. */
  readonly waitedSeconds: number;
  /**
   * What was written: the plans of each Service that was looked at, none for one that is gone. With `full` that is
   * every Service.
   */
  readonly plans: ReadonlyMap<ObjectKey, readonly ServicePlan[]>;
  /**
   * When the endpoint changes in it were caused, milliseconds since the epoch: of each Service that has plans in
   * this family the earliest. Changes whose EndpointSlice does not say are not here.
   */
  readonly changedAt: readonly number[];
}

export interface ReconcileObserver {
  /** A change waits to be synced. */
  queued?(family: IpFamily): void;
  /** What was written just now, every step of it, and is in force; `synced` follows. Must return at once. */
  programmed?(change: Change): void;
  synced?(report: SyncReport): void;
  /** A sync failed and will be tried again; `full` when it was to write everything. */
  failed?(family: IpFamily, error: Error, full: boolean): void;
  /** What earlier syncs left empty could not be deleted; that will be tried again too. */
  uncollected?(family: IpFamily, error: Error): void;
  /** A Service's rules were refused: it keeps those it had, the others are programmed. */
  setAside?(family: IpFamily, service: ObjectKey, error: Error): void;
  /** A Service that was set aside is programmed, or gone. */
  readmitted?(family: IpFamily, service: ObjectKey): void;
  /** Front ends that belong to another Service. */
  lost?(family: IpFamily, lost: readonly LostFrontEnd[]): void;
  /** Objects of ours that somebody else removed or changed; they are being put back. */
  drifted?(family: IpFamily, objects: readonly string[]): void;
}
