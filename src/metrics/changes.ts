/** How many Services and EndpointSlices changed, and how many changes are not yet in the kernel. */
import { type ClusterValue, type ObjectKey, type ValueKind, valueKey } from '../cluster/values.ts';
import { Counter, Gauge } from './metric.ts';
import type { Registry } from './registry.ts';

/**
 * Shown every value that a source reports. Like kube-proxy's, these metrics have no family; unlike those (its two
 * proxiers both write them) each change counts once.
 */
export class ChangeMetrics {
  readonly #total = {
    Service: new Counter(
      'kubeproxy_sync_proxy_rules_service_changes_total',
      '[ALPHA] Changes of Services that were reported',
      [],
    ),
    EndpointSlice: new Counter(
      'kubeproxy_sync_proxy_rules_endpoint_changes_total',
      '[ALPHA] Changes of EndpointSlices that were reported',
      [],
    ),
  };
  readonly #pending = {
    Service: new Gauge(
      'kubeproxy_sync_proxy_rules_service_changes_pending',
      '[ALPHA] Services that changed and have yet to be synced',
      [],
    ),
    EndpointSlice: new Gauge(
      'kubeproxy_sync_proxy_rules_endpoint_changes_pending',
      '[ALPHA] Services whose endpoints changed and have yet to be synced',
      [],
    ),
  };
  /** Services whose own change, or whose endpoints' change, is not written yet. */
  readonly #marked = { Service: new Set<ObjectKey>(), EndpointSlice: new Set<ObjectKey>() };
  readonly #listed = new Set<ValueKind>();
  #pendingServices: () => Iterable<ObjectKey> = () => [];

  constructor(registry: Registry) {
    for (const kind of KINDS) {
      registry.register(this.#total[kind], this.#pending[kind]);
      this.#total[kind].add({}, 0);
    }
    registry.beforeReading(() => this.#measure());
  }

  /** Where to ask which Services have changes that are not yet written. */
  follow(pendingServices: () => Iterable<ObjectKey>): void {
    this.#pendingServices = pendingServices;
  }

  /** The first list of a kind is all news. What a later one brings cannot be told from what was known. */
  values(kind: ValueKind, values: ReadonlyMap<ObjectKey, ClusterValue>): void {
    if (!isCounted(kind) || this.#listed.has(kind)) return;
    this.#listed.add(kind);
    this.#total[kind].add({}, values.size);
  }

  value(kind: ValueKind, _key: ObjectKey, value: ClusterValue | undefined): void {
    if (!isCounted(kind)) return;
    this.#total[kind].add({});
    if (value?.kind === 'Service') this.#marked.Service.add(valueKey(value));
    if (value?.kind === 'EndpointSlice') {
      this.#marked.EndpointSlice.add(`${value.namespace}/${value.serviceName}`);
    }
  }

  /** Forgets what is written. What came this very moment may go with it, and counts for its endpoints then. */
  synced(): void {
    const pending = new Set(this.#pendingServices());
    for (const marks of Object.values(this.#marked)) {
      for (const key of marks) if (!pending.has(key)) marks.delete(key);
    }
  }

  /** A pending Service that did not change itself is pending for its endpoints, as when a slice goes. */
  #measure(): void {
    const pending = [...new Set(this.#pendingServices())];
    const { Service: own, EndpointSlice: endpoints } = this.#marked;
    const ofEndpoints = pending.filter((key) => endpoints.has(key) || !own.has(key));
    this.#pending.Service.set({}, pending.filter((key) => own.has(key)).length);
    this.#pending.EndpointSlice.set({}, ofEndpoints.length);
  }
}

const KINDS = ['Service', 'EndpointSlice'] as const;

function isCounted(kind: ValueKind): kind is (typeof KINDS)[number] {
  return kind === 'Service' || kind === 'EndpointSlice';
}
