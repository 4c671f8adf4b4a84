/** The kinds of object that are read from manifests, and the ways to write one of them wrong. */
import { projectEndpointSlice } from '../../cluster/project/endpointslice.ts';
import { projectNode } from '../../cluster/project/node.ts';
import type { Projection } from '../../cluster/project/project.ts';
import { projectService } from '../../cluster/project/service.ts';
import { projectServiceCidr } from '../../cluster/project/servicecidr.ts';
import type { ClusterValue, ValueKind } from '../../cluster/values.ts';

export interface KnownKind {
  readonly kind: ValueKind;
  /** Of the same fields; the present one comes first. */
  readonly apiVersions: readonly [string, ...string[]];
  readonly project: (object: unknown) => Projection<ClusterValue>;
}

const CORE = 'v1';

export const KNOWN_KINDS: readonly KnownKind[] = [
  { kind: 'Service', apiVersions: [CORE], project: projectService },
  { kind: 'EndpointSlice', apiVersions: ['discovery.k8s.io/v1'], project: projectEndpointSlice },
  { kind: 'Node', apiVersions: [CORE], project: projectNode },
  {
    kind: 'ServiceCIDR',
    apiVersions: ['networking.k8s.io/v1', 'networking.k8s.io/v1beta1'],
    project: projectServiceCidr,
  },
];

/** A list of anything. */
export const LIST = 'List';

const KINDS: readonly string[] = KNOWN_KINDS.map(({ kind }) => kind);
const LISTS: readonly string[] = [LIST, ...KINDS.map((kind) => kind + LIST)];
const SPELLINGS = new Map([...KINDS, ...LISTS].map((kind) => [kind.toLowerCase(), kind]));

/** Whether objects of this kind hold objects that are read. */
export function isListKind(kind: string): boolean {
  return LISTS.includes(kind);
}

/** How a kind is written that differs from this one in case alone; `undefined` when there is none, or it is right. */
export function rightSpelling(kind: string): string | undefined {
  const right = SPELLINGS.get(kind.toLowerCase());
  return right === kind ? undefined : right;
}

/** Whether an object that says this may be of the kind; objects of the core may leave it out. */
export function isOfKind({ apiVersions }: KnownKind, apiVersion: unknown): boolean {
  return (
    apiVersions.some((one) => one === apiVersion) || (apiVersion === undefined && apiVersions[0] === CORE)
  );
}

/**
 * Whether this is the API of somebody else, who may have a kind of the same name: Knative has a Service. Kubernetes
 * itself owns the groups without a dot and those in k8s.io.
 */
export function isForeign(apiVersion: unknown): boolean {
  if (typeof apiVersion !== 'string') return false;
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  return group.includes('.') && !group.endsWith('.k8s.io');
}
