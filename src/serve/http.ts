/**
 * What every server here has in common: it answers GET and HEAD from memory, takes no bodies, lets nobody hold
 * it up, and keeps trying to listen.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from '../log/logger.ts';
import { type Answer, type Asked, BAD_REQUEST, FAILED, NOT_ALLOWED, redirectTo } from './answer.ts';
import { Attempts } from './attempts.ts';
import { Connections } from './connections.ts';
import { cleanPath, locationOf, readTarget } from './target.ts';

/** How much anybody may ask of a server. */
export interface Limits {
  /** When there are more, the one that has been quiet longest is closed, so that nobody can keep others out. */
  readonly connections: number;
  /** Milliseconds for a request to come in. */
  readonly requestMs: number;
  /** Milliseconds until its answer must have been taken. */
  readonly answerMs: number;
  /** Milliseconds for a connection to stay open with nothing on it. */
  readonly idleMs: number;
}

/**
 * Of all servers of this process: a node has as many health check ports as the cluster has Services of that kind, and
 * the tools that write rules need file descriptors too.
 */
const ALL_CONNECTIONS = new Connections(512);

const LIMITS: Limits = { connections: 256, requestMs: 5000, answerMs: 10_000, idleMs: 10_000 };

export interface ListenerOptions {
  /** What listens, for the log: `healthz`. */
  readonly name: string;
  /** An address; an unspecified one means every address, of both families unless `oneFamily`. */
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly oneFamily?: boolean;
  /** Where a path has `//`, `/./` or `/../`, say where to ask instead, as Go's `ServeMux` does; default false. */
  readonly redirects?: boolean;
  /** What to answer on a path (without its query and escapes). */
  readonly answer: (path: string, asked: Asked) => Answer | Promise<Answer>;
  readonly log: Logger;
  /** Milliseconds between two attempts to listen; default 5,000, as kube-proxy's. */
  readonly retryMs?: number;
  /** Told once, when the first attempt to listen fails. */
  readonly failed?: (error: Error) => void;
  readonly limits?: Partial<Limits>;
  /** Those of all servers that share a limit; default: of this process. */
  readonly all?: Connections;
}

/** A server that listens from `start` to `close`, or tries to. */
export class Listener {
  readonly #options: ListenerOptions;
  #server: Server | undefined;
  readonly #limits: Limits;
  readonly #own: Connections;
  readonly #all: Connections;
  readonly #attempts = new Attempts();
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#own = new Connections(this.#limits.connections);
    this.#all = options.all ?? ALL_CONNECTIONS;
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#own.size;
  }

  /** Where it listens, once it does. */
  get address(): AddressInfo | undefined {
    const address = this.#server?.listening ? this.#server.address() : null;
    return typeof address === 'object' && address !== null ? address : undefined;
  }

  /**
   * Resolves after the first attempt. When that fails the next ones follow until `close`; with `hardFail` it
   * rejects instead, with an error that names the address.
   */
  async start(hardFail = false): Promise<void> {
    try {
      await this.#listen();
    } catch (error) {
      this.#options.failed?.(error as Error);
      if (hardFail) throw error;
      this.#again(error as Error);
    }
  }

  /** Ends every connection at once. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await closeServer(this.#server);
  }

  #again(error: Error): void {
    if (this.#closed) return;
    const { log, name, retryMs = 5000 } = this.#options;
    const isNews = this.#attempts.failed(error.message);
    log[isNews ? 'error' : 'debug'](
      { err: error, retryInMs: retryMs, attempts: this.#attempts.failures },
      `The ${name} server cannot listen; it will be tried again`,
    );
    this.#retry = setTimeout(() => {
      this.#listen().catch((failure: Error) => this.#again(failure));
    }, retryMs);
  }

  async #listen(): Promise<void> {
    const { host, port, name, oneFamily = false, log } = this.#options;
    const server = this.#create();
    this.#server = server;
    const unspecified = host === '0.0.0.0' || host === '::';
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(
          // Without a host Node listens on :: and with it on 0.0.0.0, or on the latter where there is no IPv6.
          unspecified && !oneFamily ? { port } : { port, host, ipv6Only: oneFamily && host === '::' },
          resolve,
        );
      });
    } catch (error) {
      throw new Error(`${name} server on ${joinHostPort(host, port)}: ${(error as Error).message}`);
    }
    server.removeAllListeners('error');
    server.on('error', (error) => log.warn({ err: error }, `The ${name} server had an error`));
    if (this.#closed) return closeServer(server);
    const { failures } = this.#attempts;
    const address = server.address();
    if (failures === 0) log.debug({ address }, `The ${name} server listens`);
    else log.info({ address, attempts: failures + 1 }, `The ${name} server listens now`);
  }

  #create(): Server {
    const { requestMs, idleMs } = this.#limits;
    const server = createServer(
      {
        maxHeaderSize: 8192,
        headersTimeout: requestMs,
        requestTimeout: requestMs,
        keepAliveTimeout: requestMs,
        // Node looks no more often than this for requests that take too long.
        connectionsCheckingInterval: Math.min(requestMs, 1000),
      },
      (request, response) => {
        this.#answer(request, response).catch((error: unknown) => {
          this.#options.log.warn({ err: error }, `The ${this.#options.name} server could not answer`);
          response.destroy();
        });
      },
    );
    server.maxRequestsPerSocket = 1000;
    // Probing never keeps the process alive, and half a request never keeps a socket.
    server.setTimeout(idleMs, (socket) => socket.destroy());
    server.on('connection', (socket) => this.#admit(socket));
    return server;
  }

  #admit(socket: Socket): void {
    this.#own.add(socket);
    this.#all.add(socket);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket, headers } = request;
    this.#own.heard(socket);
    this.#all.heard(socket);
    const deadline = setTimeout(() => socket.destroy(), this.#limits.answerMs);
    response.once('close', () => clearTimeout(deadline));
    const { status, headers: own, body } = await this.#answerTo(request);
    const hasBody = headers['content-length'] ?? headers['transfer-encoding'];
    response.writeHead(status, {
      ...own,
      'Content-Length': Buffer.byteLength(body),
      // A body is not read: the connection ends with the answer.
      ...(hasBody === undefined ? {} : { Connection: 'close' }),
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  async #answerTo({ method, url = '/', headers }: IncomingMessage): Promise<Answer> {
    if (method !== 'GET' && method !== 'HEAD') return NOT_ALLOWED;
    const target = readTarget(url);
    if (!target) return BAD_REQUEST;
    const { rawPath, path, query } = target;
    const clean = cleanPath(rawPath);
    if (this.#options.redirects && clean !== rawPath) return redirectTo(locationOf(clean, query));
    try {
      return await this.#options.answer(path, {
        query: new URLSearchParams(query),
        accept: headers.accept ?? '',
        userAgent: headers['user-agent'] ?? '',
      });
    } catch (error) {
      this.#options.log.error({ err: error, path }, `The ${this.#options.name} server failed to answer`);
      return FAILED;
    }
  }
}

/** `127.0.0.1:80`, `[::1]:80`. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

async function closeServer(server: Server | undefined): Promise<void> {
  if (!server?.listening) return;
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
