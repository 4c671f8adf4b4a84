/**
 * One family's loop: changes come in at any rate, syncs go out at most once per minimum interval, each with
 * what changed since the last one. A failed sync loses nothing: what it held is still pending.
 */
import { isDeepStrictEqual } from 'node:util';
import type { IpFamily, ObjectKey } from '../cluster/values.ts';
import type { Logger } from '../log/logger.ts';
import type { NodePlan } from '../plan/plan.ts';
import { Planner, type ServiceLookup } from '../plan/planner.ts';
import type { PlanContext } from '../plan/service-plan.ts';
import type { Backend, Change } from './backend.ts';
import type { ReconcileObserver } from './observer.ts';
import { asError, Programmer } from './programmer.ts';
import { pause, Wake } from './wake.ts';

/** What the loop asks the world around it; called at each sync. */
export interface LoopInput extends ServiceLookup {
  serviceKeys(): Iterable<ObjectKey>;
  context(family: IpFamily): PlanContext;
  nodePlan(family: IpFamily): NodePlan;
}

export interface LoopTiming {
  /** From the end of a sync to the start of the next, milliseconds. */
  readonly minIntervalMs: number;
  /** How often the kernel is audited, and the longest pause between retries, milliseconds. */
  readonly syncPeriodMs: number;
  /** How often everything is read back and compared, milliseconds. */
  readonly fullPeriodMs: number;
}

export interface LoopOptions {
  readonly backend: Backend;
  readonly input: LoopInput;
  readonly timing: LoopTiming;
  readonly log: Logger;
  readonly observers: readonly ReconcileObserver[];
  /** Read the kernel before the first sync; a dry run does not. */
  readonly observeFirst: boolean;
}

const NOTHING: ReadonlySet<ObjectKey> = new Set();
const FIRST_RETRY_MS = 500;

