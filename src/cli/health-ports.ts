/** The health check ports of Services, kept up to date with what is synced. */
import type {
  ClusterValue,
  IpFamily,
  ObjectKey,
  ServiceValue,
  SliceValue,
  ValueKind,
} from '../cluster/values.ts';
import { familyOf } from '../net/ip.ts';
import type { ServiceHealth } from '../serve/service-health.ts';
import type { Tap } from './source.ts';

/** The Services that have a `healthCheckNodePort`: few among many, and looked at after every sync. */
export class HealthCheckedServices implements Pick<Tap, 'value' | 'values'> {
  readonly #services = new Map<ObjectKey, ServiceValue>();

  values(kind: ValueKind, values: ReadonlyMap<ObjectKey, ClusterValue>): void {
    if (kind !== 'Service') return;
    this.#services.clear();
    for (const [key, value] of values) this.value(kind, key, value);
  }

  value(kind: ValueKind, key: ObjectKey, value: ClusterValue | undefined): void {
    if (kind !== 'Service') return;
    if (value?.kind === 'Service' && value.healthCheckNodePort > 0) this.#services.set(key, value);
    else this.#services.delete(key);
  }

  /**
   * What each of them answers in one family: the distinct addresses of ready endpoints on this node. A terminating
   * one is not ready.
   */
  health(
    family: IpFamily,
    nodeName: string,
    slicesOf: (service: ObjectKey) => readonly SliceValue[],
  ): Map<ObjectKey, ServiceHealth> {
    const health = new Map<ObjectKey, ServiceHealth>();
    for (const [key, { clusterIPs, healthCheckNodePort }] of this.#services) {
      if (!clusterIPs.some((address) => familyOf(address) === family)) continue;
      const slices = slicesOf(key).filter((slice) => slice.family === family);
      const local = slices.flatMap(({ endpoints }) =>
        endpoints.filter((endpoint) => endpoint.ready && endpoint.nodeName === nodeName),
      );
      const addresses = new Set(local.map(({ address }) => address));
      health.set(key, { port: healthCheckNodePort, localEndpoints: addresses.size });
    }
    return health;
  }
}
