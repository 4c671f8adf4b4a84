/** GET, LIST and WATCH of the test API server. */
import type { ServerResponse } from 'node:http';
import { type KubeObject, type ParsedPath, statusObject } from './objects.ts';
import { fieldMatcher, labelMatcher, type Matcher } from './selectors.ts';
import type { Store } from './store.ts';
import { WatchStream } from './watch-stream.ts';

export type Query = Readonly<Record<string, string>>;

/** Answered with this status instead. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: object;

  constructor(status: number, reason: string, message: string, details?: unknown) {
    super(message);
    this.status = status;
    this.body = statusObject(status, reason, message, details);
  }
}

/** What namespace and selectors of a request let through. */
export function matcherOf({ type, namespace }: ParsedPath, query: Query): Matcher {
  const labels = labelMatcher(query.labelSelector ?? '');
  let fields: Matcher;
  try {
    fields = fieldMatcher(query.fieldSelector ?? '', type.kind);
  } catch (error) {
    const message = `Unable to find ${JSON.stringify(type.name)} that match: ${(error as Error).message}`;
    throw new Refusal(400, 'BadRequest', message);
  }
  return (object) =>
    (namespace === '' || object.metadata.namespace === namespace) && labels(object) && fields(object);
}

/** Bytes in one write: a long list goes out in pieces, as the real one does. */
const PIECE = 64 * 1024;

export function answerList(store: Store, path: ParsedPath, query: Query, response: ServerResponse): void {
  const { type } = path;
  const after = continueKey(store, query);
  if (Number(query.resourceVersion ?? 0) > store.version) {
    const message = `Too large resource version: ${query.resourceVersion}, current: ${store.version}`;
    throw new Refusal(504, 'Timeout', message, {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    });
  }
  const matches = matcherOf(path, query);
  const all = store.list(type).filter((object) => matches(object) && pathOf(object) > after);
  const limit = Number(query.limit ?? 0) || all.length;
  const page = all.slice(0, limit);
  const last = page.at(-1);
  const metadata = {
    resourceVersion: String(store.version),
    ...(all.length > limit && last
      ? { continue: continueToken(store, last), remainingItemCount: all.length - limit }
      : {}),
  };
  response.writeHead(200, { 'content-type': 'application/json' });
  let piece = `{"kind":"${type.kind}List","apiVersion":"${type.apiVersion}","metadata":${JSON.stringify(metadata)},"items":[`;
  for (const [index, object] of page.entries()) {
    // Items of a list do not repeat what they are.
    const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
    piece += `${index > 0 ? ',' : ''}${JSON.stringify(rest)}`;
    if (piece.length < PIECE) continue;
    response.write(piece);
    piece = '';
  }
  response.end(`${piece}]}\n`);
}

function pathOf(object: KubeObject): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

function continueToken(store: Store, last: KubeObject): string {
  return Buffer.from(JSON.stringify({ rv: store.version, start: pathOf(last) })).toString('base64url');
}

function continueKey(store: Store, query: Query): string {
  if (!query.continue) return '';
  if (query.resourceVersion) {
    throw new Refusal(400, 'BadRequest', 'specifying resource version is not allowed when using continue');
  }
  const token = JSON.parse(Buffer.from(query.continue, 'base64url').toString()) as {
    rv: number;
    start: string;
  };
  if (token.rv < store.compactedVersion) {
    throw new Refusal(410, 'Expired', 'The provided continue parameter is too old');
  }
  return token.start;
}

export interface WatchPolicy {
  readonly watchList: boolean;
  readonly goneAs: 'stream' | 'http';
}

/** Opens a watch and sends what it begins with; the caller passes on later events. */
export function openWatch(
  store: Store,
  path: ParsedPath,
  query: Query,
  response: ServerResponse,
  policy: WatchPolicy,
): WatchStream {
  const { type } = path;
  const initial = query.sendInitialEvents === 'true';
  if (initial && !policy.watchList) {
    const message =
      'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
    throw new Refusal(422, 'Invalid', `ListOptions.meta.k8s.io "" is invalid: ${message}`);
  }
  const matches = matcherOf(path, query);
  const from = query.resourceVersion ?? '';
  const old = !initial && from !== '' && from !== '0' && Number(from) < store.compactedVersion;
  const gone = new Refusal(410, 'Expired', `too old resource version: ${from} (${store.compactedVersion})`);
  if (old && policy.goneAs === 'http') throw gone;

  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  const stream = new WatchStream({
    response,
    type,
    matches,
    bookmarks: query.allowWatchBookmarks === 'true',
  });
  if (old) {
    stream.error(gone.body);
    stream.end();
    return stream;
  }
  if (initial || from === '' || from === '0') {
    for (const object of store.list(type)) if (matches(object)) stream.added(object);
    if (initial) stream.bookmark(store.version, true);
  } else {
    for (const event of store.since(type, Number(from))) stream.changed(event);
    // From a version that is still to come the real server says nothing at all, bookmarks included.
    if (Number(from) > store.version) stream.freeze();
  }
  return stream;
}
