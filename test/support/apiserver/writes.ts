/** POST, PUT, PATCH and DELETE of the test API server. */
import { type KubeObject, type ParsedPath, statusObject } from './objects.ts';
import { Refusal } from './reads.ts';
import type { Store } from './store.ts';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Creates, replaces, changes or removes one object. Patches are merged (RFC 7396), whatever they call themselves. */
export function write(store: Store, method: string, path: ParsedPath, body: unknown): Answer {
  const { type, namespace } = path;
  const scope = namespace === '' ? {} : { namespace };
  if (method === 'POST') {
    const object = objectOf(body, path);
    if (store.get(type, { ...scope, name: object.metadata.name })) {
      throw new Refusal(409, 'AlreadyExists', `${type.name} "${object.metadata.name}" already exists`);
    }
    return { status: 201, body: store.apply(object) };
  }
  const current = store.get(type, { ...scope, name: path.name });
  if (!current) throw new Refusal(404, 'NotFound', `${type.name} "${path.name}" not found`);
  switch (method) {
    case 'PUT':
      return { status: 200, body: store.apply(objectOf(body, path)) };
    case 'PATCH':
      return { status: 200, body: store.apply(merge(current, body) as KubeObject) };
    case 'DELETE':
      store.delete({ kind: type.kind, ...scope, name: path.name });
      return { status: 200, body: { ...(statusObject(200, '', '') as object), status: 'Success' } };
    default:
      throw new Refusal(405, 'MethodNotAllowed', `${method} is not possible here`);
  }
}

function objectOf(body: unknown, { type, namespace, name }: ParsedPath): KubeObject {
  const object = body as KubeObject;
  const metadata = object?.metadata;
  const generated = (metadata as { generateName?: string } | undefined)?.generateName;
  const chosen =
    metadata?.name ?? (name || (generated && `${generated}${Math.random().toString(36).slice(2, 7)}`));
  if (!chosen) throw new Refusal(422, 'Invalid', `${type.kind} "" is invalid: metadata.name: Required value`);
  return {
    ...object,
    kind: type.kind,
    apiVersion: type.apiVersion,
    metadata: { ...metadata, name: chosen, ...(namespace === '' ? {} : { namespace }) },
  };
}

function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = merge(merged[key], value);
  }
  return merged;
}
