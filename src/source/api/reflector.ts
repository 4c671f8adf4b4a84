/**
 * Keeps one kind up to date: everything once, then changes from there on, for as long as it takes. The rules are
 * those of client-go's reflector (`tools/cache/reflector.go`), stricter where a stream can stay silent.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceSink, SourceStatus } from '../source.ts';
import { ApiError, errorText, type Fields, isFields } from './api-error.ts';
import { Backoff } from './backoff.ts';
import {
  explain,
  isLasting,
  type NextStep,
  nextStep,
  type RequestMode,
  watchRestartReason,
} from './failure.ts';
import { Intake } from './intake.ts';
import { list } from './list.ts';
import type { ApiHooks, Log, RelistReason, Timing } from './options.ts';
import type { ApiResource } from './resources.ts';
import type { Transport } from './transport.ts';
import { type WatchEvent, watch } from './watch.ts';

/** What is found out about a server, shared by the reflectors that talk to it. */
export interface ServerTraits {
  /** False once it has refused a watch with initial events (before 1.32, and 1.33). */
  watchList: boolean;
  /** True once it has sent a bookmark: from then on silence has a meaning. */
  bookmarks: boolean;
}

export interface ReflectorEnv {
  readonly transport: Transport;
  readonly traits: ServerTraits;
  readonly timing: Timing;
  readonly random: () => number;
  readonly hooks: ApiHooks;
  readonly log: Log;
}

/** The status of a healthy watch is reported no more often than this. */
const STATUS_INTERVAL_MS = 1_000;

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** Runs until `signal` aborts, whatever happens on the wire. */
export function reflect(
  resource: ApiResource,
  env: ReflectorEnv,
  sink: SourceSink,
  signal: AbortSignal,
): Promise<void> {
  return new Reflector(resource, env, sink, signal).run();
}

class Reflector {
  readonly #resource: ApiResource;
  readonly #env: ReflectorEnv;
  readonly #sink: SourceSink;
  readonly #signal: AbortSignal;
  readonly #intake: Intake;
  readonly #backoff: Backoff;

  /** Where a watch goes on; opaque. Undefined when unknown or of no more use. */
  #resourceVersion: string | undefined;
  /** Set while everything is to be fetched (anew). */
  #relist: RelistReason | undefined = 'first';
  /** What is under way, or was last. */
  #mode: RequestMode = 'list';
  /** The last watch-list broke off: fetch the plain way this time. */
  #plainList = false;
  #useFieldSelector = true;
  #streamErrors = 0;
  /** What the sink knows: nothing yet, what was listed, or that the server has no such resource. */
  #known: 'nothing' | 'listed' | 'absent' = 'nothing';
  #lastHeardAt = 0;
  #lastStatusAt = 0;

  constructor(resource: ApiResource, env: ReflectorEnv, sink: SourceSink, signal: AbortSignal) {
    this.#resource = resource;
    this.#env = env;
    this.#sink = sink;
    this.#signal = signal;
    this.#intake = new Intake(resource, sink);
    this.#backoff = new Backoff(env.timing, env.random);
  }

