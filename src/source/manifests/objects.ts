/** From the objects in manifests to cluster values: which kinds are meant, and what came out of each object. */
import { projectEndpointSlice } from '../../cluster/project/endpointslice.ts';
import { type Fields, isFields } from '../../cluster/project/fields.ts';
import { objectKey } from '../../cluster/project/metadata.ts';
import { projectNode } from '../../cluster/project/node.ts';
import type { Problem, Projection } from '../../cluster/project/project.ts';
import { PROXY_NAME_LABEL, projectService } from '../../cluster/project/service.ts';
import { projectServiceCidr } from '../../cluster/project/servicecidr.ts';
import type { ClusterValue, ObjectKey, ValueKind } from '../../cluster/values.ts';
import type { ManifestDocument } from './documents.ts';

export interface ManifestObject {
  readonly kind: ValueKind;
  /** Where it stands, in angle brackets, for an object without a usable name. */
  readonly key: ObjectKey;
  readonly where: string;
  readonly value: ClusterValue | undefined;
  readonly problems: readonly Problem[];
}

interface KnownKind {
  readonly kind: ValueKind;
  /** The API group; empty for the core. */
  readonly group: string;
  readonly project: (object: unknown) => Projection<ClusterValue>;
}

const KNOWN: readonly KnownKind[] = [
  { kind: 'Service', group: '', project: projectService },
  { kind: 'EndpointSlice', group: 'discovery.k8s.io', project: projectEndpointSlice },
  { kind: 'Node', group: '', project: projectNode },
  { kind: 'ServiceCIDR', group: 'networking.k8s.io', project: projectServiceCidr },
];

/**
 * What a proxy has to know of an object from a manifest; `undefined` for kinds it has nothing to do with
 * (a Knative Service too: the group counts), and for the Nodes of others when `nodeName` says which one counts.
 */
export function readObject(
  { object, where }: ManifestDocument,
  nodeName: string | undefined,
): ManifestObject | undefined {
  const known = KNOWN.find(({ kind, group }) => object.kind === kind && groupOf(object) === group);
  if (known === undefined) return undefined;
  const { kind } = known;
  const key = objectKey(kind, object);
  if (kind === 'Node' && nodeName !== undefined && key !== nodeName) return undefined;
  const { value, problems } = known.project(object);
  if (key === undefined) return { kind, key: `<${where}>`, where, value, problems: problems.map(at(where)) };
  if (kind === 'Service' && value === undefined && problems.length === 0 && lacksClusterIP(object)) {
    return { kind, key, where, value, problems: [noClusterIP(key)] };
  }
  return { kind, key, where, value, problems };
}

/** `discovery.k8s.io/v1` is of the group `discovery.k8s.io`; `v1`, or nothing, of the core's. */
function groupOf({ apiVersion }: Fields): string | undefined {
  if (apiVersion === undefined) return '';
  if (typeof apiVersion !== 'string') return undefined;
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
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
