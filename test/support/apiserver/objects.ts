/** What the server holds: any object of the resources below. */

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** Names an object: `{ kind: 'Service', namespace: 'default', name: 'web' }`. */
export interface ObjectRef {
  readonly kind: string;
  /** Default `default`, for namespaced kinds. */
  readonly namespace?: string;
  readonly name: string;
}

export interface ResourceType {
  readonly kind: string;
  readonly apiVersion: string;
  /** Plural: `endpointslices`. */
  readonly name: string;
  readonly namespaced: boolean;
}

export const RESOURCE_TYPES: readonly ResourceType[] = [
  { kind: 'Service', apiVersion: 'v1', name: 'services', namespaced: true },
  { kind: 'Node', apiVersion: 'v1', name: 'nodes', namespaced: false },
  { kind: 'Event', apiVersion: 'v1', name: 'events', namespaced: true },
  { kind: 'Event', apiVersion: 'events.k8s.io/v1', name: 'events', namespaced: true },
  { kind: 'EndpointSlice', apiVersion: 'discovery.k8s.io/v1', name: 'endpointslices', namespaced: true },
  { kind: 'ServiceCIDR', apiVersion: 'networking.k8s.io/v1', name: 'servicecidrs', namespaced: false },
];

/** Throws for kinds the server does not know. Without an `apiVersion` the first type of that kind is meant. */
export function typeOf({ kind, apiVersion }: { kind: string; apiVersion?: string }): ResourceType {
  const type = RESOURCE_TYPES.find(
    (one) => one.kind === kind && (apiVersion === undefined || one.apiVersion === apiVersion),
  );
  if (!type) throw new Error(`the test API server knows no ${apiVersion ?? ''} ${kind}`);
  return type;
}

export interface ParsedPath {
  readonly type: ResourceType;
  /** Empty for all namespaces, or a cluster-scoped type. */
  readonly namespace: string;
  /** Empty for the collection. */
  readonly name: string;
}

/** `/api/v1/namespaces/default/services/web`, `/apis/discovery.k8s.io/v1/endpointslices`, and so on. */
export function parsePath(pathname: string): ParsedPath | undefined {
  const match = /^\/(?:api|apis)\/(.+)$/.exec(pathname);
  const parts = match?.[1]?.split('/') ?? [];
  const apiVersion = pathname.startsWith('/apis/') ? parts.splice(0, 2).join('/') : (parts.shift() ?? '');
  const namespace = parts[0] === 'namespaces' && parts.length > 2 ? (parts.splice(0, 2)[1] ?? '') : '';
  const [plural = '', name = '', ...rest] = parts.map(decodeURIComponent);
  const type = RESOURCE_TYPES.find((one) => one.apiVersion === apiVersion && one.name === plural);
  return type && rest.length === 0 ? { type, namespace, name } : undefined;
}

/** The `Status` a failed request is answered with. */
export function statusObject(code: number, reason: string, message: string, details?: unknown): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...(details === undefined ? {} : { details }),
    code,
  };
}

const texts = new WeakMap<object, string>();

/** An object as JSON, made once: what a server with ten thousand of them sends again and again. */
export function jsonOf(object: object): string {
  let text = texts.get(object);
  if (text === undefined) {
    text = JSON.stringify(object);
    texts.set(object, text);
  }
  return text;
}
