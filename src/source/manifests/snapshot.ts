/** All manifests together, kind by kind, and what to tell a sink when they change. */
import { isDeepStrictEqual } from 'node:util';
import type { Problem } from '../../cluster/project/project.ts';
import type { ClusterValue, ObjectKey, ValueKind } from '../../cluster/values.ts';
import type { SourceSink } from '../source.ts';
import type { ManifestObject } from './objects.ts';

export interface KindSnapshot {
  readonly values: ReadonlyMap<ObjectKey, ClusterValue>;
  readonly problems: ReadonlyMap<ObjectKey, readonly Problem[]>;
}

export type Snapshot = Readonly<Record<ValueKind, KindSnapshot>>;

/** In the order they are told: what a Service needs is there before it. */
export const KINDS: readonly ValueKind[] = ['Node', 'ServiceCIDR', 'EndpointSlice', 'Service'];

/** Puts the objects together. Of an object that is there twice the later one counts, and a problem says so. */
export function snapshotOf(objects: Iterable<ManifestObject>): Snapshot {
  const last = new Map<string, ManifestObject>();
  const superseded = new Map<string, ManifestObject>();
  for (const object of objects) {
    const id = `${object.kind} ${object.key}`;
    const earlier = last.get(id);
    if (earlier !== undefined) superseded.set(id, earlier);
    last.set(id, object);
  }
  const snapshot = { Node: empty(), ServiceCIDR: empty(), EndpointSlice: empty(), Service: empty() };
  for (const [id, object] of last) {
    const { values, problems } = snapshot[object.kind];
    if (object.value !== undefined) values.set(object.key, object.value);
    const earlier = superseded.get(id);
    const said = earlier === undefined ? object.problems : [...object.problems, twice(id, earlier, object)];
    if (said.length > 0) problems.set(object.key, said);
  }
  return snapshot;
}

function empty(): { values: Map<ObjectKey, ClusterValue>; problems: Map<ObjectKey, readonly Problem[]> } {
  return { values: new Map(), problems: new Map() };
}

function twice(object: string, earlier: ManifestObject, later: ManifestObject): Problem {
  return {
    object,
    field: '',
    message: `is in ${earlier.where} and again in ${later.where}; the latter counts`,
  };
}

/** Tells a sink everything, kind by kind. */
export function reportAll(sink: SourceSink, snapshot: Snapshot): void {
  for (const kind of KINDS) {
    sink.replace(kind, snapshot[kind].values);
    for (const [key, problems] of snapshot[kind].problems) sink.problems(kind, key, problems);
  }
}

/** Tells a sink that knows `before` what is different. */
export function reportChanges(sink: SourceSink, before: Snapshot, after: Snapshot): void {
  for (const kind of KINDS) {
    const was = before[kind];
    const is = after[kind];
    for (const key of was.values.keys()) if (!is.values.has(key)) sink.remove(kind, key);
    for (const [key, value] of is.values) if (was.values.get(key) !== value) sink.upsert(value);
    for (const key of was.problems.keys()) if (!is.problems.has(key)) sink.problems(kind, key, []);
    for (const [key, problems] of is.problems) {
      // A removal has cleared what was said of an object that is there in name only.
      const cleared = was.values.has(key) && !is.values.has(key);
      if (cleared || !isDeepStrictEqual(was.problems.get(key), problems)) sink.problems(kind, key, problems);
    }
  }
}
