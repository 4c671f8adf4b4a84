/** What changed in the cluster since somebody last asked. */
import type { ObjectKey } from './values.ts';

export interface ClusterChanges {
  /** Services that came, went or changed, and those whose endpoints did. */
  readonly services: ReadonlySet<ObjectKey>;
  /** The own Node came, went or changed, or Services came to ask for addresses of Nodes, or ceased to. */
  readonly node: boolean;
  readonly serviceCIDRs: boolean;
  /**
   * When the earliest of these endpoint changes was caused, milliseconds since the epoch (see
   * `SliceValue.lastChangeAt`); 0 when no slice says so. Slices that go do not count: their time is that of
   * their last update.
   */
  readonly lastChangeAt: number;
  /** The same for each Service that has one. */
  readonly lastChangeAtOf: ReadonlyMap<ObjectKey, number>;
}

/** Gathers changes until they are taken. */
export class PendingChanges {
  #services = new Set<ObjectKey>();
  #node = false;
  #serviceCIDRs = false;
  #lastChangeAtOf = new Map<ObjectKey, number>();

  /** @param causedAt when, if the change says so; else 0 */
  service(key: ObjectKey, causedAt = 0): void {
    this.#services.add(key);
    if (causedAt === 0) return;
    const earlier = this.#lastChangeAtOf.get(key);
    if (earlier === undefined || causedAt < earlier) this.#lastChangeAtOf.set(key, causedAt);
  }

  node(): void {
    this.#node = true;
  }

  serviceCIDRs(): void {
    this.#serviceCIDRs = true;
  }

  /** Everything gathered since the last call. */
  take(): ClusterChanges {
    let lastChangeAt = 0;
    for (const time of this.#lastChangeAtOf.values()) {
      if (lastChangeAt === 0 || time < lastChangeAt) lastChangeAt = time;
    }
    const taken: ClusterChanges = {
      services: this.#services,
      node: this.#node,
      serviceCIDRs: this.#serviceCIDRs,
      lastChangeAt,
      lastChangeAtOf: this.#lastChangeAtOf,
    };
    this.#services = new Set();
    this.#node = false;
    this.#serviceCIDRs = false;
    this.#lastChangeAtOf = new Map();
    return taken;
  }
}
