/** One watch, from its request to its end. */
import { ApiError, errorOfStatus, type Fields, isFields } from './api-error.ts';
import { readBody } from './body.ts';
import { LineSplitter } from './line-splitter.ts';
import type { Timing } from './options.ts';
import type { ApiResource } from './resources.ts';
import type { Transport } from './transport.ts';

export interface WatchRequest {
  readonly transport: Transport;
  readonly resource: ApiResource;
  /** Selectors, `resourceVersion`, and what a watch-list adds. */
  readonly query: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly timing: Timing;
  readonly random: () => number;
  /** Milliseconds without a byte; asked again and again. */
  idleMs(): number;
}

export interface WatchEvent {
  /** ADDED, MODIFIED, DELETED or BOOKMARK; others may be added to the API. */
  readonly type: unknown;
  readonly object: unknown;
  /** The object's `metadata`; empty when there is none. */
  readonly metadata: Fields;
}

/** What a handler throws ends the watch, and is what `watch` rejects with. */
export interface WatchHandlers {
  /** The server has accepted the watch. */
  opened(): void;
  /** Bytes came. */
  heard(): void;
  event(event: WatchEvent): void;
  /** A line is no valid JSON. */
  unreadable(error: unknown): void;
}

/**
 * Resolves when the server ends the watch in good order, as it does after `timeoutSeconds`; rejects with an
 * {@link ApiError} otherwise, also for an ERROR event. An event that is cut off in the middle is not handed on: the
 * next watch brings it.
 */
export async function watch(request: WatchRequest, handlers: WatchHandlers): Promise<void> {
  const { transport, resource, signal, timing, random } = request;
  const what = `watch ${resource.name}`;
  const { watchMinSeconds, watchMaxSeconds } = timing;
  const seconds = Math.floor(watchMinSeconds + random() * (watchMaxSeconds - watchMinSeconds));
  const query = {
    watch: 'true',
    allowWatchBookmarks: 'true',
    timeoutSeconds: String(seconds),
    ...request.query,
  };
  const startedAt = performance.now();
  let events = 0;
  const response = await transport.send({
    what,
    path: resource.path,
    query,
    signal,
    responseMs: timing.responseMs,
  });
  handlers.opened();
  const lines = new LineSplitter((line) => {
    events += 1;
    takeIn(line, what, handlers);
  });
  const onChunk = (chunk: Buffer) => {
    handlers.heard();
    lines.push(chunk);
  };
  const totalMs = seconds * 1000 + timing.overrunMs;
  await readBody(response, what, onChunk, { idleMs: () => request.idleMs(), totalMs });
  const rest = lines.end();
  if (isJson(rest)) takeIn(rest, what, handlers);
  if (events === 0 && performance.now() - startedAt < timing.shortWatchMs) {
    throw new ApiError('short', `${what}: the server ended it at once`);
  }
}

function takeIn(line: Buffer, what: string, handlers: WatchHandlers): void {
  let event: unknown;
  try {
    event = JSON.parse(line.toString('utf8'));
  } catch (error) {
    handlers.unreadable(error);
    return;
  }
  const { type, object } = isFields(event) ? event : { type: undefined, object: undefined };
  if (type === 'ERROR') throw errorOfStatus(object, what, { inStream: true });
  const metadata = isFields(object) && isFields(object.metadata) ? object.metadata : {};
  handlers.event({ type, object, metadata });
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString('utf8'));
    return true;
  } catch {
    return false;
  }
}
