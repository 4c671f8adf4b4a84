/** What others want to know of a reconciler's work: health, metrics and events hang on here. */
import type { IpFamily, ObjectKey } from '../cluster/values.ts';
import type { LostFrontEnd } from '../plan/claims.ts';

export interface SyncReport {
  readonly family: IpFamily;
  readonly full: boolean;
  readonly services: number;
  readonly steps: number;
  readonly planSeconds: number;
  readonly diffSeconds: number;
  readonly applySeconds: number;
  /** The earliest change trigger time among the EndpointSlices synced, milliseconds since the epoch; 0 for none. */
  readonly lastChangeAt: number;
}

export interface ReconcileObserver {
  /** A change waits to be synced. */
  queued?(family: IpFamily): void;
  synced?(report: SyncReport): void;
  /** A sync failed and will be tried again. */
  failed?(family: IpFamily, error: Error): void;
  /** A Service's rules were refused: it keeps those it had, the others are programmed. */
  setAside?(family: IpFamily, service: ObjectKey, error: Error): void;
  /** A Service that was set aside is programmed, or gone. */
  readmitted?(family: IpFamily, service: ObjectKey): void;
  /** Front ends that belong to another Service. */
  lost?(family: IpFamily, lost: readonly LostFrontEnd[]): void;
  /** Objects of ours that somebody else removed or changed; they are being put back. */
  drifted?(family: IpFamily, objects: readonly string[]): void;
}
