/** Notices that something in some directories changed. */
import { type FSWatcher, watch } from 'node:fs';

/** One change is rarely alone: waits for this long without any, in milliseconds ... */
const QUIET = 50;
/** ... but not longer than this in all. */
const PATIENCE = 1_000;

/**
 * Watches directories, not files: files are replaced as often as they are written (editors, ConfigMaps), and
 * a watch stays with the one that was thrown away.
 */
export class DirectoryWatcher {
  readonly #onTrouble: (directory: string, error: unknown) => void;
  readonly #watched = new Map<string, { identity: string; watcher: FSWatcher }>();
  readonly #wanted = new Set<string>();
  #changed = false;
  #wake: () => void = () => undefined;

  /** @param onTrouble is told when a directory cannot be watched */
  constructor(onTrouble: (directory: string, error: unknown) => void) {
    this.#onTrouble = onTrouble;
  }

  /**
   * Wants a directory watched, from now on until the end of a round in which nobody wants it.
   * @param identity differs when it is another directory under the same name
   */
  want(directory: string, identity: string): void {
    this.#wanted.add(directory);
    const watched = this.#watched.get(directory);
    if (watched?.identity === identity) return;
    watched?.watcher.close();
    this.#watched.delete(directory);
    try {
      const watcher = watch(directory, () => this.#notice());
      watcher.on('error', (error) => {
        watcher.close();
        this.#onTrouble(directory, error);
      });
      this.#watched.set(directory, { identity, watcher });
    } catch (error) {
      this.#onTrouble(directory, error);
    }
  }

  /** Ends a round. */
  endRound(): void {
    for (const [directory, { watcher }] of this.#watched) {
      if (this.#wanted.has(directory)) continue;
      watcher.close();
      this.#watched.delete(directory);
    }
    this.#wanted.clear();
  }

  /**
   * Resolves when something changed since the last call and then nothing for a moment, after `timeoutMs` at
   * the latest, or when `signal` aborts.
   */
  async next(timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (!this.#changed) await this.#pause(timeoutMs, signal, true);
    const deadline = performance.now() + PATIENCE;
    while (this.#changed && performance.now() < deadline && !signal.aborted) {
      this.#changed = false;
      await this.#pause(QUIET, signal, false);
    }
    // Whoever looks now sees what changed until now.
    this.#changed = false;
  }

  close(): void {
    for (const { watcher } of this.#watched.values()) watcher.close();
    this.#watched.clear();
  }

  #notice(): void {
    this.#changed = true;
    this.#wake();
  }

  async #pause(timeoutMs: number, signal: AbortSignal, untilChange: boolean): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeoutMs);
    const stop = (): void => resolve();
    signal.addEventListener('abort', stop);
    if (untilChange) this.#wake = resolve;
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    this.#wake = () => undefined;
  }
}
