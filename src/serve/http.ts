/**
 * What every server here has in common: it answers GET and HEAD from memory, takes no bodies, lets nobody hold
 * it up, and keeps trying to listen.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '../log/logger.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export const NOT_FOUND: Answer = {
  status: 404,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' },
  body: '404 page not found\n',
};

const NOT_ALLOWED: Answer = {
  status: 405,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', Allow: 'GET, HEAD' },
  body: 'method not allowed\n',
};

export interface ListenerOptions {
  /** What listens, for the log: `healthz`. */
  readonly name: string;
  /** An address; an unspecified one means every address, of both families unless `oneFamily`. */
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly oneFamily?: boolean;
  /** What to answer on a path (without its query). */
  readonly answer: (path: string) => Answer;
  readonly log: Logger;
  /** Milliseconds between two attempts to listen; default 5,000, as kube-proxy's. */
  readonly retryMs?: number;
}

/** A server that listens from `start` to `close`, or tries to. */
export class Listener {
  readonly #options: ListenerOptions;
  #server: Server | undefined;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
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
      if (hardFail) throw error;
      this.#again(error);
    }
  }

  /** Ends every connection at once. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await closeServer(this.#server);
  }

  #again(error: unknown): void {
    if (this.#closed) return;
    const { log, name, retryMs = 5000 } = this.#options;
    log.error({ err: error, retryInMs: retryMs }, `The ${name} server cannot listen; it will be tried again`);
    this.#retry = setTimeout(() => void this.start(), retryMs);
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
    if (this.#closed) await closeServer(server);
    else log.debug({ address: server.address() }, `The ${name} server listens`);
  }

  #create(): Server {
    const server = createServer(
      { maxHeaderSize: 8192, headersTimeout: 5000, requestTimeout: 5000, keepAliveTimeout: 5000 },
      (request, response) => {
        const allowed = request.method === 'GET' || request.method === 'HEAD';
        const path = (request.url ?? '/').replace(/\?.*$/s, '');
        const { status, headers, body } = allowed ? this.#options.answer(path) : NOT_ALLOWED;
        const hasBody = request.headers['content-length'] ?? request.headers['transfer-encoding'];
        response.writeHead(status, {
          ...headers,
          'Content-Length': Buffer.byteLength(body),
          // A body is not read: the connection ends with the answer.
          ...(hasBody === undefined ? {} : { Connection: 'close' }),
        });
        response.end(request.method === 'HEAD' ? undefined : body);
      },
    );
    server.maxConnections = 256;
    server.maxRequestsPerSocket = 1000;
    // Probing never keeps the process alive, and half a request never keeps a socket.
    server.setTimeout(10_000, (socket) => socket.destroy());
    return server;
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
