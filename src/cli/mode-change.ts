/**
 * Make before break: once this mode's rules are in force for every family, those of the other modes go, kube-proxy's
 * included. Until then both are there, and whichever meets a connection first translates it, to the same endpoints.
 * What connections opened under IPVS go through stays for them, until they end.
 */
import type { IpFamily } from '../cluster/values.ts';
import type { Logger } from '../log/logger.ts';
import type { Backend, ProxyMode } from '../reconcile/backend.ts';
import type { ReconcileObserver, SyncReport } from '../reconcile/observer.ts';
import { pause } from '../reconcile/wake.ts';
import { giveWay } from './cleanup.ts';

/**
 * In which order modes give way. iptables mode before IPVS mode, which then knows whose the chains are that both have;
 * IPVS mode to itself, for a retreat that it did not come to the end of.
 */
const GIVE_WAY: Readonly<Record<ProxyMode, readonly ProxyMode[]>> = {
  iptables: ['nftables', 'ipvs'],
  ipvs: ['nftables', 'iptables', 'ipvs'],
  nftables: ['iptables', 'ipvs'],
};

export interface ModeChangeOptions {
  readonly mode: ProxyMode;
  /** Served by this process: all of them must have synced. */
  readonly families: readonly IpFamily[];
  readonly createBackend: (mode: ProxyMode, family: IpFamily) => Promise<Backend>;
  /** Milliseconds between looks at what waits for connections. */
  readonly periodMs: number;
  readonly log: Logger;
}

/** Hang it on the reconciler. It works in the background, for as long as connections of another mode last. */
export class ModeChange implements ReconcileObserver {
  readonly #options: ModeChangeOptions;
  readonly #unsynced: Set<IpFamily>;
  readonly #over = new AbortController();
  readonly #named = new Set<string>();
  /** Resolves when all that no connection needs was removed, or could not be. */
  readonly passed: Promise<void>;
  /** Resolves when nothing waits for connections any more, and when this was stopped meanwhile. */
  readonly done: Promise<void>;
  #start: () => void = () => undefined;

  constructor(options: ModeChangeOptions) {
    this.#options = options;
    this.#unsynced = new Set(options.families);
    const synced = new Promise<void>((resolve) => {
      this.#start = resolve;
    });
    const first = synced.then(() => this.#first());
    this.passed = first.then(() => undefined);
    this.done = first.then((waiting) => this.#others(waiting));
  }

  synced({ family }: Pick<SyncReport, 'family'>): void {
    if (this.#unsynced.delete(family) && this.#unsynced.size === 0) this.#start();
  }

  /** What waits stays; whoever starts next sees to it. Resolves once no tool is at work. */
  async stop(): Promise<void> {
    this.#over.abort();
    if (this.#unsynced.size === 0) await this.done;
  }

  /** Resolves with the back ends of which something waits. */
  async #first(): Promise<readonly Backend[]> {
    const { mode, families, createBackend, log } = this.#options;
    try {
      const backends = await Promise.all(
        GIVE_WAY[mode].flatMap((other) => families.map((family) => createBackend(other, family))),
      );
      const waiting = await this.#pass(backends);
      if (waiting.length === 0) log.info('Other proxy modes have given way');
      else log.info('What connections of another proxy mode go through is removed when they have ended');
      return waiting;
    } catch (error) {
      log.warn({ err: error }, 'What other proxy modes left could not be looked for');
      return [];
    }
  }

  async #others(backends: readonly Backend[]): Promise<void> {
    const { signal } = this.#over;
    let waiting = backends;
    while (waiting.length > 0) {
      await pause(this.#options.periodMs, signal);
      if (signal.aborted) return;
      waiting = await this.#pass(waiting);
      if (waiting.length === 0)
        this.#options.log.info('Other proxy modes have given way: their last connection has ended');
    }
  }

  async #pass(backends: readonly Backend[]): Promise<readonly Backend[]> {
    const { mode, log } = this.#options;
    const { leftovers, waiting } = await giveWay(backends, mode);
    for (const { object, reason } of leftovers) {
      if (this.#named.has(object)) continue;
      this.#named.add(object);
      log.warn({ object, reason }, 'Something of another proxy mode could not be removed');
    }
    for (const [{ mode: other, family }, objects] of waiting) {
      log.debug({ mode: other, family, objects }, 'Open connections go through what another proxy mode left');
    }
    return [...waiting.keys()];
  }
}
