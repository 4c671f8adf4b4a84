/** Objects, their versions, and what happened to them: the server's etcd and watch cache in one. */
import { randomUUID } from 'node:crypto';
import { type KubeObject, type ObjectRef, type ResourceType, typeOf } from './objects.ts';

export interface StoreEvent {
  readonly version: number;
  readonly type: ResourceType;
  /** As it is now; for a deletion, as it was last, with the version of the deletion. */
  readonly object: KubeObject;
  readonly previous: KubeObject | undefined;
  readonly deleted: boolean;
}

export class Store {
  #version = 100;
  /** Watches from before this version are too old. */
  #compacted = 0;
  readonly #objects = new Map<ResourceType, Map<string, KubeObject>>();
  #history: StoreEvent[] = [];
  readonly #listeners = new Set<(event: StoreEvent) => void>();

  get version(): number {
    return this.#version;
  }

  get compactedVersion(): number {
    return this.#compacted;
  }

  apply(object: KubeObject): KubeObject {
    const type = typeOf(object);
    const objects = this.#objectsOf(type);
    const namespace = type.namespaced ? { namespace: object.metadata.namespace ?? 'default' } : {};
    const key = keyOf(type, { ...object.metadata, ...namespace });
    const previous = objects.get(key);
    const stored: KubeObject = {
      ...object,
      kind: type.kind,
      apiVersion: type.apiVersion,
      metadata: {
        uid: previous?.metadata.uid ?? randomUUID(),
        creationTimestamp:
          previous?.metadata.creationTimestamp ?? new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
        ...object.metadata,
        ...namespace,
        resourceVersion: this.#next(),
      },
    };
    objects.set(key, stored);
    this.#record({ version: this.#version, type, object: stored, previous, deleted: false });
    return stored;
  }

  /** The object as it was, or undefined when there is none. */
  delete(ref: ObjectRef): KubeObject | undefined {
    const type = typeOf({ kind: ref.kind });
    const objects = this.#objectsOf(type);
    const key = keyOf(type, ref);
    const previous = objects.get(key);
    if (!previous) return undefined;
    objects.delete(key);
    const metadata = { ...previous.metadata, resourceVersion: this.#next() };
    const object = { ...previous, metadata };
    this.#record({ version: this.#version, type, object, previous, deleted: true });
    return object;
  }

  get(type: ResourceType, ref: Omit<ObjectRef, 'kind'>): KubeObject | undefined {
    return this.#objectsOf(type).get(keyOf(type, ref));
  }

  /** In the order of their keys, as etcd has it. */
  list(type: ResourceType): readonly KubeObject[] {
    return [...this.#objectsOf(type)]
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([, object]) => object);
  }

  /** What happened to objects of a type after a version. */
  since(type: ResourceType, version: number): readonly StoreEvent[] {
    return this.#history.filter((event) => event.type === type && event.version > version);
  }

  /** Forgets what happened until now: whoever comes back with an older version is told 410. */
  compact(): void {
    this.#next();
    this.#compacted = this.#version;
    this.#history = [];
  }

  /** As after a restore from a backup: versions start again from a lower number. */
  rewind(version: number): void {
    this.#version = version;
    this.#compacted = 0;
    this.#history = [];
  }

  /** Calls back for every event from now on; returns what ends it. */
  listen(listener: (event: StoreEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #next(): string {
    this.#version += 1;
    return String(this.#version);
  }

  #objectsOf(type: ResourceType): Map<string, KubeObject> {
    let objects = this.#objects.get(type);
    if (!objects) {
      objects = new Map();
      this.#objects.set(type, objects);
    }
    return objects;
  }

  #record(event: StoreEvent): void {
    this.#history.push(event);
    for (const listener of this.#listeners) listener(event);
  }
}

function keyOf(type: ResourceType, ref: { readonly namespace?: string; readonly name: string }): string {
  return type.namespaced ? `${ref.namespace ?? 'default'}/${ref.name}` : ref.name;
}
