/** What passes between this program and the API server: client-go's names where it has them. */

import type { ValueKind } from '../cluster/values.ts';
import type { ApiHooks, RelistReason, WatchRestartReason } from '../source/api/options.ts';
import { Counter, Histogram } from './metric.ts';
import type { Registry } from './registry.ts';

/** component-base's, for `rest_client_request_duration_seconds`. */
const REQUEST_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/** Give it to the API source as its hooks. */
export class ApiMetrics implements ApiHooks {
  readonly #requests = new Counter(
    'rest_client_requests_total',
    '[ALPHA] Requests to the API server by their outcome, <error> for those without an answer',
    ['code', 'method', 'host'],
  );
  readonly #durations = new Histogram(
    'rest_client_request_duration_seconds',
    '[ALPHA] From a request to the headers of its answer',
    REQUEST_BUCKETS,
    ['verb', 'host'],
  );
  readonly #relists = new Counter(
    'kube_rulesync_relists_total',
    'Times that everything of a kind was fetched, and why',
    ['kind', 'reason'],
  );
  readonly #restarts = new Counter(
    'kube_rulesync_watch_restarts_total',
    'Times that a watch was opened anew, and why; "ended" is the server ending it in good order',
    ['kind', 'reason'],
  );

  constructor(registry: Registry) {
    registry.register(this.#requests, this.#durations, this.#relists, this.#restarts);
  }

  readonly relist = (kind: ValueKind, reason: RelistReason): void => {
    this.#relists.add({ kind, reason });
  };

  readonly watchRestart = (kind: ValueKind, reason: WatchRestartReason): void => {
    this.#restarts.add({ kind, reason });
  };

  readonly requestDone = (code: string, verb: string, host: string, seconds: number): void => {
    this.#requests.add({ code, method: verb, host });
    this.#durations.observe({ verb, host }, seconds);
  };
}
