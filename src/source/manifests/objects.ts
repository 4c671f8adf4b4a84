/** From the objects in manifests to cluster values: which kinds are meant, and what came out of each object. */
import { type Fields, isFields, quote } from '../../cluster/project/fields.ts';
import { objectKey } from '../../cluster/project/metadata.ts';
import type { Problem } from '../../cluster/project/project.ts';
import { PROXY_NAME_LABEL } from '../../cluster/project/service.ts';
import type { ClusterValue, ObjectKey, ValueKind } from '../../cluster/values.ts';
import type { ManifestDocument } from './documents.ts';
import { isForeign, isOfKind, KNOWN_KINDS, type KnownKind, rightSpelling } from './kinds.ts';

export interface ManifestObject {
  readonly kind: ValueKind;
  /** Where it stands, in angle brackets, for an object without a usable name, or that is not used under it. */
  readonly key: ObjectKey;
  readonly where: string;
  readonly value: ClusterValue | undefined;
  readonly problems: readonly Problem[];
}

/**
 * What a proxy has to know of an object from a manifest; `undefined` for kinds it has nothing to do with
 * (a Knative Service too: the group counts), and for the Nodes of others when `nodeName` says which one counts. An
 * object whose kind or apiVersion is nearly one of those it reads is named.
 */
export function readObject(
  document: ManifestDocument,
  nodeName: string | undefined,
): ManifestObject | undefined {
  const { object, where } = document;
  const right = rightSpelling(document.kind);
  const known = KNOWN_KINDS.find((one) => one.kind === (right ?? document.kind));
  if (known === undefined || isForeign(object.apiVersion)) return undefined;
  const { kind } = known;
  if (right !== undefined) return unusable(document, kind, misspelled(document, right));
  if (!isOfKind(known, object.apiVersion)) return unusable(document, kind, misversioned(document, known));
  const key = objectKey(kind, object);
  if (kind === 'Node' && nodeName !== undefined && key !== undefined && key !== nodeName) return undefined;
  const { value, problems } = known.project(object);
  if (key === undefined) return { kind, key: `<${where}>`, where, value, problems: problems.map(at(where)) };
  if (kind === 'Service' && value === undefined && problems.length === 0 && lacksClusterIP(object)) {
    return { kind, key, where, value, problems: [noClusterIP(key)] };
  }
  return { kind, key, where, value, problems };
}

/** An object that is not what it seems to be takes no other one's place. */
function unusable({ where }: ManifestDocument, kind: ValueKind, problem: Problem): ManifestObject {
  return { kind, key: `<${where}>`, where, value: undefined, problems: [problem] };
}

function misspelled({ kind, where }: ManifestDocument, right: string): Problem {
  return {
    object: `Object in ${where}`,
    field: 'kind',
    message: `${quote(kind)} is spelled ${right}; object ignored`,
  };
}

function misversioned({ object, where }: ManifestDocument, { kind, apiVersions }: KnownKind): Problem {
  const key = objectKey(kind, object);
  const given = object.apiVersion === undefined ? 'is missing' : `is ${quote(object.apiVersion)}`;
  return {
    object: `${kind}${key === undefined ? '' : ` ${key}`} in ${where}`,
    field: 'apiVersion',
    message: `${given}, and must be ${apiVersions[0]}; ${kind} ignored`,
  };
}

function at(where: string): (problem: Problem) => Problem {
  return (problem) => ({ ...problem, object: `${problem.object} in ${where}` });
}

/** A manifest as one applies it leaves the cluster IP to the API server, and there is none here. */
function lacksClusterIP(service: Fields): boolean {
  const spec = isFields(service.spec) ? service.spec : {};
  const labels =
    isFields(service.metadata) && isFields(service.metadata.labels) ? service.metadata.labels : {};
  return (
    spec.type !== 'ExternalName' &&
    labels[PROXY_NAME_LABEL] === undefined &&
    !spec.clusterIP &&
    !(Array.isArray(spec.clusterIPs) && spec.clusterIPs.length > 0)
  );
}

function noClusterIP(key: ObjectKey): Problem {
  return {
    object: `Service ${key}`,
    field: 'spec.clusterIP',
    message: 'is missing, and no API server is here to allocate one; Service ignored (None means headless)',
  };
}
