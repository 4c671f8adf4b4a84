/** What to do about a failure: pure, so that the policy can be read and tested as a table. */
import { ApiError, NO_ANSWER } from './api-error.ts';
import type { RelistReason, WatchRestartReason } from './options.ts';
import type { ApiResource } from './resources.ts';

export type RequestMode = 'list' | 'watch-list' | 'watch';

export interface Situation {
  readonly resource: ApiResource;
  /** What failed. A watch-list whose initial events are through counts as a watch. */
  readonly mode: RequestMode;
  /** ERROR events since the watch last brought us on, this one included. */
  readonly streamErrors: number;
  /** The sink has been given everything once. */
  readonly synced: boolean;
}

export interface NextStep {
  /** How long: not at all, the next back-off delay, its cap, or the long interval for what may never come. */
  readonly wait: 'none' | 'backoff' | 'cap' | 'rarely';
  /** Our resourceVersion is of no use: fetch everything. */
  readonly relist?: RelistReason;
  /** Fetch with a LIST the next time. */
  readonly plainList?: boolean;
  /** This server knows no watch-list: never ask again. */
  readonly withoutWatchList?: boolean;
  readonly withoutFieldSelector?: boolean;
  /** Tell the sink that there are no objects, so that nothing waits for them. */
  readonly empty?: boolean;
  /** Nothing is wrong. */
  readonly healthy?: boolean;
  readonly note: string;
}

/** A server that answers our resourceVersion with so many errors in a row gets a new one. */
const MAX_STREAM_ERRORS = 3;

export function nextStep(error: unknown, situation: Situation): NextStep {
  if (!(error instanceof ApiError)) {
    return { wait: 'backoff', relist: 'fault', note: 'a fault of this program; will list again' };
  }
  switch (error.reason) {
    case 'expired':
      return {
        wait: 'backoff',
        relist: 'expired',
        note: 'the server no longer has our resourceVersion; will list again',
      };
    case 'too-large':
      return {
        wait: 'backoff',
        relist: 'too-large',
        note: 'the server is behind our resourceVersion; will list again',
      };
    case 'incomplete':
      return { wait: 'backoff', plainList: true, note: 'initial events broke off; will list' };
    case 'rejected':
      return rejected(error, situation);
    case 'not-found':
      if (situation.resource.optional) {
        return {
          wait: 'rarely',
          relist: 'first',
          empty: true,
          healthy: true,
          note: 'the server does not have this resource; going on without',
        };
      }
      return { wait: 'cap', note: 'the server does not have this resource; will try again' };
    case 'forbidden':
      if (situation.resource.optional) {
        return { wait: 'rarely', empty: !situation.synced, note: 'not allowed; going on without' };
      }
      return { wait: 'cap', note: 'not allowed; will try again' };
    case 'unreachable':
    case 'dropped':
    case 'idle':
    case 'overrun':
    case 'short':
    case 'malformed':
    case 'unauthorized':
    case 'throttled':
    case 'server':
      return error.inStream ? streamError(situation) : { wait: 'backoff', note: 'failed; will try again' };
  }
}

function rejected(error: ApiError, situation: Situation): NextStep {
  if (situation.resource.fieldSelectorOptional && /field label not supported/i.test(error.message)) {
    return {
      wait: 'none',
      withoutFieldSelector: true,
      note: 'the server does not know the field selector; going on without',
    };
  }
  if (situation.mode === 'watch-list' && (error.status === 400 || error.status === 422)) {
    return {
      wait: 'none',
      withoutWatchList: true,
      note: 'the server knows no watch with initial events; will list',
    };
  }
  if (error.inStream) return streamError(situation);
  return {
    wait: 'backoff',
    relist: 'rejected',
    note: 'the server does not take the request; will list again',
  };
}

function streamError({ mode, streamErrors }: Situation): NextStep {
  if (mode === 'watch-list')
    return { wait: 'backoff', plainList: true, note: 'initial events failed; will list' };
  if (streamErrors < MAX_STREAM_ERRORS)
    return { wait: 'backoff', note: 'the watch failed; will go on from where it was' };
  return { wait: 'backoff', relist: 'rejected', note: 'the watch fails again and again; will list again' };
}

/**
 * Whether trying again in a moment brings the same: the server is not there, or its answer is final. One that is slow,
 * busy or breaks off may do better the next time. A resource we can do without fails for good without harm.
 */
export function isLasting(error: unknown, resource: ApiResource): boolean {
  if (!(error instanceof ApiError)) return false;
  const { reason, cause } = error;
  if (reason === 'unauthorized') return true;
  if (reason === 'forbidden' || reason === 'not-found') return resource.optional !== true;
  return reason === 'unreachable' ? !PASSING.has(codeOf(cause)) : isRedirect(error);
}

/** Nobody redirects the API: this is another server, or its address begins with http and not https. */
function isRedirect({ status = 0 }: ApiError): boolean {
  return status >= 300 && status < 400;
}

/** A connection that was closed before the answer, and a server that takes its time to answer. */
const PASSING: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', NO_ANSWER]);

function codeOf(cause: unknown): unknown {
  return cause instanceof Error && 'code' in cause ? cause.code : undefined;
}

/** What a person can do about it, to go behind the message; empty when the message says all. */
export function explain(error: unknown, resource: ApiResource): string {
  if (!(error instanceof ApiError)) return '';
  if (error.reason === 'forbidden') {
    return `; grant list and watch on ${resource.name} (API group "${resource.group}"), which ClusterRole system:node-proxier has`;
  }
  if (error.reason === 'not-found' && !resource.optional) {
    return `; is this a Kubernetes API server, and does it serve ${resource.path}?`;
  }
  if (error.reason === 'malformed' || isRedirect(error)) return '; is this a Kubernetes API server?';
  return '';
}

export function watchRestartReason(error: unknown): WatchRestartReason {
  const reason = error instanceof ApiError ? error.reason : undefined;
  return RESTART_REASONS.find((one) => one === reason) ?? 'error';
}

const RESTART_REASONS = ['short', 'idle', 'overrun', 'dropped', 'expired'] as const;
