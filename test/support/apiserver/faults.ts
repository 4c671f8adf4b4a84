/** Requests the server is told to refuse. */

export type Verb = 'list' | 'watch' | 'watch-list' | 'get' | 'create' | 'update' | 'patch' | 'delete';

export interface Fault {
  /** HTTP status: 401, 403, 429, 500, … */
  readonly status: number;
  /** How many requests to refuse; default 1, Infinity until `clearFaults`. */
  readonly count?: number;
  /** Sent as Retry-After. */
  readonly retryAfterSeconds?: number;
  /** Plural; only requests for this resource. */
  readonly resource?: string;
  readonly verb?: Verb;
  /** Status.reason and Status.message. */
  readonly reason?: string;
  readonly message?: string;
}

export class Faults {
  #pending: { fault: Fault; left: number }[] = [];

  add(fault: Fault): void {
    this.#pending.push({ fault, left: fault.count ?? 1 });
  }

  clear(): void {
    this.#pending = [];
  }

  /** The fault this request is to meet, used up by one. */
  take(resource: string, verb: Verb): Fault | undefined {
    const entry = this.#pending.find(
      ({ fault }) =>
        (fault.resource === undefined || fault.resource === resource) &&
        (fault.verb === undefined || fault.verb === verb),
    );
    if (!entry) return undefined;
    entry.left -= 1;
    if (entry.left <= 0) this.#pending = this.#pending.filter((other) => other !== entry);
    return entry.fault;
  }
}
