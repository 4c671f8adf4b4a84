/**
 * The cluster as sources have told it so far, and what of it changed since somebody last asked. A Service is
 * touched when its own value or one of its slices changes; news that change no value touch nothing.
 */
import { isDeepStrictEqual } from 'node:util';
import { compareText, disjointCidrs } from '../net/ip.ts';
import type { SourceSink, SourceStatus } from '../source/source.ts';
import { type ClusterChanges, PendingChanges } from './changes.ts';
import { NodeAddressClaims } from './node-addresses.ts';
import type { Problem } from './project/project.ts';
import {
  type ClusterValue,
  type NodeValue,
  type ObjectKey,
  type ServiceCidrValue,
  type ServiceValue,
  type SliceValue,
  type ValueKind,
  valueKey,
} from './values.ts';

export interface ClusterOptions {
  /** Kinds that must have been listed before `synced`; default Services and EndpointSlices. */
  readonly requiredKinds?: readonly ValueKind[];
  /** Which Node is the own one; needed where the source reports others as well. */
  readonly nodeName?: string;
}

const KINDS: readonly ValueKind[] = ['Service', 'EndpointSlice', 'Node', 'ServiceCIDR'];

/**
 * Several sources may feed one cluster as long as each kind comes from one of them: `replace` speaks for the
 * whole of a kind.
 */
export class Cluster implements SourceSink {
  readonly #services = new Map<ObjectKey, ServiceValue>();
  readonly #slices = new Map<ObjectKey, SliceValue>();
  readonly #slicesOf = new Map<ObjectKey, Map<ObjectKey, SliceValue>>();
  readonly #nodes = new Map<ObjectKey, NodeValue>();
  readonly #cidrObjects = new Map<ObjectKey, ServiceCidrValue>();
  readonly #problems = new Map<ValueKind, Map<ObjectKey, readonly Problem[]>>();
  readonly #statuses = new Map<ValueKind, SourceStatus>();
  readonly #unlisted: Set<ValueKind>;
  readonly #listeners = new Set<() => void>();
  readonly #pending = new PendingChanges();
  readonly #claims = new NodeAddressClaims();
  readonly #nodeName: string | undefined;
  #node: NodeValue | undefined;
  #cidrs: readonly string[] = [];
  #claimed = this.#claims.claimed();
  #changed = false;

  constructor(options: ClusterOptions = {}) {
    this.#unlisted = new Set(options.requiredKinds ?? ['Service', 'EndpointSlice']);
    this.#nodeName = options.nodeName;
  }

  /** Every required kind has been listed: what is not here is not in the cluster. */
  get synced(): boolean {
    return this.#unlisted.size === 0;
  }

