/** One family's rounds: one at a time, each from everything that is known by then. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ObjectKey } from '../cluster/values.ts';
import { ToolError } from '../node/runner.ts';
import type { NodePlan, ServicePlan } from '../plan/plan.ts';
import type { Change } from '../reconcile/backend.ts';
import { pause } from '../reconcile/wake.ts';
import type { UdpFlowCleanerOptions } from './cleaner.ts';
import type { SocketKey } from './flow.ts';
import { type InForce, type UdpFrontEnds, udpFrontEnds, udpSockets } from './front-ends.ts';
import { type FlowSelection, isStaleSelection, StaleFlows } from './stale.ts';
import { UdpFlowTable } from './table.ts';

/** Deletions at a time: each keeps a processor busy, and the node has other work. */
const PARALLEL = 2;

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;

/** Where no round ever goes through, Services come and go all the same. */
const MOST_FORMER = 10_000;

export class FamilyCleaner {
  readonly #options: UdpFlowCleanerOptions;
  readonly #signal: AbortSignal;
  readonly #onMissing: () => void;
  readonly #table: UdpFlowTable;
  #node: NodePlan;
  readonly #plans = new Map<ObjectKey, readonly ServicePlan[]>();
  /** What was in force until something took its place since the last round began. */
  #replaced: InForce[] = [];
  /** Front ends of what was replaced before that, as long as no round has gone through. */
  #former = new Set<SocketKey>();
  #frontEnds: UdpFrontEnds | undefined;
  #wanted = false;
  #working = false;
  #done: Promise<void> = Promise.resolve();
  #failures = 0;

  /** `node` is that of the first change; `onMissing` is called whenever the tool is not there. */
  constructor(options: UdpFlowCleanerOptions, node: NodePlan, signal: AbortSignal, onMissing: () => void) {
    this.#options = options;
    this.#node = node;
    this.#signal = signal;
    this.#onMissing = onMissing;
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
      for (const plans of this.#plans.values()) this.#replaced.push({ node: this.#node, plans });
      this.#plans.clear();
    }
    for (const [key, plans] of services) {
      const replaced = this.#plans.get(key);
      if (replaced) this.#replaced.push({ node: this.#node, plans: replaced });
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
        // Whoever installs it later gets what is stale by then.
        this.#former.clear();
        this.#onMissing();
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

  async #round(): Promise<void> {
    const { family } = this.#node;
    const frontEnds = this.#gather();
    if (frontEnds.size === 0) return;
    const started = performance.now();
    const stale = new StaleFlows(frontEnds);
    const listed = await this.#table.list((flow) => stale.add(flow), this.#signal);
    const deleted = await this.#deleteAll(stale.selections());
    // What was replaced meanwhile is for the next round.
    this.#former.clear();
    const seconds = (performance.now() - started) / 1000;
    this.#options.log.debug({ family, listed, deleted, seconds }, 'Looked for stale UDP flows');
    this.#options.cleaned?.({ family, listed, deleted, seconds });
  }

  /** The front ends by what is known now; of what was replaced, those that are no more are kept until a round succeeds. */
  #gather(): UdpFrontEnds {
    const nodeAddresses = this.#options.nodeAddresses();
    for (const inForce of this.#replaced) {
      for (const key of udpSockets(inForce, nodeAddresses)) this.#former.add(key);
    }
    this.#replaced = [];
    this.#frontEnds = undefined;
    const frontEnds = this.#known();
    for (const key of this.#former) if (frontEnds.get(key)?.former !== true) this.#former.delete(key);
    for (const key of this.#former) {
      if (this.#former.size <= MOST_FORMER) break;
      this.#former.delete(key);
    }
    return frontEnds;
  }

  /** The front ends by what was written last; the same until the next change. */
  #known(): UdpFrontEnds {
    this.#frontEnds ??= udpFrontEnds({
      now: { node: this.#node, plans: [...this.#plans.values()].flat() },
      former: this.#former,
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
