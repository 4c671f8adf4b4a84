/**
 * Make before break: once this mode's rules are in force for every family, those of the modes it does not share
 * chains with go, kube-proxy's included. Until then both are there, and whichever meets a connection first
 * translates it, to the same endpoints.
 */
import type { IpFamily } from '../cluster/values.ts';
import type { Logger } from '../log/logger.ts';
import type { Backend, ProxyMode } from '../reconcile/backend.ts';
import type { ReconcileObserver, SyncReport } from '../reconcile/observer.ts';
import { cleanUp } from './cleanup.ts';

/**
 * As kube-proxy does it (KEP-3866); iptables and IPVS mode share chains, so neither removes the other's
 * (KEP-2448).
 */
const REMOVES: Readonly<Record<ProxyMode, readonly ProxyMode[]>> = {
  iptables: ['nftables'],
  ipvs: ['nftables'],
  nftables: ['iptables', 'ipvs'],
};

export interface ModeChangeOptions {
  readonly mode: ProxyMode;
  /** Served by this process: all of them must have synced. */
  readonly families: readonly IpFamily[];
  readonly createBackend: (mode: ProxyMode, family: IpFamily) => Promise<Backend>;
  readonly log: Logger;
}

/** Hang it on the reconciler. It works once, in the background. */
export class ModeChange implements ReconcileObserver {
  readonly #options: ModeChangeOptions;
  readonly #waiting: Set<IpFamily>;
  /** Resolves when the other modes' rules are gone, or could not be removed. */
  readonly done: Promise<void>;
  #start: () => void = () => undefined;

  constructor(options: ModeChangeOptions) {
    this.#options = options;
    this.#waiting = new Set(options.families);
    this.done = new Promise<void>((resolve) => {
      this.#start = resolve;
    }).then(() => this.#removeOthers());
  }

  synced({ family }: Pick<SyncReport, 'family'>): void {
    if (this.#waiting.delete(family) && this.#waiting.size === 0) this.#start();
  }

  async #removeOthers(): Promise<void> {
    const { mode, families, createBackend, log } = this.#options;
    try {
      const backends = await Promise.all(
        REMOVES[mode].flatMap((other) => families.map((family) => createBackend(other, family))),
      );
      const { leftovers } = await cleanUp(backends);
      for (const { object, reason } of leftovers) {
        log.warn({ object, reason }, 'Something of another proxy mode could not be removed');
      }
    } catch (error) {
      log.warn({ err: error }, 'What other proxy modes left could not be looked for');
    }
  }
}
