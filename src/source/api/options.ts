/** What a person or a test can set about the Kubernetes API source, and the values that hold otherwise. */
import type { ValueKind } from '../../cluster/values.ts';

/** The part of a pino logger that is used here. */
export interface Log {
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  debug(fields: Record<string, unknown>, message: string): void;
}

/** Why everything of a kind is fetched anew. */
export type RelistReason =
  | 'first'
  /** The server no longer has the changes since our resourceVersion (410). */
  | 'expired'
  /** The server has not got as far as our resourceVersion. */
  | 'too-large'
  /** A watch in which not one byte came: our resourceVersion may be from the server's future. */
  | 'silent'
  /** The server does not take our resourceVersion, or keeps answering it with errors. */
  | 'rejected'
  /** An error of our own while a change was handed on: some may be missing. */
  | 'fault';

/** Why a watch was opened again. */
export type WatchRestartReason =
  /** The server ended it, as it does every few minutes. */
  | 'ended'
  /** It ended at once with nothing in it. */
  | 'short'
  | 'idle'
  | 'overrun'
  | 'dropped'
  | 'expired'
  | 'error';

/** Called as things happen, for metrics; must not throw. */
export interface ApiHooks {
  relist?(kind: ValueKind, reason: RelistReason): void;
  watchRestart?(kind: ValueKind, reason: WatchRestartReason): void;
  /**
   * A list or a watch failed, and will be tried again unless this aborts the source. `lasting`: that would bring the
   * same for as long as nobody mends it.
   */
  failed?(kind: ValueKind, message: string, lasting: boolean): void;
  /**
   * One HTTP exchange, once its headers are in. `code` is the status, or `<error>` when there was no answer, as
   * client-go counts it; `verb` the HTTP method; `host` name and port; `seconds` the time until the headers.
   */
  requestDone?(code: string, verb: string, host: string, seconds: number): void;
}

/** Limits and intervals, milliseconds unless the name says seconds. */
export interface Timing {
  /** Ceiling of the first delay after a failure; doubles up to the cap. */
  readonly backoffFirstMs: number;
  readonly backoffCapMs: number;
  /** So long without a failure, the next one is the first again. */
  readonly backoffResetMs: number;
  /** `timeoutSeconds` of a watch is drawn from [min, max), so that the watches of a cluster do not end together. */
  readonly watchMinSeconds: number;
  readonly watchMaxSeconds: number;
  /** A watch without a byte for so long is dead: two and a half bookmarks. */
  readonly idleMs: number;
  /** The same while this server has never sent a bookmark. */
  readonly idleWithoutBookmarksMs: number;
  /** From the start of a request to its headers; also the longest pause inside a list. */
  readonly responseMs: number;
  /** How far beyond its `timeoutSeconds` a watch may go on. */
  readonly overrunMs: number;
  /** A watch that ends sooner and brings nothing counts as a failure. */
  readonly shortWatchMs: number;
  readonly retryAfterCapMs: number;
  /** How often to look again for a resource that the server does not have. */
  readonly absentRecheckMs: number;
}

/** client-go's reflector (`NewReflectorWithOptions`, `minWatchTimeout`); idle limits from the server's bookmarks. */
export const DEFAULT_TIMING: Timing = {
  backoffFirstMs: 800,
  backoffCapMs: 30_000,
  backoffResetMs: 120_000,
  watchMinSeconds: 300,
  watchMaxSeconds: 600,
  idleMs: 150_000,
  idleWithoutBookmarksMs: 330_000,
  responseMs: 30_000,
  overrunMs: 30_000,
  shortWatchMs: 1_000,
  retryAfterCapMs: 60_000,
  absentRecheckMs: 600_000,
};
