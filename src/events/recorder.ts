/**
 * Sends Events to the API server, one after another, behind everybody's back: nothing waits for them, there is an end
 * to how many are sent, and one that cannot be sent is logged.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../log/logger.ts';
import { ApiError } from '../source/api/api-error.ts';
import { readBody } from '../source/api/body.ts';
import type { Transport } from '../source/api/transport.ts';
import { type EventSpec, eventObject, microTime } from './event.ts';
import { Series } from './series.ts';

export interface EventRecorderOptions {
  readonly transport: Pick<Transport, 'send'>;
  /** The host name. */
  readonly host: string;
  readonly log: Logger;
  /** Milliseconds between attempts to send one Event; default 10,000, as client-go's. */
  readonly retryMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** Waiting to be sent; what comes when there are so many is dropped. */
const MAX_WAITING = 100;
const ATTEMPTS = 12;
const RESPONSE_MS = 10_000;
/** A Service is far smaller. */
const MAX_BODY = 4 * 1024 * 1024;

interface Happened {
  readonly spec: EventSpec;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Takes Events until it is closed. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #now: () => number;
  readonly #series = new Series();
  readonly #waiting: Happened[] = [];
  readonly #over = new AbortController();
  #sending: Promise<void> | undefined;
  #serial = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Returns at once, whatever becomes of it. */
  record(spec: EventSpec): void {
    if (this.#over.signal.aborted) return;
    if (this.#waiting.length >= MAX_WAITING) {
      this.#options.log.debug({ reason: spec.reason }, 'Too many Events wait to be sent; one is dropped');
      return;
    }
    this.#waiting.push({ spec, at: this.#now() });
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  /** Resolves when everything is sent, or after so many milliseconds. */
  async flush(limitMs: number): Promise<void> {
    await Promise.race([this.#sending, sleep(limitMs, undefined, { ref: false })]);
  }

  /** Drops what is not sent yet. */
  close(): void {
    this.#over.abort();
    this.#waiting.length = 0;
  }

  async #sendAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      await this.#send(next);
    }
  }

  async #send(happened: Happened): Promise<void> {
    const { spec } = happened;
    const { log, retryMs = 10_000 } = this.#options;
    const { signal } = this.#over;
    const described = {
      reason: spec.reason,
      about: [spec.regarding.namespace, spec.regarding.name].join('/'),
    };
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        await this.#sendOnce(happened);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const again = attempt < ATTEMPTS && isPassing(error);
        // The rest of the attempts fail for the same reason, most likely.
        if (attempt === 1 || !again) {
          const outcome = again ? 'it will be tried again' : 'it is dropped';
          log.warn({ ...described, err: error }, `An Event could not be sent; ${outcome}`);
        }
        if (!again) return;
        await sleep(retryMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #sendOnce(happened: Happened): Promise<void> {
    const { spec, at } = happened;
    const next = this.#series.next(spec, at);
    if (next.action === 'skip') return;
    if (next.action === 'create') {
      const uid = await this.#uidOf(spec.regarding);
      this.#serial += 1;
      const event = eventObject(spec, uid, { host: this.#options.host, now: at, serial: this.#serial });
      const { name, namespace } = event.metadata;
      await this.#request('create event', 'POST', eventsIn(namespace), event);
      this.#series.created(spec, { name, namespace }, at);
      return;
    }
    const { name, namespace } = next.event;
    const series = { count: next.count, lastObservedTime: microTime(at) };
    try {
      await this.#request('patch event', 'PATCH', `${eventsIn(namespace)}/${name}`, { series });
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== 'not-found') throw error;
      // Events live for an hour, or somebody deleted it.
      this.#series.forget(spec);
      await this.#sendOnce(happened);
    }
  }

  async #request(what: string, method: 'POST' | 'PATCH', path: string, body: object): Promise<void> {
    const { signal } = this.#over;
    const request = { what, method, path, body, signal, responseMs: RESPONSE_MS };
    (await this.#options.transport.send(request)).resume();
  }

  /**
   * A Node's is taken to be its name, as everywhere in Kubernetes. A Service's is asked for, by a list, which the
   * rights of a proxy allow; without it kube-proxy's `namespace/name` stands in, by which only some tools find it.
   */
  async #uidOf({ kind, namespace, name }: EventSpec['regarding']): Promise<string> {
    if (kind === 'Node') return name;
    try {
      return await this.#uidOfService(namespace, name);
    } catch (error) {
      this.#options.log.debug({ err: error }, 'The Service of an Event could not be looked up');
      return `${namespace}/${name}`;
    }
  }

  async #uidOfService(namespace: string, name: string): Promise<string> {
    const what = `list service ${namespace}/${name}`;
    const response = await this.#options.transport.send({
      what,
      path: `/api/v1/namespaces/${namespace}/services`,
      query: { fieldSelector: `metadata.name=${name}` },
      signal: this.#over.signal,
      responseMs: RESPONSE_MS,
    });
    const chunks: Buffer[] = [];
    let size = 0;
    const keep = (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_BODY) throw new Error(`${what}: the answer is too long`);
      chunks.push(chunk);
    };
    await readBody(response, what, keep, { idleMs: () => RESPONSE_MS, totalMs: RESPONSE_MS });
    const list = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
      readonly items?: readonly { readonly metadata?: { readonly uid?: unknown } }[];
    };
    const uid = list.items?.[0]?.metadata?.uid;
    if (typeof uid !== 'string' || uid === '') throw new Error(`${what}: there is no such Service`);
    return uid;
  }
}

function eventsIn(namespace: string): string {
  return `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
}

/** Whether it may go through some time later. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return !['forbidden', 'unauthorized', 'not-found', 'rejected'].includes(error.reason);
}
