/**
 * Where cluster objects come from. A source lists every kind, says when it has, and goes on reporting
 * changes until it is stopped. It never ends by itself: what goes wrong is reported and retried.
 */
import type { Problem } from '../cluster/project/project.ts';
import type { ClusterValue, ObjectKey, ValueKind } from '../cluster/values.ts';

/** What a source calls. Every call is synchronous and must not throw. */
export interface SourceSink {
  /**
   * The whole content of one kind, replacing what was known of it: after a list, or a list again. Problems
   * said of that kind before are forgotten too; say those of the new content after this call.
   */
  replace(kind: ValueKind, values: ReadonlyMap<ObjectKey, ClusterValue>): void;
  upsert(value: ClusterValue): void;
  remove(kind: ValueKind, key: ObjectKey): void;
  /** Something of an object was left out. Empty `problems` clears what was said of it before. */
  problems(kind: ValueKind, key: ObjectKey, problems: readonly Problem[]): void;
  /** The source's own health for one kind. */
  status(kind: ValueKind, status: SourceStatus): void;
}

export interface SourceStatus {
  readonly state: 'listing' | 'watching' | 'retrying';
  /** When anything was last heard about this kind, milliseconds since the epoch; 0 for never. */
  readonly lastHeardAt: number;
  /** What went wrong last, in one line, when `state` is `retrying`. */
  readonly error?: string;
}

export interface Source {
  /** For logs: `https://10.0.0.1:6443` or `./manifests`. */
  readonly description: string;
  /**
   * Runs until `signal` aborts. Each kind is first reported with `replace`.
   * Rejects only for what no retry can mend (a kubeconfig that does not parse, a directory that is not there).
   */
  run(sink: SourceSink, signal: AbortSignal): Promise<void>;
}
