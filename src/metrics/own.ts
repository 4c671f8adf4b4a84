/** Metrics that kube-proxy has not: few, each for a question that its own cannot answer (docs/metrics.md). */
import type { IpFamily, ObjectKey, ValueKind } from '../cluster/values.ts';
import type { ReconcileObserver, SyncReport } from '../reconcile/observer.ts';
import type { SourceStatus } from '../source/source.ts';
import { WORK_BUCKETS } from './kubeproxy.ts';
import { Counter, exponentialBuckets, Gauge, Histogram } from './metric.ts';
import type { Registry } from './registry.ts';

/** A millisecond to four and a half minutes. */
const WAIT_BUCKETS = exponentialBuckets(0.001, 2, 19);

/** Hang it on the reconciler as an observer. */
export class OwnMetrics implements ReconcileObserver {
  readonly #phases = new Histogram(
    'kube_rulesync_sync_phase_duration_seconds',
    'How long each phase of a sync took: plan (what should be), diff (the steps there), apply (the tools)',
    WORK_BUCKETS,
    ['ip_family', 'phase'],
  );
  readonly #latency = new Histogram(
    'kube_rulesync_change_latency_seconds',
    'From a change reaching this program to its rules being in force, by this clock alone',
    WAIT_BUCKETS,
    ['ip_family'],
  );
  readonly #failures = new Counter(
    'kube_rulesync_sync_failures_total',
    'Attempts to write rules that failed, for whatever reason',
    ['ip_family'],
  );
  readonly #setAside = new Gauge(
    'kube_rulesync_services_set_aside',
    'Services whose rules were refused: they keep those they had until they change',
    ['ip_family'],
  );
  readonly #repairs = new Counter(
    'kube_rulesync_drift_repairs_total',
    'Times that somebody else had changed or removed our rules, which were put back',
    ['ip_family'],
  );
  readonly #lastHeard = new Gauge(
    'kube_rulesync_source_last_heard_timestamp_seconds',
    'When anything was last heard of a kind of object',
    ['kind'],
  );
  readonly #servicesSetAside = new Map<IpFamily, Set<ObjectKey>>();
  #statuses: () => ReadonlyMap<ValueKind, SourceStatus> = () => new Map();

  constructor(registry: Registry) {
    registry.register(
      this.#phases,
      this.#latency,
      this.#failures,
      this.#setAside,
      this.#repairs,
      this.#lastHeard,
    );
    registry.beforeReading(() => this.#readStatuses());
  }

  /** Shows the counters of these families before there is anything to count. */
  begin(families: readonly IpFamily[]): void {
    for (const family of families) {
      const labels = { ip_family: family };
      this.#failures.add(labels, 0);
      this.#setAside.set(labels, 0);
      this.#repairs.add(labels, 0);
    }
  }

  /** Where to ask how the source is. */
  follow(statuses: () => ReadonlyMap<ValueKind, SourceStatus>): void {
    this.#statuses = statuses;
  }

  synced({ family, planSeconds, diffSeconds, applySeconds, waitedSeconds }: SyncReport): void {
    this.#phases.observe({ ip_family: family, phase: 'plan' }, planSeconds);
    this.#phases.observe({ ip_family: family, phase: 'diff' }, diffSeconds);
    this.#phases.observe({ ip_family: family, phase: 'apply' }, applySeconds);
    if (waitedSeconds > 0) this.#latency.observe({ ip_family: family }, waitedSeconds);
  }

  failed(family: IpFamily): void {
    this.#failures.add({ ip_family: family });
  }

  setAside(family: IpFamily, service: ObjectKey): void {
    this.#changeSetAside(family, (services) => services.add(service));
  }

  readmitted(family: IpFamily, service: ObjectKey): void {
    this.#changeSetAside(family, (services) => services.delete(service));
  }

  drifted(family: IpFamily): void {
    this.#repairs.add({ ip_family: family });
  }

  #changeSetAside(family: IpFamily, change: (services: Set<ObjectKey>) => void): void {
    const services = this.#servicesSetAside.get(family) ?? new Set();
    this.#servicesSetAside.set(family, services);
    change(services);
    this.#setAside.set({ ip_family: family }, services.size);
  }

  #readStatuses(): void {
    for (const [kind, { lastHeardAt }] of this.#statuses()) {
      if (lastHeardAt > 0) this.#lastHeard.set({ kind }, lastHeardAt / 1000);
    }
  }
}
