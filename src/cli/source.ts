/** Where objects come from, and what is said about them on their way. */
import type { Problem } from '../cluster/project/project.ts';
import type { ClusterValue, ObjectKey, ValueKind } from '../cluster/values.ts';
import type { Options } from '../config/options.ts';
import type { Logger } from '../log/logger.ts';
import type { ApiHooks } from '../source/api/options.ts';
import type { Transport } from '../source/api/transport.ts';
import type { Source, SourceSink, SourceStatus } from '../source/source.ts';
import { VERSION } from '../version.ts';
import { urlWithoutUserinfo } from './userinfo.ts';

/** A source, and the way to the server it asks, where it asks one. */
export interface ChosenSource extends Source {
  readonly transport?: Transport;
}

/**
 * `--manifests`, or an API server. Rejects for what no retry can mend. `nodeName`: the Node to
 * report; IPVS mode needs to know all of them. `watch`: changes are wanted, not only what is there now. `hooks` are told of what passes between this program and an API server.
 */
export async function createSource(
  options: Pick<Options, 'manifests' | 'kubeconfig' | 'master' | 'proxyMode'>,
  ownNode: string,
  watch: boolean,
  log: Logger,
  hooks: ApiHooks = {},
): Promise<ChosenSource> {
  const nodeName = options.proxyMode === 'ipvs' ? undefined : ownNode;
  if (options.manifests !== '') {
    const { createManifestsSource } = await import('../source/manifests/manifests-source.ts');
    return createManifestsSource({ path: options.manifests, nodeName, watch, log });
  }
  const { createApiSource } = await import('../source/api/source.ts');
  const { kubeconfig } = options;
  // Requests go without a password that a URL has, and so do messages about them.
  const master = urlWithoutUserinfo(options.master);
  return createApiSource({ kubeconfig, master, nodeName, userAgent: `kube-rulesync/${VERSION}`, log, hooks });
}

/** What passes from a source to its sink. */
export interface Tap {
  /** What is known of one object from now on; `undefined` when it is gone. */
  value?(kind: ValueKind, key: ObjectKey, value: ClusterValue | undefined): void;
  /** All that is known of one kind. */
  values?(kind: ValueKind, values: ReadonlyMap<ObjectKey, ClusterValue>): void;
  problems?(problems: readonly Problem[]): void;
  status?(kind: ValueKind, status: SourceStatus): void;
}

/** The same source, whose reports are shown to `tap` before the sink has them. */
export function tapped(source: Source, tap: Tap): Source {
  return {
    description: source.description,
    run: (sink, signal) => source.run(new TappedSink(sink, tap), signal),
  };
}

class TappedSink implements SourceSink {
  readonly #sink: SourceSink;
  readonly #tap: Tap;

  constructor(sink: SourceSink, tap: Tap) {
    this.#sink = sink;
    this.#tap = tap;
  }

  replace(kind: ValueKind, values: ReadonlyMap<ObjectKey, ClusterValue>): void {
    this.#tap.values?.(kind, values);
    this.#sink.replace(kind, values);
  }

  upsert(value: ClusterValue): void {
    const key = 'namespace' in value ? `${value.namespace}/${value.name}` : value.name;
    this.#tap.value?.(value.kind, key, value);
    this.#sink.upsert(value);
  }

  remove(kind: ValueKind, key: ObjectKey): void {
    this.#tap.value?.(kind, key, undefined);
    this.#sink.remove(kind, key);
  }

  problems(kind: ValueKind, key: ObjectKey, problems: readonly Problem[]): void {
    this.#tap.problems?.(problems);
    this.#sink.problems(kind, key, problems);
  }

  status(kind: ValueKind, status: SourceStatus): void {
    this.#tap.status?.(kind, status);
    this.#sink.status(kind, status);
  }
}

/** Names in the log what had to be left out of objects. */
export function logProblems(log: Logger): Required<Pick<Tap, 'problems'>> {
  return {
    problems(problems) {
      for (const { object, field, message } of problems) {
        log.warn(`${object}: ${field === '' ? '' : `${field}: `}${message}`);
      }
    },
  };
}
