/**
 * kube-proxy 1.36's own metrics (`pkg/proxy/metrics`): the same names, labels, types and buckets, filled by what the
 * reconciler does. What is measured a little differently here is said in docs/metrics.md.
 */
import type { IpFamily, ObjectKey } from '../cluster/values.ts';
import { ToolError } from '../node/runner.ts';
import type { ServicePlan } from '../plan/plan.ts';
import type { ProxyMode } from '../reconcile/backend.ts';
import type { ReconcileObserver, SyncReport } from '../reconcile/observer.ts';
import { Counter, exponentialBuckets, Gauge, Histogram, linearBuckets } from './metric.ts';
import type { Registry } from './registry.ts';

/** A millisecond to 16 seconds: what kube-proxy measures its own work by. */
export const WORK_BUCKETS = exponentialBuckets(0.001, 2, 15);

/** The zero is kube-proxy's too: component-base's `MergeBuckets` begins with one. */
const NETWORK_PROGRAMMING_BUCKETS = [
  0,
  ...linearBuckets(0.25, 0.25, 2),
  ...linearBuckets(1, 1, 59),
  ...linearBuckets(60, 5, 12),
  ...linearBuckets(120, 30, 7),
];

const IP_FAMILY = ['ip_family'] as const;

export interface KubeProxyMetricsOptions {
  readonly registry: Registry;
  readonly mode: ProxyMode;
  /** When this process started, milliseconds since the epoch: what was caused before is not its latency. */
  readonly startedAt: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** Hang it on the reconciler as an observer. */
export class KubeProxyMetrics implements ReconcileObserver {
  readonly #options: KubeProxyMetricsOptions;
  readonly #now: () => number;
  readonly #work = new WorkMetrics();
  readonly #failures: FailureMetrics;
  readonly #noLocalEndpoints = new NoLocalEndpoints();
  readonly #conntrackSeconds = new Histogram(
    'kubeproxy_conntrack_reconciler_sync_duration_seconds',
    '[ALPHA] How long it took to remove stale flows from connection tracking',
    WORK_BUCKETS,
    IP_FAMILY,
  );
  readonly #conntrackDeleted = new Counter(
    'kubeproxy_conntrack_reconciler_deleted_entries_total',
    '[ALPHA] Flows removed from connection tracking',
    IP_FAMILY,
  );

  constructor(options: KubeProxyMetricsOptions) {
    const { registry, mode } = options;
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#failures = new FailureMetrics(mode);
    registry.register(
      ...this.#work.all(mode),
      ...this.#failures.all(),
      this.#noLocalEndpoints.gauge,
      this.#conntrackSeconds,
      this.#conntrackDeleted,
    );
  }

  /** Shows the counters of these families before there is anything to count. */
  begin(families: readonly IpFamily[]): void {
    for (const family of families) {
      for (const counter of [...this.#failures.all(), this.#conntrackDeleted]) {
        counter.add({ ip_family: family }, 0);
      }
    }
  }

  queued(family: IpFamily): void {
    this.#work.lastQueued.set({ ip_family: family }, this.#now() / 1000);
  }

  synced(report: SyncReport): void {
    const labels = { ip_family: report.family };
    const seconds = report.planSeconds + report.diffSeconds + report.applySeconds;
    this.#work.duration.observe(labels, seconds);
    (report.full ? this.#work.fullDuration : this.#work.partialDuration).observe(labels, seconds);
    const now = this.#now();
    this.#work.lastSynced.set(labels, now / 1000);
    for (const causedAt of report.changedAt) {
      if (causedAt < this.#options.startedAt) continue;
      this.#work.networkProgramming.observe(labels, Math.max(now - causedAt, 0) / 1000);
    }
    this.#noLocalEndpoints.synced(report);
  }

  failed(family: IpFamily, error: Error, full: boolean): void {
    this.#failures.failed(family, error, full);
  }

  uncollected(family: IpFamily): void {
    this.#failures.uncollected(family);
  }

  /** Stale flows of one family were removed from connection tracking. */
  conntrackCleaned(family: IpFamily, seconds: number, deleted: number): void {
    this.#conntrackSeconds.observe({ ip_family: family }, seconds);
    this.#conntrackDeleted.add({ ip_family: family }, deleted);
  }
}

class WorkMetrics {
  readonly duration = new Histogram(
    'kubeproxy_sync_proxy_rules_duration_seconds',
    '[ALPHA] How long a sync took: planning, comparing and writing',
    WORK_BUCKETS,
    IP_FAMILY,
  );
  readonly fullDuration = new Histogram(
    'kubeproxy_sync_full_proxy_rules_duration_seconds',
    '[ALPHA] How long a sync of everything took',
    WORK_BUCKETS,
    IP_FAMILY,
  );
  readonly partialDuration = new Histogram(
    'kubeproxy_sync_partial_proxy_rules_duration_seconds',
    '[ALPHA] How long a sync of what had changed took',
    WORK_BUCKETS,
    IP_FAMILY,
  );
  readonly lastSynced = new Gauge(
    'kubeproxy_sync_proxy_rules_last_timestamp_seconds',
    '[ALPHA] When a sync last went through',
    IP_FAMILY,
  );
  readonly lastQueued = new Gauge(
    'kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds',
    '[ALPHA] When a change was last waiting to be synced',
    IP_FAMILY,
  );
  readonly networkProgramming = new Histogram(
    'kubeproxy_network_programming_duration_seconds',
    '[ALPHA] From the cause of an endpoint change, by the clock of the control plane, to its rules being in force',
    NETWORK_PROGRAMMING_BUCKETS,
    IP_FAMILY,
  );

  /** IPVS mode has no partial syncs in kube-proxy, and so none of the two. */
  all(mode: ProxyMode) {
    const always = [this.duration, this.lastSynced, this.lastQueued, this.networkProgramming];
    return mode === 'ipvs' ? always : [...always, this.fullDuration, this.partialDuration];
  }
}

class FailureMetrics {
  readonly #mode: ProxyMode;
  readonly #restore = new Counter(
    'kubeproxy_sync_proxy_rules_iptables_restore_failures_total',
    '[ALPHA] Times that iptables-restore failed',
    IP_FAMILY,
  );
  readonly #partialRestore = new Counter(
    'kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total',
    '[ALPHA] Times that iptables-restore failed in a sync of what had changed',
    IP_FAMILY,
  );
  readonly #nftables = new Counter(
    'kubeproxy_sync_proxy_rules_nftables_sync_failures_total',
    '[ALPHA] Times that a sync failed',
    IP_FAMILY,
  );
  readonly #nftablesCleanup = new Counter(
    'kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total',
    '[ALPHA] Times that emptied chains could not be deleted',
    IP_FAMILY,
  );

  constructor(mode: ProxyMode) {
    this.#mode = mode;
  }

  all() {
    switch (this.#mode) {
      case 'iptables':
        return [this.#restore, this.#partialRestore];
      case 'ipvs':
        return [this.#restore];
      case 'nftables':
        return [this.#nftables, this.#nftablesCleanup];
    }
  }

  failed(family: IpFamily, error: Error, full: boolean): void {
    const labels = { ip_family: family };
    if (this.#mode === 'nftables') this.#nftables.add(labels);
    else if (error instanceof ToolError && error.argv[0]?.endsWith('-restore')) {
      this.#restore.add(labels);
      if (!full) this.#partialRestore.add(labels);
    }
  }

  uncollected(family: IpFamily): void {
    this.#nftablesCleanup.add({ ip_family: family });
  }
}

interface Missing {
  readonly internal: number;
  readonly external: number;
}

/** Service ports whose policy Local drops traffic because this node has none of their endpoints. */
class NoLocalEndpoints {
  readonly gauge = new Gauge(
    'kubeproxy_sync_proxy_rules_no_local_endpoints_total',
    '[ALPHA] Service ports with a Local traffic policy and no endpoint on this node',
    ['traffic_policy', 'ip_family'],
  );
  /** Only Services that have any. */
  readonly #missing = new Map<IpFamily, Map<ObjectKey, Missing>>();

  synced({ family, full, plans }: SyncReport): void {
    const missing = (!full && this.#missing.get(family)) || new Map<ObjectKey, Missing>();
    this.#missing.set(family, missing);
    for (const [key, ofService] of plans) {
      const internal = ofService.filter(dropsInside).length;
      const external = ofService.filter(dropsOutside).length;
      if (internal + external > 0) missing.set(key, { internal, external });
      else missing.delete(key);
    }
    const all = [...missing.values()];
    const sum = (policy: keyof Missing) => all.reduce((total, one) => total + one[policy], 0);
    for (const policy of ['internal', 'external'] as const) {
      this.gauge.set({ traffic_policy: policy, ip_family: family }, sum(policy));
    }
  }
}

/** Dropping is what policy Local does; without endpoints anywhere traffic is rejected. */
function dropsInside({ frontEnds }: ServicePlan): boolean {
  return frontEnds.some(({ kind, routes }) => kind === 'clusterIP' && routes.other.action === 'drop');
}

function dropsOutside({ frontEnds }: ServicePlan): boolean {
  return frontEnds.some(({ kind, routes }) => kind !== 'clusterIP' && routes.other.action === 'drop');
}
