/** Holds objects against the types of the Kubernetes API, as the client library was generated from them. */
import * as k8s from '@kubernetes/client-node';
import type { Json, JsonObject, Manifest } from './kustomize.ts';

interface Attribute {
  /** As JSON has it. */
  readonly baseName: string;
  /** `string`, `Array<V1Container>`, `{ [key: string]: string; }`, `V1Probe`, `IntOrString`, `Date`. */
  readonly type: string;
}

interface GeneratedType {
  getAttributeTypeMap(): readonly Attribute[];
}

/** `apps/v1` DaemonSet is `V1DaemonSet`. */
function typeOf({ apiVersion, kind }: Manifest): string {
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  return `${version.charAt(0).toUpperCase()}${version.slice(1)}${kind}`;
}

/** What is wrong with an object: each unknown field and each value of another type, by its path. */
export function schemaProblems(object: Manifest): string[] {
  return [...problems(object, typeOf(object), object.kind)];
}

const LIST = /^Array<(.+)>$/;
const MAP = /^\{ \[key: string\]: (.+); \}$/;

function* problems(value: Json, type: string, path: string): Generator<string> {
  const item = LIST.exec(type)?.[1];
  const entry = MAP.exec(type)?.[1];
  if (item !== undefined) {
    if (!Array.isArray(value)) yield `${path}: must be a list`;
    else for (const [index, one] of value.entries()) yield* problems(one as Json, item, `${path}[${index}]`);
  } else if (entry !== undefined) {
    if (!isObject(value)) yield `${path}: must be a mapping`;
    else for (const [key, one] of Object.entries(value)) yield* problems(one, entry, `${path}.${key}`);
  } else if (type === 'IntOrString') {
    if (typeof value !== 'number' && typeof value !== 'string') yield `${path}: must be a number or a string`;
  } else if (type === 'string' || type === 'boolean' || type === 'number') {
    if (typeof value !== type) yield `${path}: must be a ${type}, and is ${JSON.stringify(value)}`;
  } else {
    yield* objectProblems(value, type, path);
  }
}

function* objectProblems(value: Json, type: string, path: string): Generator<string> {
  const generated = (k8s as unknown as Readonly<Record<string, GeneratedType | undefined>>)[type];
  if (generated?.getAttributeTypeMap === undefined) {
    yield `${path}: there is no type ${type}`;
    return;
  }
  if (!isObject(value)) {
    yield `${path}: must be a ${type}`;
    return;
  }
  const attributes = new Map(generated.getAttributeTypeMap().map(({ baseName, type: of }) => [baseName, of]));
  for (const [key, one] of Object.entries(value)) {
    const of = attributes.get(key);
    if (of === undefined) yield `${path}.${key}: ${type} has no such field`;
    else yield* problems(one, of, `${path}.${key}`);
  }
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
