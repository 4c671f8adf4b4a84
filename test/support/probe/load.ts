/** A steady stream of single tries, for what must not fail while rules are exchanged. */
import { DEFAULT_DEADLINE_MS } from './answer.ts';
import type { LoadReport, LoadRequest, Outcome } from './protocol.ts';
import { tryOnce } from './tries.ts';

interface Load {
  readonly timer: NodeJS.Timeout;
  readonly underWay: Set<Promise<void>>;
  started: number;
  answered: number;
  readonly failures: Record<string, number>;
  readonly backends: Record<string, number>;
}

/** Milliseconds between two looks at the clock; several tries start at once when the rate asks for it. */
const TICK_MS = 5;

export class Loads {
  readonly #loads = new Map<number, Load>();
  #next = 1;

  start(request: LoadRequest): number {
    const begun = performance.now();
    const deadlineMs = request.deadlineMs ?? DEFAULT_DEADLINE_MS;
    let skipped = 0;
    const timer = setInterval(() => {
      const due = Math.floor(((performance.now() - begun) * request.perSecond) / 1000);
      while (load.started + skipped < due) {
        if (load.underWay.size < (request.atOnce ?? Number.POSITIVE_INFINITY)) {
          begin(load, tryOnce(request, deadlineMs));
        } else {
          skipped += 1;
        }
      }
    }, TICK_MS);
    const load: Load = { timer, underWay: new Set(), started: 0, answered: 0, failures: {}, backends: {} };
    const handle = this.#next++;
    this.#loads.set(handle, load);
    return handle;
  }

  report(handle: number): LoadReport {
    const { started, answered, failures, backends } = this.#get(handle);
    return { started, answered, failures, backends };
  }

  /** Starts no more, waits for those under way, and reports all. */
  async stop(handle: number): Promise<LoadReport> {
    const load = this.#get(handle);
    clearInterval(load.timer);
    await Promise.all(load.underWay);
    const report = this.report(handle);
    this.#loads.delete(handle);
    return report;
  }

  #get(handle: number): Load {
    const load = this.#loads.get(handle);
    if (!load) throw new Error(`no load has the handle ${handle}`);
    return load;
  }
}

function begin(load: Load, outcome: Promise<Outcome>): void {
  load.started += 1;
  const done = outcome.then((result) => {
    if (result.ok) {
      load.answered += 1;
      load.backends[result.backend] = (load.backends[result.backend] ?? 0) + 1;
    } else {
      load.failures[result.failure] = (load.failures[result.failure] ?? 0) + 1;
    }
    load.underWay.delete(done);
  });
  load.underWay.add(done);
}