export class FamilyLoop {
  readonly #options: LoopOptions;
  readonly #planner: Planner;
  readonly #programmer: Programmer;
  readonly #wake = new Wake();
  #pending = new Set<ObjectKey>();
  /** What the sync under way has taken from `#pending`. */
  #writing: ReadonlySet<ObjectKey> = NOTHING;
  /** When endpoint changes of pending Services were caused, the earliest of each. */
  #changedAt = new Map<ObjectKey, number>();
  /** Since when something has been pending, by the monotonic clock. */
  #pendingSince: number | undefined;
  /** The plans are to be made anew, for all Services. */
  #replan = true;
  /** The kernel is to be read and compared with everything. */
  #reread: boolean;
  #retryMs = 0;
  #lastFullAt = 0;
  #nextAuditAt = 0;
  #syncedNode: NodePlan | undefined;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#reread = options.observeFirst;
    this.#planner = new Planner(options.input, options.input.context(options.backend.family));
    this.#programmer = new Programmer(options.backend, options.log, (call) => this.#tell(call));
  }

  get family(): IpFamily {
    return this.#options.backend.family;
  }

  get setAside(): ReadonlySet<ObjectKey> {
    return this.#programmer.setAside;
  }

  /** Services with a change that has yet to be written. */
  get pending(): ReadonlySet<ObjectKey> {
    return new Set([...this.#pending, ...this.#writing]);
  }

  /**
   * These Services changed.
   * @param changedAt when their endpoint changes were caused, milliseconds since the epoch, as far as that is known
   */
  touch(services: Iterable<ObjectKey>, changedAt: ReadonlyMap<ObjectKey, number>): void {
    for (const key of services) this.#pending.add(key);
    this.#note(changedAt);
    this.#queued();
  }

  #note(changedAt: ReadonlyMap<ObjectKey, number>): void {
    for (const [key, at] of changedAt) {
      this.#changedAt.set(key, Math.min(at, this.#changedAt.get(key) ?? at));
    }
  }

  /** The node changed, or what is set for it: everything is planned anew. */
  replan(): void {
    this.#replan = true;
    this.#queued();
  }

  #queued(): void {
    this.#pendingSince ??= performance.now();
    this.#tell((observer) => observer.queued?.(this.family));
    this.#wake.raise();
  }

  /** Gets ready while the sources are still listing. */
  async prepare(): Promise<void> {
    if (this.#options.observeFirst) await this.#programmer.prepare();
  }

  /** Runs until `signal` aborts; call it when the sources have listed everything. */
  async run(signal: AbortSignal): Promise<void> {
    const { timing } = this.#options;
    while (!signal.aborted) {
      const worked = await this.#syncIfNeeded(signal);
      if (worked) await pause(Math.max(timing.minIntervalMs, this.#retryMs), signal);
      else await this.#wake.wait(Math.max(this.#nextAuditAt - Date.now(), 0), signal);
      if (!signal.aborted && this.#retryMs === 0) await this.#tend();
    }
  }

  /** One sync now, whatever the pace: for one-shot commands. Rejects when it fails. */
  async syncOnce(): Promise<void> {
    await this.#sync();
  }

  async #syncIfNeeded(signal: AbortSignal): Promise<boolean> {
    if (this.#pending.size === 0 && !this.#replan && !this.#reread) return false;
    const full = this.#replan || this.#reread;
    try {
      await this.#sync();
      this.#retryMs = 0;
    } catch (error) {
      if (signal.aborted) return true;
      const { syncPeriodMs } = this.#options.timing;
      this.#retryMs = Math.min(Math.max(this.#retryMs * 2, FIRST_RETRY_MS), syncPeriodMs);
      this.#reread = this.#options.observeFirst;
      this.#options.log.error(
        { family: this.family, err: error, retryInMs: this.#retryMs },
        'Sync failed; nothing is forgotten, it will be tried again',
      );
      this.#tell((observer) => observer.failed?.(this.family, asError(error), full));
    }
    return true;
  }

  /** A cluster that never rests is audited all the same: the audit's time is not put off by changes. */
  async #tend(): Promise<void> {
    const { timing, input } = this.#options;
    const now = Date.now();
    if (now < this.#nextAuditAt) return;
    this.#nextAuditAt = now + timing.syncPeriodMs;
    // An address may come or go on an interface without the API saying so.
    if (!isDeepStrictEqual(input.nodePlan(this.family), this.#syncedNode)) this.#replan = true;
    else if (now - this.#lastFullAt >= timing.fullPeriodMs) this.#reread = this.#options.observeFirst;
    else {
      await this.#programmer.collect();
      if (await this.#programmer.audit()) this.#reread = this.#options.observeFirst;
    }
  }

  async #sync(): Promise<void> {
    const started = performance.now();
    const { input } = this.#options;
    const pending = this.#pending;
    const changedAt = this.#changedAt;
    const since = this.#pendingSince;
    const node = input.nodePlan(this.family);
    // Taken now: what is asked for while this sync is under way is for the next one.
    const replan = this.#replan;
    const reread = this.#reread;
    const full = replan || reread || !isDeepStrictEqual(node, this.#syncedNode);
    this.#replan = false;
    this.#reread = false;
    this.#pending = new Set();
    this.#writing = pending;
    this.#changedAt = new Map();
    this.#pendingSince = undefined;
    try {
      const planning = this.#plan(pending, node, replan, full);
      const planned = performance.now();
      const { change, ...timing } = await this.#programmer.program(planning, reread, () =>
        this.#planner.all(),
      );
      this.#syncedNode = node;
      this.#writing = NOTHING;
      if (change.full) {
        this.#lastFullAt = Date.now();
        this.#nextAuditAt = this.#lastFullAt + this.#options.timing.syncPeriodMs;
      }
      this.#tell((observer) =>
        observer.synced?.({
          family: this.family,
          full: change.full,
          services: change.services.size,
          steps: timing.steps,
          planSeconds: (planned - started) / 1000,
          diffSeconds: timing.diffMs / 1000,
          applySeconds: timing.applyMs / 1000,
          waitedSeconds: since === undefined ? 0 : (performance.now() - since) / 1000,
          plans: change.services,
          changedAt: this.#withPlans(changedAt),
        }),
      );
    } catch (error) {
      // Plans are made from the state, so planning these again gives what this sync could not write.
      for (const key of pending) this.#pending.add(key);
      this.#replan ||= replan;
      this.#reread ||= reread;
      this.#writing = NOTHING;
      this.#note(changedAt);
      this.#pendingSince = since ?? this.#pendingSince;
      throw error;
    }
  }

  /** A change in one family touches its Service in both: where it has no plans it is no news. */
  #withPlans(changedAt: ReadonlyMap<ObjectKey, number>): number[] {
    return [...changedAt].filter(([key]) => this.#programmer.has(key)).map(([, at]) => at);
  }

  #plan(pending: Set<ObjectKey>, node: NodePlan, replan: boolean, full: boolean): Change {
    const { input } = this.#options;
    const planned = replan
      ? this.#planner.replace(input.context(this.family), input.serviceKeys())
      : this.#planner.update(pending);
    if (planned.lost.length > 0) {
      this.#tell((observer) => observer.lost?.(this.family, planned.lost));
    }
    for (const key of planned.plans.keys()) this.#programmer.readmit(key);
    return { node, services: full ? this.#planner.all() : planned.plans, full };
  }

  #tell(call: (observer: ReconcileObserver) => void): void {
    for (const observer of this.#options.observers) call(observer);
  }
}
