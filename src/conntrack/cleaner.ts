/**
 * UDP knows no end of a connection: a client that keeps its port stays with the endpoint that its first packet was
 * translated to, each packet making the entry in the connection-tracking table last longer, whether anybody is there
 * or not. So entries that no longer fit the rules are deleted, and the next packet meets the rules as a first one.
 *
 * It comes after the rules and never holds them up. What is stale is derived from desired state and the table each
 * time, in one pass, so that a round that failed has nothing to lose. TCP and SCTP end by themselves.
 */
import type { IpFamily, ObjectKey, SliceValue } from '../cluster/values.ts';
import type { Logger } from '../log/logger.ts';
import type { CommandRunner } from '../node/runner.ts';
import type { Change } from '../reconcile/backend.ts';
import type { ReconcileObserver } from '../reconcile/observer.ts';
import { FamilyCleaner } from './family-cleaner.ts';

/** A round that went through. */
export interface FlowCleanup {
  readonly family: IpFamily;
  /** UDP flows in the table. */
  readonly listed: number;
  readonly deleted: number;
  readonly seconds: number;
}

export interface UdpFlowCleanerOptions {
  readonly runner: CommandRunner;
  slicesOf(service: ObjectKey): readonly SliceValue[];
  /** Addresses of this node's interfaces, of any family. */
  nodeAddresses(): readonly string[];
  readonly log: Logger;
  /** For metrics: after each round. */
  cleaned?(cleanup: FlowCleanup): void;
  /** Milliseconds until a round that failed is tried again, doubling from then on; default 1,000. */
  readonly firstRetryMs?: number;
}

/** Hang it on the reconciler, and close it when that has ended. */
export class UdpFlowCleaner implements ReconcileObserver {
  readonly #options: UdpFlowCleanerOptions;
  readonly #families = new Map<IpFamily, FamilyCleaner>();
  readonly #over = new AbortController();
  #saidMissing = false;

  constructor(options: UdpFlowCleanerOptions) {
    this.#options = options;
  }

  programmed(change: Change): void {
    const { family } = change.node;
    let cleaner = this.#families.get(family);
    if (cleaner === undefined) {
      cleaner = new FamilyCleaner(this.#options, change.node, this.#over.signal, () => this.#sayMissing());
      this.#families.set(family, cleaner);
    }
    cleaner.programmed(change);
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#over.abort();
    await Promise.all([...this.#families.values()].map((cleaner) => cleaner.idle()));
  }
  #sayMissing(): void {
    if (this.#saidMissing) return;
    this.#saidMissing = true;
    this.#options.log.warn(
      'There is no program conntrack; install the package conntrack (conntrack-tools). Until then UDP clients that keep their port stay with endpoints that are gone',
    );
  }
}
