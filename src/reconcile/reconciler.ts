/**
 * Brings the kernel to what the cluster says, and keeps it there: one independent loop per family, so that
 * trouble in one does not hold up the other.
 */
import type { ObjectKey } from '../cluster/values.ts';
import type { Logger } from '../log/logger.ts';
import type { Backend } from './backend.ts';
import { FamilyLoop, type LoopInput, type LoopTiming } from './family-loop.ts';
import type { ReconcileObserver } from './observer.ts';
import { Wake } from './wake.ts';

/** Changes taken from the cluster since they were last taken. */
export interface ClusterChanges {
  readonly services: ReadonlySet<ObjectKey>;
  readonly node: boolean;
  readonly serviceCIDRs: boolean;
  /**
   * When the earliest endpoint change of each Service was caused, milliseconds since the epoch; only Services whose
   * slices say so.
   */
  readonly lastChangeAtOf: ReadonlyMap<ObjectKey, number>;
}

/** The cluster as the reconciler sees it. */
export interface ClusterFeed {
  /** Every needed kind has been listed: until then nothing is written. */
  readonly synced: boolean;
  takeChanges(): ClusterChanges;
  onChange(callback: () => void): void;
}

export interface ReconcilerOptions {
  readonly backends: readonly Backend[];
  readonly feed: ClusterFeed;
  readonly input: LoopInput;
  readonly timing: LoopTiming;
  readonly log: Logger;
  readonly observers?: readonly ReconcileObserver[];
  /** Read the kernel before the first sync (default); a dry run does not. */
  readonly observeFirst?: boolean;
}

export class Reconciler {
  readonly loops: readonly FamilyLoop[];
  readonly #feed: ClusterFeed;
  readonly #wake = new Wake();

  constructor(options: ReconcilerOptions) {
    this.#feed = options.feed;
    this.loops = options.backends.map(
      (backend) =>
        new FamilyLoop({
          backend,
          input: options.input,
          timing: options.timing,
          log: options.log,
          observers: options.observers ?? [],
          observeFirst: options.observeFirst ?? true,
        }),
    );
    this.#feed.onChange(() => this.#wake.raise());
  }

  /** Runs until `signal` aborts. Rules stay in the kernel. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#listed(signal), ...this.loops.map((loop) => loop.prepare())]);
    if (signal.aborted) return;
    await Promise.all([this.#dispatch(signal), ...this.loops.map((loop) => loop.run(signal))]);
  }

  /** One full sync of every family, once everything is listed. Rejects with the first failure. */
  async syncOnce(signal: AbortSignal): Promise<void> {
    await this.#listed(signal);
    signal.throwIfAborted();
    for (const loop of this.loops) await loop.syncOnce();
  }

  async #listed(signal: AbortSignal): Promise<void> {
    while (!this.#feed.synced && !signal.aborted) await this.#wake.wait(60_000, signal);
    // The loops plan everything at their first sync, so what was noted while listing is not news.
    this.#feed.takeChanges();
  }

  async #dispatch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#wake.wait(60_000, signal);
      const changes = this.#feed.takeChanges();
      for (const loop of this.loops) {
        if (changes.node || changes.serviceCIDRs) loop.replan();
        if (changes.services.size > 0) loop.touch(changes.services, changes.lastChangeAtOf);
      }
    }
  }
}
