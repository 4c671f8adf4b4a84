/**
 * A small Kubernetes API server inside the test's own process: it keeps objects, lists and watches them as the
 * real one does (HTTP/1.1, JSON; checked against recordings of kube-apiserver 1.36), and fails on demand.
 */
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Certificate } from './certificate.ts';
import { type Fault, Faults, type Verb } from './faults.ts';
import { type KubeObject, type ObjectRef, parsePath, statusObject, typeOf } from './objects.ts';
import { answerList, openWatch, Refusal } from './reads.ts';
import { RequestLog, type RequestRecord } from './request-log.ts';
import { Store } from './store.ts';
import type { WatchStream } from './watch-stream.ts';
import { write } from './writes.ts';

export type { Certificate } from './certificate.ts';
export type { Fault, Verb } from './faults.ts';
export type { KubeObject, ObjectRef } from './objects.ts';
export type { RequestRecord } from './request-log.ts';

export interface ApiServerOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default: any free one. */
  readonly port?: number;
  /** Serve https with this certificate; see `certificate.ts`. */
  readonly certificate?: Certificate;
  /** The only accepted bearer token; without it everyone may in. */
  readonly token?: string;
  /** Answer watches with `sendInitialEvents`; default true. Otherwise they get 422, as in 1.33. */
  readonly watchList?: boolean;
  /** Default one minute, as the real server. 0: only when `bookmark` is called. */
  readonly bookmarkMs?: number;
  /** How to say that a version is too old: inside the stream (default) or as HTTP status. */
  readonly goneAs?: 'stream' | 'http';
  /** Resources (plural) that this server does not have. */
  readonly without?: readonly string[];
  readonly objects?: readonly KubeObject[];
}

export interface ApiServer {
  /** `http://127.0.0.1:34567`. */
  readonly url: string;
  readonly port: number;
  /** Every request so far, in order. */
  readonly requests: readonly RequestRecord[];
  /** Open watches, optionally of one resource (plural). */
  watches(resource?: string): number;
  /** Waits for requests (or open watches: `condition` runs again when either changes). */
  until(condition: (requests: readonly RequestRecord[]) => boolean, deadlineMs?: number): Promise<void>;

  /** Creates or replaces an object, and gives its resourceVersion. */
  apply(object: KubeObject): string;
  /** False when there is no such object. */
  delete(ref: ObjectRef): boolean;
  get(ref: ObjectRef): KubeObject | undefined;
  list(kind: string): readonly KubeObject[];

  /** Forgets the past: watches from older versions get 410. */
  compact(): void;
  /** As after a restore from a backup: counts versions from here again. */
  rewind(version: number): void;
  /** Sends a bookmark on every open watch now. */
  bookmark(): void;
  /** Ends the open watches in good order. */
  endWatches(): void;
  /** Sends an ERROR event on the open watches, then ends them. */
  sendError(code: number, reason: string, message: string): void;
  /** Writes bytes as they are on the open watches of a resource (plural), or of all. */
  sendRaw(text: string | Buffer, resource?: string): void;

  /** The watches open now get not one more byte, and stay open. */
  freezeWatches(): void;
  /** While on, requests are taken and never answered. */
  mute(on: boolean): void;
  /** Breaks every connection: with a reset, or as if the peer had just gone (`fin`). */
  cut(how?: 'reset' | 'fin'): void;
  /** Refuses coming requests. */
  fail(fault: Fault): void;
  clearFaults(): void;
  /** From now on only this bearer token is accepted. */
  setToken(token: string | undefined): void;
  setWatchList(on: boolean): void;
  setCertificate(certificate: Certificate): void;
  /** Takes a resource (plural) out of the server's API, or puts it back. */
  setServed(resource: string, served: boolean): void;

  readonly close: () => Promise<void>;
}

