/** Every metric of the daemon, and what feeds it. */
import type { ClusterValue, IpFamily, ObjectKey, ValueKind } from '../cluster/values.ts';
import type { FlowCleanup } from '../conntrack/cleaner.ts';
import type { CommandRunner } from '../node/runner.ts';
import type { Backend, ProxyMode } from '../reconcile/backend.ts';
import type { ReconcileObserver } from '../reconcile/observer.ts';
import type { ApiHooks } from '../source/api/options.ts';
import type { SourceStatus } from '../source/source.ts';
import { ApiMetrics } from './api.ts';
import { type FeatureGate, registerBuildInfo } from './build-info.ts';
import { ChangeMetrics } from './changes.ts';
import { measureEventLoop } from './event-loop.ts';
import { IptablesMetrics, registerPacketCounters } from './iptables.ts';
import { KubeProxyMetrics } from './kubeproxy.ts';
import { Counter } from './metric.ts';
import { OwnMetrics } from './own.ts';
import { registerProcessMetrics } from './process.ts';
import { Registry } from './registry.ts';

export interface ProxyMetricsOptions {
  readonly mode: ProxyMode;
  /** `v0.1.0`. */
  readonly version: string;
  readonly featureGates: readonly FeatureGate[];
  /** Asks the kernel's packet counters, in iptables mode. */
  readonly runner: CommandRunner;
}

/** What metrics are looked up from when they are read. */
export interface Measured {
  readonly families: readonly IpFamily[];
  /** Services with changes that are not yet in the kernel. */
  pendingServices(): Iterable<ObjectKey>;
  statuses(): ReadonlyMap<ValueKind, SourceStatus>;
}

export class ProxyMetrics {
  readonly registry = new Registry();
  /** For the API source. */
  readonly hooks: ApiHooks;
  /** For the reconciler. */
  readonly observers: readonly ReconcileObserver[];
  /** When this process started, milliseconds since the epoch. */
  readonly startedAt = Math.round(Date.now() - process.uptime() * 1000);
  readonly #changes: ChangeMetrics;
  readonly #kubeProxy: KubeProxyMetrics;
  readonly #own: OwnMetrics;
  readonly #iptables: IptablesMetrics | undefined;
  readonly #healthz = new Counter(
    'kubeproxy_proxy_healthz_total',
    '[ALPHA] Answers of /healthz by their status',
    ['code'],
  );
  readonly #livez = new Counter('kubeproxy_proxy_livez_total', '[ALPHA] Answers of /livez by their status', [
    'code',
  ]);
  readonly #stop: () => void;

  constructor({ mode, version, featureGates, runner }: ProxyMetricsOptions) {
    const { registry, startedAt } = this;
    this.hooks = new ApiMetrics(registry);
    this.#changes = new ChangeMetrics(registry);
    this.#kubeProxy = new KubeProxyMetrics({ registry, mode, startedAt });
    this.#own = new OwnMetrics(registry);
    if (mode === 'iptables') {
      this.#iptables = new IptablesMetrics(registry);
      registerPacketCounters(registry, runner);
    }
    registry.register(this.#healthz, this.#livez);
    registerBuildInfo({ registry, version, featureGates });
    registerProcessMetrics(registry);
    this.#stop = measureEventLoop(registry);
    const iptables = this.#iptables ? [this.#iptables] : [];
    this.observers = [this.#kubeProxy, this.#own, this.#changes, ...iptables];
  }

  /** A back end whose work is counted, where there is something to count. */
  counted(backend: Backend): Backend {
    return this.#iptables?.counted(backend) ?? backend;
  }

  /** From when on there is something to look values up from. */
  follow(measured: Measured): void {
    this.#kubeProxy.begin(measured.families);
    this.#own.begin(measured.families);
    this.#changes.follow(() => measured.pendingServices());
    this.#own.follow(() => measured.statuses());
  }

  /** All that a source lists of one kind. */
  values(kind: ValueKind, values: ReadonlyMap<ObjectKey, ClusterValue>): void {
    this.#changes.values(kind, values);
  }

  /** One change that a source reports. */
  value(kind: ValueKind, key: ObjectKey, value: ClusterValue | undefined): void {
    this.#changes.value(kind, key, value);
  }

  /** The healthz server answered. */
  answered(path: string, status: number): void {
    (path === '/livez' ? this.#livez : this.#healthz).add({ code: `${status}` });
  }

  /** Stale flows were removed from connection tracking. */
  flowsCleaned({ family, seconds, deleted }: FlowCleanup): void {
    this.#kubeProxy.conntrackCleaned(family, seconds, deleted);
  }

  /** Ends what it does by itself. */
  close(): void {
    this.#stop();
  }
}
