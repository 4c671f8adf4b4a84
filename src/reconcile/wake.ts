import { setTimeout as sleep } from 'node:timers/promises';

/** A flag that one loop waits for: raised any number of times before, it ends one wait. */
export class Wake {
  #raised = false;
  #resolve: (() => void) | undefined;

  raise(): void {
    this.#raised = true;
    this.#resolve?.();
  }

  /** Resolves when the flag is raised, after `timeoutMs`, or when `signal` aborts, whichever is first. */
  async wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (!this.#raised && !signal.aborted) {
      const over = new AbortController();
      const raised = new Promise<void>((resolve) => {
        this.#resolve = resolve;
      });
      await Promise.race([raised, pause(timeoutMs, AbortSignal.any([signal, over.signal]))]);
      over.abort();
      this.#resolve = undefined;
    }
    this.#raised = false;
  }
}

/** Waits `milliseconds`, or until `signal` aborts; never rejects. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (milliseconds <= 0) return;
  // A longer delay than a timer can hold would fire at once.
  await sleep(Math.min(milliseconds, 2 ** 31 - 1), undefined, { signal }).catch(() => undefined);
}
