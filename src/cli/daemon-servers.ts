/**
 * What the daemon tells the outside: its own health and that of Services with a health check port, metrics, and Events.
 */
import { hostname } from 'node:os';
import type { IpFamily, ValueKind } from '../cluster/values.ts';
import { nodePlan } from '../config/node-plan.ts';
import type { Options } from '../config/options.ts';
import { ProxyEvents } from '../events/proxy-events.ts';
import { EventRecorder } from '../events/recorder.ts';
import type { Logger } from '../log/logger.ts';
import type { ProxyMetrics } from '../metrics/proxy-metrics.ts';
import type { NodeProxy } from '../proxy.ts';
import type { ReconcileObserver } from '../reconcile/observer.ts';
import { HealthTracker } from '../serve/health-tracker.ts';
import { createHealthzServer } from '../serve/healthz.ts';
import type { Listener } from '../serve/http.ts';
import { createMetricsServer } from '../serve/metrics-server.ts';
import { readinessChecks } from '../serve/readiness.ts';
import { ServiceHealthServers } from '../serve/service-health.ts';
import { DEFAULT_TIMING } from '../source/api/options.ts';
import type { Transport } from '../source/api/transport.ts';
import { VERSION } from '../version.ts';
import { HealthCheckedServices } from './health-ports.ts';
import type { Tap } from './source.ts';

export interface DaemonServersOptions {
  readonly options: Options;
  /** Every flag's value as text, by its name without dashes. */
  readonly flags: Readonly<Record<string, string>>;
  readonly nodeName: string;
  readonly families: readonly IpFamily[];
  /** Kinds without which nothing is written. */
  readonly requiredKinds: readonly ValueKind[];
  /** Every address of this node's interfaces. */
  nodeAddresses(): readonly string[];
  readonly metrics: ProxyMetrics;
  /** The way to the API server, for Events; `undefined` when objects come from somewhere else. */
  readonly transport: Pick<Transport, 'send'> | undefined;
  readonly log: Logger;
}

/** A watch of the API that is well speaks sooner than this: bookmarks come, or it is opened anew and answered. */
const MAX_SILENCE_MS = DEFAULT_TIMING.idleWithoutBookmarksMs + DEFAULT_TIMING.responseMs;

/** How long the end waits for the Event that tells of it, milliseconds. */
const LAST_EVENT_MS = 2000;

/** Hang `tap` on the source and `observers` on the reconciler, then `start`. */
export class DaemonServers {
  readonly tap: Tap;
  readonly observers: readonly ReconcileObserver[];
  readonly #given: DaemonServersOptions;
  readonly #tracker: HealthTracker;
  readonly #recorder: EventRecorder | undefined;
  readonly #events: ProxyEvents;
  readonly #healthChecked = new HealthCheckedServices();
  readonly #healthPorts: ReadonlyMap<IpFamily, ServiceHealthServers>;
  readonly #servers: Listener[] = [];
  #proxy: Pick<NodeProxy, 'cluster' | 'reconciler'> | undefined;

  constructor(given: DaemonServersOptions) {
    const { options, nodeName, families, metrics, transport, log } = given;
    this.#given = given;
    this.#tracker = new HealthTracker({ syncPeriod: options.syncPeriod });
    this.#recorder = transport && new EventRecorder({ transport, host: hostname(), log });
    this.#events = new ProxyEvents({
      nodeName,
      mode: options.proxyMode,
      record: (event) => this.#recorder?.record(event),
    });
    this.tap = {
      value: (...change) => {
        this.#healthChecked.value(...change);
        metrics.value(...change);
      },
      values: (...list) => {
        this.#healthChecked.values(...list);
        metrics.values(...list);
      },
    };
    this.observers = [
      this.#tracker,
      { synced: ({ family }) => this.#syncHealthPorts(family) },
      ...metrics.observers,
      this.#events,
    ];
    this.#healthPorts = new Map(families.map((family) => [family, this.#serviceHealth(family)]));
  }

  /** Rejects only with `--bind-address-hard-fail`. */
  async start(proxy: Pick<NodeProxy, 'cluster' | 'reconciler'>): Promise<void> {
    this.#proxy = proxy;
    const { cluster, reconciler } = proxy;
    const { options, families, metrics } = this.#given;
    cluster.onChange(() => this.#tracker.nodeChanged(cluster.node));
    metrics.follow({
      families,
      pendingServices: () => reconciler.loops.flatMap(({ pending }) => [...pending]),
      statuses: () => cluster.statuses(),
    });
    if (options.healthzBindAddress) {
      await this.#start(this.#healthz(options.healthzBindAddress), (error) =>
        this.#events.healthzFailed(error),
      );
    }
    if (options.metricsBindAddress) {
      await this.#start(this.#metrics(options.metricsBindAddress), (error) =>
        this.#events.metricsFailed(error),
      );
    }
    this.#events.starting();
  }

  async close(): Promise<void> {
    this.#recorder?.close();
    await Promise.all([...this.#servers, ...this.#healthPorts.values()].map((server) => server.close()));
  }

  async #start(server: Listener, tell: (error: Error) => void): Promise<void> {
    this.#servers.push(server);
    try {
      await server.start(this.#given.options.bindAddressHardFail);
    } catch (error) {
      tell(error as Error);
      await this.#recorder?.flush(LAST_EVENT_MS);
      throw error;
    }
  }

  #healthz(address: NonNullable<Options['healthzBindAddress']>): Listener {
    const { metrics, log } = this.#given;
    return createHealthzServer({
      ...address,
      log,
      state: () => this.#tracker.state(),
      answered: (path, status) => metrics.answered(path, status),
    });
  }

  #metrics(address: NonNullable<Options['metricsBindAddress']>): Listener {
    const { options, flags, families, requiredKinds, metrics, transport, log } = this.#given;
    const { featureGates } = options;
    return createMetricsServer({
      ...address,
      log,
      mode: options.proxyMode,
      registry: metrics.registry,
      version: VERSION,
      startedAt: metrics.startedAt,
      configs: { 'kubeproxy.config.k8s.io': options.configuration },
      flags: featureGates.ComponentFlagz ? flags : undefined,
      statusz: featureGates.ComponentStatusz,
      readiness: readinessChecks({
        families,
        requiredKinds,
        health: () => this.#tracker.state(),
        statuses: () => this.#proxy?.cluster.statuses() ?? new Map(),
        maxSilenceMs: transport && MAX_SILENCE_MS,
      }),
    });
  }

  #serviceHealth(family: IpFamily): ServiceHealthServers {
    return new ServiceHealthServers({
      family,
      proxyHealthy: () => this.#tracker.isHealthy(),
      log: this.#given.log,
      failed: (service, port, error) => this.#events.serviceHealthFailed(service, port, error),
    });
  }

  #syncHealthPorts(family: IpFamily): void {
    const cluster = this.#proxy?.cluster;
    if (!cluster) return;
    const { options, nodeName, log } = this.#given;
    const desired = this.#healthChecked.health(family, nodeName, (service) => cluster.slicesOf(service));
    const { nodePortAddresses } = nodePlan(options, cluster.node, [], this.#given.nodeAddresses(), family);
    this.#healthPorts
      .get(family)
      ?.sync(desired, nodePortAddresses)
      .catch((error: unknown) => log.error({ err: error, family }, 'Health check ports could not be set up'));
  }
}
