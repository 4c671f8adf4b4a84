/** How long to wait before trying again. */
import type { Timing } from './options.ts';

/**
 * Exponential back-off with full jitter: each delay is drawn from [0, ceiling), and the ceiling doubles with every
 * failure. It starts over when there was no failure for a while, and not at the first success, because a server
 * that accepts a connection and drops it again would otherwise be asked without pause.
 */
export class Backoff {
  readonly #timing: Pick<Timing, 'backoffFirstMs' | 'backoffCapMs' | 'backoffResetMs'>;
  readonly #random: () => number;
  readonly #now: () => number;
  #failures = 0;
  #lastFailureAt = Number.NEGATIVE_INFINITY;

  constructor(
    timing: Pick<Timing, 'backoffFirstMs' | 'backoffCapMs' | 'backoffResetMs'>,
    random: () => number,
    now: () => number = () => performance.now(),
  ) {
    this.#timing = timing;
    this.#random = random;
    this.#now = now;
  }

  /** Counts a failure; milliseconds to wait. */
  next(): number {
    const now = this.#now();
    if (now - this.#lastFailureAt > this.#timing.backoffResetMs) this.#failures = 0;
    this.#lastFailureAt = now;
    const ceiling = Math.min(this.#timing.backoffCapMs, this.#timing.backoffFirstMs * 2 ** this.#failures);
    this.#failures += 1;
    return this.#random() * ceiling;
  }
}