/** Starts a server; it listens when the promise resolves. */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const { host = '127.0.0.1', port = 0, certificate, bookmarkMs = 60_000 } = options;
  const store = new Store();
  const faults = new Faults();
  const log = new RequestLog();
  const watches = new Set<WatchStream>();
  const sockets = new Map<Socket, number>();
  const absent = new Set(options.without ?? []);
  const policy = { watchList: options.watchList ?? true, goneAs: options.goneAs ?? 'stream' };
  let token = options.token;
  let muted = false;
  for (const object of options.objects ?? []) store.apply(object);
  store.listen((event) => {
    for (const watch of watches) watch.changed(event);
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://server');
    const query = Object.fromEntries(url.searchParams);
    const path = parsePath(url.pathname);
    const method = request.method ?? 'GET';
    const record: RequestRecord = {
      method,
      path: url.pathname,
      query,
      verb: path ? verbOf(method, path.name !== '', query) : 'other',
      resource: path?.type.name ?? '',
      headers: request.headers,
      connection: sockets.get(request.socket) ?? 0,
      status: 0,
    };
    log.add(record);
    if (muted) return;
    response.on('finish', () => log.changed());
    const answer = (status: number, body: unknown, headers: Record<string, string> = {}) => {
      record.status = status;
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(`${JSON.stringify(body)}\n`);
    };
    try {
      const body = await readJson(request);
      if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
        throw new Refusal(401, 'Unauthorized', 'Unauthorized');
      }
      if (url.pathname === '/version') return answer(200, { major: '1', minor: '36', gitVersion: 'v1.36.1' });
      if (!path || record.verb === 'other' || absent.has(path.type.name)) {
        throw new Refusal(404, 'NotFound', 'the server could not find the requested resource');
      }
      const fault = faults.take(path.type.name, record.verb);
      if (fault) {
        const {
          status,
          reason = `Test${status}`,
          message = 'refused by the test',
          retryAfterSeconds,
        } = fault;
        const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
        return answer(status, statusObject(status, reason, message), headers as Record<string, string>);
      }
      if (record.verb === 'list') {
        answerList(store, path, query, response);
        record.status = 200;
      } else if (record.verb === 'watch' || record.verb === 'watch-list') {
        const stream = openWatch(store, path, query, response, policy);
        record.status = 200;
        watches.add(stream);
        const seconds = Number(query.timeoutSeconds ?? 0);
        const timer = seconds > 0 ? setTimeout(() => stream.end(), seconds * 1000) : undefined;
        response.on('close', () => {
          clearTimeout(timer);
          watches.delete(stream);
          log.changed();
        });
        log.changed();
      } else if (record.verb === 'get') {
        const object = store.get(path.type, refOf(path));
        if (!object) throw new Refusal(404, 'NotFound', `${path.type.name} "${path.name}" not found`);
        answer(200, object);
      } else {
        const { status, body: written } = write(store, method, path, body);
        answer(status, written);
      }
    } catch (error) {
      if (!(error instanceof Refusal)) return answer(500, statusObject(500, 'InternalError', String(error)));
      answer(error.status, error.body);
    }
  }

  const listener = (request: IncomingMessage, response: ServerResponse) => {
    void handle(request, response);
  };
  const server = certificate ? https.createServer(certificate, listener) : http.createServer(listener);
  let connections = 0;
  server.on(certificate ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections += 1;
    sockets.set(socket, connections);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const bookmark = () => {
    for (const watch of watches) watch.bookmark(store.version);
  };
  const bookmarks = bookmarkMs > 0 ? setInterval(bookmark, bookmarkMs) : undefined;
  const address = server.address() as AddressInfo;

  return {
    url: `${certificate ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    get requests() {
      return log.all;
    },
    watches(resource) {
      return [...watches].filter((watch) => resource === undefined || watch.type.name === resource).length;
    },
    until: (condition, deadlineMs = 10_000) => log.until(condition, deadlineMs),
    apply: (object) => String(store.apply(object).metadata.resourceVersion),
    delete: (ref) => store.delete(ref) !== undefined,
    get: (ref) => store.get(typeOf(ref), ref),
    list: (kind) => store.list(typeOf({ kind })),
    compact: () => store.compact(),
    rewind: (version) => store.rewind(version),
    bookmark,
    endWatches() {
      for (const watch of watches) watch.end();
    },
    sendError(code, reason, message) {
      for (const watch of watches) {
        watch.error(statusObject(code, reason, message));
        watch.end();
      }
    },
    sendRaw(text, resource) {
      for (const watch of watches) if (!resource || watch.type.name === resource) watch.raw(text);
    },
    freezeWatches() {
      for (const watch of watches) watch.freeze();
    },
    mute(on) {
      muted = on;
    },
    cut(how = 'reset') {
      for (const socket of sockets.keys()) {
        // Under TLS only node itself can reach the TCP socket, so that those are just closed.
        if (how === 'reset' && !('encrypted' in socket)) socket.resetAndDestroy();
        else socket.destroy();
      }
    },
    fail: (fault) => faults.add(fault),
    clearFaults: () => faults.clear(),
    setToken(value) {
      token = value;
    },
    setWatchList(on) {
      policy.watchList = on;
    },
    setCertificate(next) {
      if (server instanceof https.Server) server.setSecureContext(next);
    },
    setServed(resource, served) {
      if (served) absent.delete(resource);
      else absent.add(resource);
    },
    async close() {
      clearInterval(bookmarks);
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets.keys()) socket.destroy();
      server.closeAllConnections();
      await closed;
    },
  };
}

function verbOf(method: string, named: boolean, query: Readonly<Record<string, string>>): Verb | 'other' {
  switch (method) {
    case 'GET': {
      if (named) return 'get';
      if (query.watch !== 'true' && query.watch !== '1') return 'list';
      return query.sendInitialEvents === 'true' ? 'watch-list' : 'watch';
    }
    case 'POST':
      return named ? 'other' : 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return 'delete';
    default:
      return 'other';
  }
}

function refOf({ namespace, name }: { namespace: string; name: string }) {
  return namespace === '' ? { name } : { namespace, name };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refusal(400, 'BadRequest', `the body is no JSON: ${(error as Error).message}`);
  }
}
