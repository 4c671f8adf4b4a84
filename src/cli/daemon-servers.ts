/** What the daemon answers to the outside: its own health, and that of Services with a health check port. */
import type { Cluster } from '../cluster/cluster.ts';
import type { IpFamily } from '../cluster/values.ts';
import { nodePlan } from '../config/node-plan.ts';
import type { Options } from '../config/options.ts';
import type { Logger } from '../log/logger.ts';
import type { ReconcileObserver } from '../reconcile/observer.ts';
import { HealthTracker } from '../serve/health-tracker.ts';
import { createHealthzServer } from '../serve/healthz.ts';
import type { Listener } from '../serve/http.ts';
import { ServiceHealthServers } from '../serve/service-health.ts';
import { HealthCheckedServices } from './health-ports.ts';
import type { Tap } from './source.ts';

export interface DaemonServersOptions {
  readonly options: Options;
  readonly nodeName: string;
  readonly families: readonly IpFamily[];
  /** Every address of this node's interfaces. */
  nodeAddresses(): readonly string[];
  readonly log: Logger;
}

/** Hang `tap` on the source and `observers` on the reconciler, then `start`. */
export class DaemonServers {
  readonly tap: Tap;
  readonly observers: readonly ReconcileObserver[];
  readonly #given: DaemonServersOptions;
  readonly #tracker: HealthTracker;
  readonly #healthChecked = new HealthCheckedServices();
  readonly #healthPorts: ReadonlyMap<IpFamily, ServiceHealthServers>;
  #healthz: Listener | undefined;
  #cluster: Cluster | undefined;

  constructor(given: DaemonServersOptions) {
    this.#given = given;
    const { options, families, log } = given;
    this.#tracker = new HealthTracker({ syncPeriod: options.syncPeriod });
    this.tap = this.#healthChecked;
    this.observers = [this.#tracker, { synced: ({ family }) => this.#syncHealthPorts(family) }];
    const proxyHealthy = () => this.#tracker.isHealthy();
    this.#healthPorts = new Map(
      families.map((family) => [family, new ServiceHealthServers({ family, proxyHealthy, log })]),
    );
  }

  /** Rejects only with `--bind-address-hard-fail`. */
  async start(cluster: Cluster): Promise<void> {
    this.#cluster = cluster;
    const { options, log } = this.#given;
    cluster.onChange(() => this.#tracker.nodeChanged(cluster.node));
    if (!options.healthzBindAddress) return;
    this.#healthz = createHealthzServer({
      ...options.healthzBindAddress,
      log,
      state: () => this.#tracker.state(),
    });
    await this.#healthz.start(options.bindAddressHardFail);
  }

  async close(): Promise<void> {
    await this.#healthz?.close();
    await Promise.all([...this.#healthPorts.values()].map((servers) => servers.close()));
  }

  #syncHealthPorts(family: IpFamily): void {
    const cluster = this.#cluster;
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
