/** One family's rounds: one at a time, each from everything that is known by then. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ObjectKey } from '../cluster/values.ts';
import { ToolError } from '../node/runner.ts';
import type { NodePlan, ServicePlan } from '../plan/plan.ts';
import type { Change } from '../reconcile/backend.ts';
import { pause } from '../reconcile/wake.ts';
import type { UdpFlowCleanerOptions } from './cleaner.ts';
import { type InForce, type UdpFrontEnds, udpFrontEnds } from './front-ends.ts';
import { type FlowSelection, isStaleSelection, StaleFlows } from './stale.ts';
import { UdpFlowTable } from './table.ts';

/** Deletions at a time: each keeps a processor busy, and the node has other work. */
const PARALLEL = 2;

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;

export class FamilyCleaner {
  readonly #options: UdpFlowCleanerOptions;
  readonly #signal: AbortSignal;
  readonly #table: UdpFlowTable;
  #node: NodePlan;
  readonly #plans = new Map<ObjectKey, readonly ServicePlan[]>();
  /** What was in force until something took its place, as long as no round since has gone through. */
  readonly #before: InForce[] = [];
  #frontEnds: UdpFrontEnds | undefined;
  #wanted = false;
  #working = false;
  #done: Promise<void> = Promise.resolve();
  #failures = 0;
  #saidMissing = false;

  constructor(options: UdpFlowCleanerOptions, node: NodePlan, signal: AbortSignal) {
    this.#options = options;
    this.#node = node;
    this.#signal = signal;
    this.#table = new UdpFlowTable(options.runner, node.family);
  }

  /** Takes note of what was written, and has a round follow if UDP is concerned. */
  programmed(change: Change): void {
    const concerned = this.#note(change);
    this.#frontEnds = undefined;
    if (!concerned) return;
    this.#wanted = true;
    if (this.#working) return;
    this.#working = true;
    this.#done = this.#work();
  }

  /** Resolves when no round is under way. */
  idle(): Promise<void> {
    return this.#done;
  }

  /** @returns whether UDP plans came, changed or went, or all were looked at */
  #note({ node, services, full }: Change): boolean {
    let concerned = false;
    if (full) {
      concerned = this.#plans.size > 0;
      for (const plans of this.#plans.values()) this.#before.push({ node: this.#node, plans });
      this.#plans.clear();
    }
    for (const [key, plans] of services) {
      const replaced = this.#plans.get(key);
      if (replaced) this.#before.push({ node: this.#node, plans: replaced });
      const udp = plans.filter(({ protocol }) => protocol === 'UDP');
      if (udp.length > 0) this.#plans.set(key, udp);
      else this.#plans.delete(key);
      concerned ||= udp.length > 0 || replaced !== undefined;
    }
    this.#node = node;
    return concerned;
  }

  async #work(): Promise<void> {
    // The sync that this follows is to end first.
    await nextTurn();
    while (this.#wanted && !this.#signal.aborted) {
      this.#wanted = false;
      const started = performance.now();
      const retry = await this.#tryRound();
      if (retry) this.#wanted = true;
      // A table that takes long to read is not read all the time.
      await pause(retry ? this.#retryMs() : performance.now() - started, this.#signal);
    }
    this.#working = false;
  }

  /** @returns whether it has to be tried again, though nothing changes */
  async #tryRound(): Promise<boolean> {
    try {
      await this.#round();
      this.#failures = 0;
      return false;
    } catch (error) {
      if (this.#signal.aborted) return false;
      if (error instanceof ToolError && error.reason === 'missing') {
        this.#sayMissing();
        return false;
      }
      this.#failures += 1;
      this.#options.log[this.#failures === 1 ? 'warn' : 'debug'](
        { family: this.#node.family, err: error, retryInMs: this.#retryMs() },
        'Stale UDP flows could not be deleted; nothing is forgotten, it will be tried again',
      );
      return true;
    }
  }

  #retryMs(): number {
    const { firstRetryMs = FIRST_RETRY_MS } = this.#options;
    return Math.min(firstRetryMs * 2 ** (this.#failures - 1), LONGEST_RETRY_MS);
  }

  #sayMissing(): void {
    // Whoever installs it later gets what is stale by then.
    this.#before.length = 0;
    if (this.#saidMissing) return;
    this.#saidMissing = true;
    this.#options.log.warn(
      { family: this.#node.family },
      'There is no program conntrack; install the package conntrack (conntrack-tools). Until then UDP clients that keep their port stay with endpoints that are gone',
    );
  }

  async #round(): Promise<void> {
    const { family } = this.#node;
    const left = this.#before.length;
    this.#frontEnds = undefined;
    const frontEnds = this.#known();
    if (frontEnds.size === 0) return;
    const started = performance.now();
    const stale = new StaleFlows(frontEnds);
    const listed = await this.#table.list((flow) => stale.add(flow), this.#signal);
    const deleted = await this.#deleteAll(stale.selections());
    this.#before.splice(0, left);
    const seconds = (performance.now() - started) / 1000;
    this.#options.log.debug({ family, listed, deleted, seconds }, 'Looked for stale UDP flows');
    this.#options.cleaned?.({ family, listed, deleted, seconds });
  }

  /** The front ends by what was written last; the same until the next change. */
  #known(): UdpFrontEnds {
    this.#frontEnds ??= udpFrontEnds({
      now: { node: this.#node, plans: [...this.#plans.values()].flat() },
      before: this.#before,
      nodeAddresses: this.#options.nodeAddresses(),
      slicesOf: (service) => this.#options.slicesOf(service),
    });
    return this.#frontEnds;
  }

  async #deleteAll(selections: FlowSelection[]): Promise<number> {
    let deleted = 0;
    const worker = async (): Promise<void> => {
      for (let next = selections.pop(); next; next = selections.pop()) {
        // While many are deleted, an endpoint may have come back.
        if (isStaleSelection(next, this.#known())) deleted += await this.#table.delete(next, this.#signal);
      }
    };
    const ends = await Promise.allSettled(Array.from({ length: PARALLEL }, worker));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    return deleted;
  }
}