  async run(): Promise<void> {
    while (!this.#signal.aborted) {
      try {
        await this.#request();
      } catch (error) {
        if (!this.#signal.aborted) await this.#recover(error);
      }
    }
  }

  /** One list, or one watch until the server ends it in good order. */
  async #request(): Promise<void> {
    if (!this.#relist) this.#mode = 'watch';
    else this.#mode = this.#env.traits.watchList && !this.#plainList ? 'watch-list' : 'list';
    if (this.#relist && this.#known !== 'absent') this.#report({ state: 'listing' });
    this.#intake.begin();
    if (this.#mode === 'list') return this.#list();
    await this.#watch();
    if (this.#mode === 'watch-list') throw incomplete(this.#resource, 'it ended early');
    this.#env.hooks.watchRestart?.(this.#resource.kind, 'ended');
  }

  async #list(): Promise<void> {
    // "0" lets the server answer from its cache, whatever its age: there is nothing yet that it could take back.
    const resourceVersion = this.#relist === 'first' ? '0' : this.#resourceVersion;
    const resource = this.#resource;
    const query = { ...this.#selectors(), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    const { transport, timing } = this.#env;
    const { responseMs } = timing;
    const listedAt = await list(
      { transport, resource, query, signal: this.#signal, responseMs },
      {
        object: (object) => this.#intake.add(object),
        unreadable: (error) => this.#intake.addUnreadable(error),
      },
    );
    this.#heard();
    this.#commit(listedAt);
  }

  async #watch(): Promise<void> {
    const { transport, timing, random, traits } = this.#env;
    const query = {
      ...this.#selectors(),
      ...(this.#resourceVersion === undefined ? {} : { resourceVersion: this.#resourceVersion }),
      ...(this.#mode === 'watch-list' ? INITIAL_EVENTS : {}),
    };
    const idleMs = () => {
      // Initial events are in the server's cache: like those of a list, they come without long pauses.
      if (this.#mode === 'watch-list') return timing.responseMs;
      return traits.bookmarks ? timing.idleMs : timing.idleWithoutBookmarksMs;
    };
    let events = 0;
    try {
      await watch(
        { transport, resource: this.#resource, query, signal: this.#signal, timing, random, idleMs },
        {
          opened: () => {
            this.#heard();
            if (!this.#relist) this.#report({ state: 'watching' });
          },
          heard: () => this.#heard(),
          event: (event) => {
            events += 1;
            this.#event(event);
          },
          unreadable: (error) => {
            if (this.#mode === 'watch-list') this.#intake.addUnreadable(error);
            else this.#intake.unreadable(error);
          },
        },
      );
    } catch (error) {
      if (this.#mode === 'watch-list' && isBroken(error)) throw incomplete(this.#resource, error);
      // A server that has gone back in time (etcd restored) says nothing until it reaches our resourceVersion.
      if (events === 0 && traits.bookmarks && isIdle(error)) this.#forget('silent');
      throw error;
    }
  }

  #event({ type, object, metadata }: WatchEvent): void {
    const initial = this.#mode === 'watch-list';
    switch (type) {
      case 'ADDED':
      case 'MODIFIED':
        if (initial) this.#intake.add(object);
        else this.#intake.upsert(object);
        break;
      case 'DELETED':
        if (initial) this.#intake.drop(object);
        else this.#intake.remove(object);
        break;
      case 'BOOKMARK':
        this.#env.traits.bookmarks = true;
        if (initial && endsInitialEvents(metadata)) {
          const resourceVersion = versionOf(metadata);
          if (resourceVersion === undefined)
            throw incomplete(this.#resource, 'its end has no resourceVersion');
          this.#mode = 'watch';
          this.#commit(resourceVersion);
        }
        break;
      default:
        this.#env.log.debug({ kind: this.#resource.kind, type }, 'unknown kind of watch event, ignored');
    }
    this.#streamErrors = 0;
    // Initial events have the versions of their objects, which do not say where the watch stands.
    if (!initial) this.#resourceVersion = versionOf(metadata) ?? this.#resourceVersion;
  }

  #commit(resourceVersion: string): void {
    const { kind } = this.#resource;
    const reason = this.#relist ?? 'first';
    const objects = this.#intake.commit();
    this.#resourceVersion = resourceVersion;
    this.#relist = undefined;
    this.#plainList = false;
    this.#streamErrors = 0;
    this.#known = 'listed';
    this.#report({ state: 'watching' });
    this.#env.hooks.relist?.(kind, reason);
    this.#env.log.info({ kind, objects, resourceVersion, reason }, 'listed');
  }

  async #recover(error: unknown): Promise<void> {
    const { hooks, log, random } = this.#env;
    const { kind } = this.#resource;
    if (this.#mode === 'watch') hooks.watchRestart?.(kind, watchRestartReason(error));
    if (error instanceof ApiError && error.inStream) this.#streamErrors += 1;
    const step = nextStep(error, {
      resource: this.#resource,
      mode: this.#mode,
      streamErrors: this.#streamErrors,
      synced: this.#known !== 'nothing',
    });
    this.#follow(step);
    const delay = this.#delay(step, error, random);
    const message = `${errorText(error)}${explain(error, this.#resource)}`;
    if (step.wait !== 'none' && !step.healthy) {
      hooks.failed?.(kind, message, isLasting(error, this.#resource));
      if (this.#signal.aborted) return;
    }
    const fields = { kind, error: message, retryInMs: Math.round(delay) };
    if (step.wait === 'none' || step.healthy) log.info(fields, step.note);
    else log.warn(fields, step.note);
    if (step.healthy) this.#report({ state: 'watching' });
    else if (step.wait !== 'none') this.#report({ state: 'retrying', error: message });
    if (delay > 0) await sleep(delay, undefined, { signal: this.#signal }).catch(() => {});
  }

  #follow(step: NextStep): void {
    if (step.withoutWatchList) this.#env.traits.watchList = false;
    if (step.withoutFieldSelector) this.#useFieldSelector = false;
    if (step.plainList) this.#plainList = true;
    if (step.relist) this.#forget(step.relist);
    if (step.empty && this.#known !== 'absent') {
      this.#intake.begin();
      this.#intake.commit();
      this.#known = 'absent';
    }
  }

  /** Milliseconds; a Retry-After comes on top of the back-off, so that not everyone comes back at once. */
  #delay(step: NextStep, error: unknown, random: () => number): number {
    const { backoffCapMs, absentRecheckMs, retryAfterCapMs } = this.#env.timing;
    const asked = error instanceof ApiError ? Math.min(error.retryAfterMs ?? 0, retryAfterCapMs) : 0;
    switch (step.wait) {
      case 'none':
        return 0;
      case 'backoff':
        return asked + this.#backoff.next();
      case 'cap':
        return asked + backoffCapMs * (0.5 + random() / 2);
      case 'rarely':
        return asked + absentRecheckMs * (0.5 + random() / 2);
    }
  }

  /** Everything is to be fetched. But for a fault of our own, our resourceVersion is then of no use. */
  #forget(reason: RelistReason): void {
    if (reason !== 'fault') this.#resourceVersion = undefined;
    // Until there was a first list, it is still the first.
    this.#relist = this.#known === 'listed' ? reason : 'first';
  }

  #selectors(): Record<string, string> {
    const { labelSelector, fieldSelector } = this.#resource;
    return {
      ...(labelSelector ? { labelSelector } : {}),
      ...(fieldSelector && this.#useFieldSelector ? { fieldSelector } : {}),
    };
  }

  #heard(): void {
    this.#lastHeardAt = Date.now();
    if (!this.#relist && this.#lastHeardAt - this.#lastStatusAt >= STATUS_INTERVAL_MS) {
      this.#report({ state: 'watching' });
    }
  }

  #report(status: Omit<SourceStatus, 'lastHeardAt'>): void {
    this.#lastStatusAt = Date.now();
    this.#sink.status(this.#resource.kind, { ...status, lastHeardAt: this.#lastHeardAt });
  }
}

/** KEP-3157: a watch that begins with everything there is. */
const INITIAL_EVENTS = { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };

function incomplete(resource: ApiResource, cause: unknown): ApiError {
  const what = `watch ${resource.name}: the initial events did not come to their end`;
  return new ApiError('incomplete', `${what}: ${errorText(cause)}`, { cause });
}

/** Whether the stream itself gave way, and not the request that opened it. */
function isBroken(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return ['dropped', 'idle', 'overrun', 'short'].includes(error.reason);
}

function isIdle(error: unknown): boolean {
  return error instanceof ApiError && error.reason === 'idle';
}

function endsInitialEvents(metadata: Fields): boolean {
  return isFields(metadata.annotations) && metadata.annotations[INITIAL_EVENTS_END] === 'true';
}

function versionOf(metadata: Fields): string | undefined {
  const { resourceVersion } = metadata;
  return typeof resourceVersion === 'string' && resourceVersion !== '' ? resourceVersion : undefined;
}
