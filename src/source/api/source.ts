/** The Kubernetes API as a source: one reflector for each kind, over one connection pool. */
import type { ValueKind } from '../../cluster/values.ts';
import type { Source } from '../source.ts';
import type { Credentials } from './access.ts';
import { loadCredentials } from './credentials.ts';
import { type ApiHooks, DEFAULT_TIMING, type Log, type Timing } from './options.ts';
import { reflect } from './reflector.ts';
import { type ApiResource, apiResources } from './resources.ts';
import { createTransport, type Transport } from './transport.ts';

export interface ApiSourceOptions {
  /** Path of a kubeconfig; empty for none. */
  readonly kubeconfig: string;
  /** URL of the API server, before that of the kubeconfig; empty for none. Both empty: in-cluster. */
  readonly master: string;
  /** Whose Node object to watch; `undefined` for all Nodes. */
  readonly nodeName: string | undefined;
  /** `kube-rulesync/v0.1.0`. */
  readonly userAgent: string;
  readonly log: Log;
  readonly hooks?: ApiHooks;
  /** Only these kinds; default all. */
  readonly kinds?: readonly ValueKind[];
  readonly timing?: Partial<Timing>;
  /** From [0, 1); default Math.random. */
  readonly random?: () => number;
}

/** A source, and the way to the same server for other requests (Events). */
export interface ApiSource extends Source {
  readonly transport: Transport;
}

/**
 * Makes a source of an API server. Rejects for what no retry can mend: a kubeconfig that is missing or makes no
 * sense, or being in no pod. A server that cannot be reached is no such thing: `run` tries again for ever.
 */
export async function createApiSource(options: ApiSourceOptions): Promise<ApiSource> {
  const { kubeconfig, master, nodeName, kinds, log } = options;
  const credentials = await loadCredentials(kubeconfig, master, log);
  const resources = apiResources(nodeName).filter((resource) => kinds?.includes(resource.kind) ?? true);
  return apiSourceOf(credentials, resources, options);
}

/** The same with credentials and resources as they are given. `run` is for one call. */
export function apiSourceOf(
  credentials: Credentials,
  resources: readonly ApiResource[],
  options: Pick<ApiSourceOptions, 'userAgent' | 'log' | 'hooks' | 'timing' | 'random'>,
): ApiSource {
  const { userAgent, log, hooks = {}, random = Math.random } = options;
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const transport = createTransport({ credentials, userAgent, hooks, log });
  const traits = { watchList: true, bookmarks: false };
  return {
    description: credentials.server,
    transport,
    async run(sink, signal) {
      const env = { transport, traits, timing, random, hooks, log };
      try {
        await Promise.all(resources.map((resource) => reflect(resource, env, sink, signal)));
      } finally {
        transport.close();
      }
    },
  };
}
