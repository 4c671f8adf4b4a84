/**
 * Who an object is. Names are held to what the API server lets through, because they end up in comments and
 * chain names of rules, where a quote or a line break from a hand-written manifest would do harm.
 */
import type { ObjectKey, ValueKind } from '../values.ts';
import { type Fields, Findings, fieldsAt, isFields, quote } from './fields.ts';
import { interned } from './interned.ts';
import type { Projection } from './project.ts';

export interface Identified {
  readonly object: Fields;
  readonly metadata: Fields;
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
  readonly findings: Findings;
}

/** RFC 1123 subdomain, which every object name is at most (KEP-5311 for Services, RFC 1035 before it). */
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const MAX_NAME = 253;

/** Where a manifest that names no namespace goes. */
const DEFAULT_NAMESPACE = 'default';

export function isObjectName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_NAME && NAME.test(value);
}

/** `namespace/name`, or the name of a cluster-scoped object; `undefined` for what has no usable name. */
export function objectKey(kind: ValueKind, object: unknown): ObjectKey | undefined {
  if (!isFields(object) || !isFields(object.metadata)) return undefined;
  const { name } = object.metadata;
  if (!isObjectName(name)) return undefined;
  if (!isNamespaced(kind)) return name;
  const namespace = object.metadata.namespace || DEFAULT_NAMESPACE;
  return isObjectName(namespace) ? `${namespace}/${name}` : undefined;
}

function isNamespaced(kind: ValueKind): boolean {
  return kind === 'Service' || kind === 'EndpointSlice';
}

/** The object with its name and a place for findings, or, when it has no usable name, what is wrong. */
export function identify(kind: ValueKind, object: unknown): Identified | Projection<never> {
  const key = objectKey(kind, object);
  if (key === undefined || !isFields(object)) return unidentified(kind, object);
  const findings = new Findings(`${kind} ${key}`);
  const metadata = fieldsAt(object, 'metadata', 'metadata', findings);
  const slash = key.indexOf('/');
  return {
    object,
    metadata,
    namespace: slash < 0 ? '' : interned(key.slice(0, slash)),
    name: key.slice(slash + 1),
    findings,
  };
}

export function isIdentified(result: Identified | Projection<never>): result is Identified {
  return 'findings' in result;
}

function unidentified(kind: ValueKind, object: unknown): Projection<never> {
  const findings = new Findings(kind);
  if (!isFields(object)) {
    findings.add('', `is ${quote(object)}, not an object`);
  } else {
    const metadata = isFields(object.metadata) ? object.metadata : {};
    const field = isObjectName(metadata.name) ? 'namespace' : 'name';
    const value = metadata[field];
    findings.add(
      `metadata.${field}`,
      value === undefined ? 'is missing' : `is ${quote(value)}, which is no valid name`,
    );
  }
  return { value: undefined, problems: findings.problems };
}

/** Whether a label is there, whatever its value. */
export function hasLabel(metadata: Fields, label: string): boolean {
  return isFields(metadata.labels) && metadata.labels[label] !== undefined;
}

/** A label's or annotation's value; empty when absent. */
export function tagValue(metadata: Fields, group: 'labels' | 'annotations', name: string): string {
  const tags = metadata[group];
  const value = isFields(tags) ? tags[name] : undefined;
  return typeof value === 'string' ? value : '';
}
