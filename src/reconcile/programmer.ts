/**
 * Writes changes through one back end, and keeps a refused Service from holding up the others: it is found out,
 * set aside and named, and keeps the rules it had, which may be none, until it changes.
 */
import type { IpFamily, ObjectKey } from '../cluster/values.ts';
import type { Logger } from '../log/logger.ts';
import { ToolError } from '../node/runner.ts';
import type { ServicePlan } from '../plan/plan.ts';
import type { Backend, Change, Diff } from './backend.ts';
import { findCulprits } from './narrow.ts';
import type { ReconcileObserver } from './observer.ts';

type Plans = ReadonlyMap<ObjectKey, readonly ServicePlan[]>;

/** What was written in the end, which may be more than was asked for, and how long it took. */
export interface Programmed {
  readonly change: Change;
  readonly steps: number;
  readonly diffMs: number;
  readonly applyMs: number;
}

/** Calls every observer. */
export type Tell = (call: (observer: ReconcileObserver) => void) => void;

/** A change to so many Services names them in the log. */
const FEW = 5;

/** What was read ahead of the first sync counts for so long: somebody else may be writing still. */
const FRESH_MS = 5_000;

/** Without a tool that runs, no Service is at fault. */
const NO_TOOL: ReadonlySet<string> = new Set(['missing', 'unstartable']);

export class Programmer {
  readonly #backend: Backend;
  readonly #log: Logger;
  readonly #tell: Tell;
  readonly #programmed = new Map<ObjectKey, readonly ServicePlan[]>();
  readonly #setAside = new Set<ObjectKey>();
  /** How often writing failed since it last went through. */
  #failures = 0;
  /** When the kernel was read ahead of the first sync, by the monotonic clock. */
  #observedAt = Number.NEGATIVE_INFINITY;

  constructor(backend: Backend, log: Logger, tell: Tell) {
    this.#backend = backend;
    this.#log = log;
    this.#tell = tell;
  }

  get family(): IpFamily {
    return this.#backend.family;
  }

  get setAside(): ReadonlySet<ObjectKey> {
    return this.#setAside;
  }

  /** Whether the Service has plans in force. */
  has(service: ObjectKey): boolean {
    return this.#programmed.has(service);
  }

  /** Reads the kernel while the sources are still listing. */
  async prepare(): Promise<void> {
    try {
      await this.#backend.observe();
      this.#observedAt = performance.now();
    } catch (error) {
      this.#log.debug({ family: this.family, err: error }, 'The kernel could not be read yet');
    }
  }

  /**
   * Writes a change. When it is refused, the kernel is read, everything compared with it, and whoever is at
   * fault set aside. Rejects when nobody is: then the tool or the kernel cannot do it at present.
   * @param reread the kernel is to be read first
   * @param everything the plans of all Services
   */
  async program(change: Change, reread: boolean, everything: () => Plans): Promise<Programmed> {
    try {
      const programmed = await this.#program(change, reread, everything);
      this.#tellEnd(change);
      return programmed;
    } catch (error) {
      this.#failures += 1;
      throw error;
    }
  }

  async #program(change: Change, reread: boolean, everything: () => Plans): Promise<Programmed> {
    if (reread && performance.now() - this.#observedAt > FRESH_MS) await this.#backend.observe();
    this.#observedAt = Number.NEGATIVE_INFINITY;
    try {
      return await this.#apply({ ...change, services: this.#withoutSetAside(change.services) });
    } catch (error) {
      if (!(error instanceof ToolError) || NO_TOOL.has(error.reason)) throw error;
      this.#failures += 1;
      this.#log.warn(
        { family: this.family, ...named(change), err: error },
        'A change was refused; reading the kernel and trying again',
      );
      this.#tell((observer) => observer.failed?.(this.family, error, change.full));
    }
    await this.#backend.observe();
    const full = { node: change.node, full: true, services: this.#withoutSetAside(everything()) };
    const culprits = await findCulprits(this.#backend, full);
    for (const [key, error] of culprits) {
      this.#setAside.add(key);
      this.#log.error(
        { family: this.family, service: key, err: error },
        'A Service was refused and is set aside',
      );
      this.#tell((observer) => observer.setAside?.(this.family, key, error));
    }
    return this.#apply({ ...full, services: this.#withoutSetAside(full.services) });
  }

  /** Whoever read that something was refused wants to know how it ended: at the same level. */
  #tellEnd(change: Change): void {
    if (this.#failures === 0) return;
    const attempts = this.#failures + 1;
    this.#failures = 0;
    const fields = {
      family: this.family,
      ...named(change),
      attempts,
      ...(this.#setAside.size > 0 ? { setAside: this.#setAside.size } : {}),
    };
    this.#log.warn(fields, `Written at ${attempts === 2 ? 'the second attempt' : `attempt ${attempts}`}`);
  }

  /** The Service is not set aside any more: it changed. */
  readmit(service: ObjectKey): void {
    if (!this.#setAside.delete(service)) return;
    this.#tell((observer) => observer.readmitted?.(this.family, service));
  }

  /** @returns whether something of ours was changed by somebody else, and has to be put back */
  async audit(): Promise<boolean> {
    try {
      const missing = await this.#backend.audit();
      if (missing.length === 0) return false;
      this.#log.warn(
        { family: this.family, objects: missing.slice(0, 20), count: missing.length },
        'Rules were changed by someone else; putting them back',
      );
      this.#tell((observer) => observer.drifted?.(this.family, missing));
      return true;
    } catch (error) {
      this.#log.warn({ family: this.family, err: error }, 'The kernel could not be audited');
      return false;
    }
  }

  /** Deletes what earlier changes left empty, as far as the kernel lets go of it by now. */
  async collect(): Promise<void> {
    try {
      await this.#applyAll(this.#backend.collect());
    } catch (error) {
      this.#log.debug({ family: this.family, err: error }, 'Leftovers could not be deleted yet');
      this.#tell((observer) => observer.uncollected?.(this.family, asError(error)));
    }
  }

  #withoutSetAside(plans: Plans): Plans {
    if (this.#setAside.size === 0) return plans;
    const result = new Map(plans);
    for (const key of this.#setAside) {
      const before = this.#programmed.get(key);
      if (before) result.set(key, before);
      else result.delete(key);
    }
    return result;
  }

  async #apply(change: Change): Promise<Programmed> {
    const started = performance.now();
    const diff = this.#backend.diff(change);
    const diffed = performance.now();
    await this.#applyAll(diff);
    if (change.full) this.#programmed.clear();
    for (const [key, plans] of change.services) {
      if (plans.length > 0) this.#programmed.set(key, plans);
      else this.#programmed.delete(key);
    }
    this.#tell((observer) => observer.programmed?.(change));
    return {
      change,
      steps: diff.steps.length,
      diffMs: diffed - started,
      applyMs: performance.now() - diffed,
    };
  }

  async #applyAll(diff: Diff): Promise<void> {
    for (const step of diff.steps) await this.#backend.apply(step);
    diff.commit();
  }
}

/** How many Services a change is about, and which, when they are few: for the log. */
function named({ services }: Change): { readonly count: number; readonly objects?: readonly string[] } {
  const count = services.size;
  return count > FEW ? { count } : { count, objects: Array.from(services.keys(), (key) => `Service ${key}`) };
}

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
