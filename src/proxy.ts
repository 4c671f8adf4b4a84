/**
 * The program without its edges: a source feeds a cluster, whose changes are planned and written by one back
 * end per family. `run`, `dump`, the demo, the benchmarks and the packet tests all put it together here.
 */
import { Cluster } from './cluster/cluster.ts';
import type { IpFamily, ValueKind } from './cluster/values.ts';
import { localDetectors, nodePlan } from './config/node-plan.ts';
import type { Options } from './config/options.ts';
import type { Logger } from './log/logger.ts';
import type { NodePlan } from './plan/plan.ts';
import type { PlanContext } from './plan/service-plan.ts';
import type { Backend } from './reconcile/backend.ts';
import type { LoopInput } from './reconcile/family-loop.ts';
import type { ReconcileObserver } from './reconcile/observer.ts';
import { Reconciler } from './reconcile/reconciler.ts';
import type { Source } from './source/source.ts';

export interface NodeProxyOptions {
  readonly options: Options;
  readonly nodeName: string;
  readonly source: Source;
  /** One for each family that is served. */
  readonly backends: readonly Backend[];
  /** Every address of this node's interfaces, asked for again as time goes by. */
  nodeAddresses(): readonly string[];
  readonly log: Logger;
  readonly observers?: readonly ReconcileObserver[];
  /** Kinds that must be listed before anything is written; default Services and EndpointSlices. */
  readonly requiredKinds?: readonly ValueKind[];
  /** Compare with what the kernel holds (default); a dry run starts from nothing. */
  readonly observeFirst?: boolean;
}

/** kube-proxy's: everything is read back and compared once an hour, whatever happens. */
const FULL_PERIOD_MS = 3_600_000;

export class NodeProxy {
  readonly cluster: Cluster;
  readonly reconciler: Reconciler;
  readonly #given: NodeProxyOptions;

  constructor(given: NodeProxyOptions) {
    this.#given = given;
    const { nodeName, requiredKinds } = given;
    this.cluster = new Cluster({ nodeName, ...(requiredKinds ? { requiredKinds } : {}) });
    this.reconciler = new Reconciler({
      backends: given.backends,
      feed: this.cluster,
      input: this.#input(),
      timing: {
        minIntervalMs: given.options.minSyncPeriod,
        syncPeriodMs: given.options.syncPeriod,
        fullPeriodMs: FULL_PERIOD_MS,
      },
      log: given.log,
      observers: given.observers ?? [],
      observeFirst: given.observeFirst ?? true,
    });
  }

  /** Runs until `signal` aborts; the rules stay. Rejects when the source cannot work at all. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#withSource(signal, (both) => this.reconciler.run(both));
  }

  /** One sync of everything, then ends. Rejects when the source or a tool cannot do it. */
  async syncOnce(signal: AbortSignal): Promise<void> {
    await this.#withSource(signal, (both) => this.reconciler.syncOnce(both));
  }

  /** Whichever ends first ends the other; the first error is the one reported. */
  async #withSource(signal: AbortSignal, work: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const over = new AbortController();
    const both = AbortSignal.any([signal, over.signal]);
    const source = this.#given.source.run(this.cluster, both).catch((error: unknown) => {
      over.abort();
      throw error;
    });
    const working = work(both).finally(() => over.abort());
    await Promise.all([source, working]);
  }

  #input(): LoopInput {
    return {
      service: (key) => this.cluster.service(key),
      slicesOf: (key) => this.cluster.slicesOf(key),
      serviceKeys: () => this.cluster.serviceKeys(),
      context: (family) => this.#context(family),
      nodePlan: (family) => this.#nodePlan(family),
    };
  }

  #context(family: IpFamily): PlanContext {
    const { options, nodeName } = this.#given;
    const { node } = this.cluster;
    return {
      family,
      nodeName,
      zone: node?.zone ?? '',
      detector: localDetectors(options, node)[family],
      masqueradeAll: options.masqueradeAll,
      nodeAddresses: node?.addresses ?? [],
      podCIDRs: node?.podCIDRs ?? [],
    };
  }

  #nodePlan(family: IpFamily): NodePlan {
    const { options } = this.#given;
    return nodePlan(
      options,
      this.cluster.node,
      this.cluster.serviceCIDRs(),
      this.#given.nodeAddresses(),
      family,
      this.cluster.claimedNodeAddresses(),
    );
  }
}