  /** Required kinds that no source has listed yet. */
  unlistedKinds(): ValueKind[] {
    return [...this.#unlisted].sort(compareText);
  }

  service(key: ObjectKey): ServiceValue | undefined {
    return this.#services.get(key);
  }

  serviceKeys(): IterableIterator<ObjectKey> {
    return this.#services.keys();
  }

  /** The slices of a Service, in the order of their names. */
  slicesOf(service: ObjectKey): SliceValue[] {
    const slices = this.#slicesOf.get(service);
    if (slices === undefined) return [];
    return [...slices.values()].sort((a, b) => compareText(a.name, b.name));
  }

  /** The Node this proxy runs on, or works for. */
  get node(): NodeValue | undefined {
    return this.#node;
  }

  /**
   * Addresses of Nodes, as far as the source reports them, that Services have as external or load-balancer
   * addresses. Sorted, both families.
   */
  claimedNodeAddresses(): readonly string[] {
    return this.#claimed;
  }

  /** The networks of every ServiceCIDR, sorted, without those another one covers. */
  serviceCIDRs(): readonly string[] {
    return this.#cidrs;
  }

  problems(kind: ValueKind, key: ObjectKey, problems: readonly Problem[]): void {
    const ofKind = this.#problems.get(kind);
    if (problems.length === 0) ofKind?.delete(key);
    else if (ofKind === undefined) this.#problems.set(kind, new Map([[key, problems]]));
    else ofKind.set(key, problems);
  }

  /** What was left out of one object. */
  problemsOf(kind: ValueKind, key: ObjectKey): readonly Problem[] {
    return this.#problems.get(kind)?.get(key) ?? [];
  }

  /** What was left out of every object, in the order of kind and key. */
  allProblems(): Problem[] {
    return KINDS.flatMap((kind) => {
      const byKey = [...(this.#problems.get(kind) ?? [])].sort(([a], [b]) => compareText(a, b));
      return byKey.flatMap(([, problems]) => problems);
    });
  }

  /** The sources' own health, kind by kind. */
  statuses(): ReadonlyMap<ValueKind, SourceStatus> {
    return this.#statuses;
  }

  status(kind: ValueKind, status: SourceStatus): void {
    this.#statuses.set(kind, status);
  }

  replace(kind: ValueKind, values: ReadonlyMap<ObjectKey, ClusterValue>): void {
    for (const key of [...this.#known(kind).keys()]) if (!values.has(key)) this.#take(kind, key);
    for (const [key, value] of values) if (value.kind === kind) this.#put(key, value);
    this.#problems.delete(kind);
    if (this.#unlisted.delete(kind)) this.#changed = true;
    this.#settle(kind);
  }

  upsert(value: ClusterValue): void {
    this.#put(valueKey(value), value);
    this.#settle(value.kind);
  }

  remove(kind: ValueKind, key: ObjectKey): void {
    this.#take(kind, key);
    this.#problems.get(kind)?.delete(key);
    this.#settle(kind);
  }

  /** What changed since the last call. */
  takeChanges(): ClusterChanges {
    return this.#pending.take();
  }

  /**
   * Calls back after each report that touched something or listed a required kind for the first time. The
   * callback must not throw.
   * @returns a function that ends it
   */
  onChange(callback: () => void): () => void {
    this.#listeners.add(callback);
    return () => this.#listeners.delete(callback);
  }

  #known(kind: ValueKind): Map<ObjectKey, ClusterValue> {
    switch (kind) {
      case 'Service':
        return this.#services;
      case 'EndpointSlice':
        return this.#slices;
      case 'Node':
        return this.#nodes;
      case 'ServiceCIDR':
        return this.#cidrObjects;
    }
  }

  #put(key: ObjectKey, value: ClusterValue): void {
    switch (value.kind) {
      case 'Service':
        this.#putService(key, value);
        return;
      case 'EndpointSlice':
        this.#putSlice(key, value);
        return;
      case 'Node':
        this.#claims.node(this.#nodes.get(key), value);
        this.#nodes.set(key, value);
        return;
      case 'ServiceCIDR':
        this.#cidrObjects.set(key, value);
        return;
    }
  }

  #take(kind: ValueKind, key: ObjectKey): void {
    if (kind === 'EndpointSlice') {
      const slice = this.#slices.get(key);
      if (slice === undefined) return;
      this.#slices.delete(key);
      this.#unlink(key, slice);
      this.#touchOwner(slice, 0);
      return;
    }
    if (kind === 'Service') this.#claims.service(this.#services.get(key), undefined);
    if (kind === 'Node') this.#claims.node(this.#nodes.get(key), undefined);
    if (this.#known(kind).delete(key) && kind === 'Service') this.#touch(key);
  }

  #putService(key: ObjectKey, service: ServiceValue): void {
    const before = this.#services.get(key);
    if (isDeepStrictEqual(before, service)) return;
    this.#claims.service(before, service);
    this.#services.set(key, service);
    this.#touch(key);
  }

  #putSlice(key: ObjectKey, slice: SliceValue): void {
    const before = this.#slices.get(key);
    if (isDeepStrictEqual(before, slice)) return;
    const owner = ownerOf(slice);
    this.#slices.set(key, slice);
    if (before !== undefined && ownerOf(before) !== owner) {
      this.#unlink(key, before);
      this.#touchOwner(before, 0);
    }
    const siblings = this.#slicesOf.get(owner);
    if (siblings === undefined) this.#slicesOf.set(owner, new Map([[key, slice]]));
    else siblings.set(key, slice);
    if (before === undefined || !sameRules(before, slice)) this.#touchOwner(slice, slice.lastChangeAt);
  }

  #unlink(key: ObjectKey, slice: SliceValue): void {
    const owner = ownerOf(slice);
    const siblings = this.#slicesOf.get(owner);
    siblings?.delete(key);
    if (siblings?.size === 0) this.#slicesOf.delete(owner);
  }

  /** Slices of what is no Service to a proxy (headless, another proxy's, not there yet) change nothing. */
  #touchOwner(slice: SliceValue, causedAt: number): void {
    const owner = ownerOf(slice);
    if (this.#services.has(owner)) this.#touch(owner, causedAt);
  }

  #touch(service: ObjectKey, causedAt = 0): void {
    this.#pending.service(service, causedAt);
    this.#changed = true;
  }

  /** After a report of this kind: brings derived values up to date, and tells who listens. */
  #settle(kind: ValueKind): void {
    if (kind === 'Node') this.#settleNode();
    if (kind === 'ServiceCIDR') this.#settleCidrs();
    if (kind === 'Node' || kind === 'Service') this.#settleClaims();
    if (!this.#changed) return;
    this.#changed = false;
    for (const listener of this.#listeners) listener();
  }

  #settleNode(): void {
    // Without a name a source reports one Node. While it is exchanged there may be two: which one is meant must
    // not depend on which was told first.
    const name = this.#nodeName ?? [...this.#nodes.keys()].sort(compareText)[0];
    const node = name === undefined ? undefined : this.#nodes.get(name);
    if (isDeepStrictEqual(node, this.#node)) return;
    this.#node = node;
    this.#pending.node();
    this.#changed = true;
  }

  #settleClaims(): void {
    const claimed = this.#claims.claimed();
    if (claimed === this.#claimed) return;
    this.#claimed = claimed;
    this.#pending.node();
    this.#changed = true;
  }

  #settleCidrs(): void {
    const cidrs = disjointCidrs([...this.#cidrObjects.values()].flatMap((value) => value.cidrs));
    if (isDeepStrictEqual(cidrs, this.#cidrs)) return;
    this.#cidrs = cidrs;
    this.#pending.serviceCIDRs();
    this.#changed = true;
  }
}

/** The key of the Service a slice belongs to. */
function ownerOf(slice: SliceValue): ObjectKey {
  return `${slice.namespace}/${slice.serviceName}`;
}

/** Whether two slices lead to the same rules: when they were caused makes no difference. */
function sameRules(a: SliceValue, b: SliceValue): boolean {
  return isDeepStrictEqual({ ...a, lastChangeAt: 0 }, { ...b, lastChangeAt: 0 });
}
