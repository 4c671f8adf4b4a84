/** HTTP to the API server: one keep-alive agent, credentials fresh for every request, errors that say what to do. */
import http, { type Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Access, Credentials, Tls } from './access.ts';
import { ApiError, errorText, NO_ANSWER } from './api-error.ts';
import type { ApiHooks, Log } from './options.ts';
import { errorOfResponse } from './refusal.ts';

/** Probes find a peer that went without a word, and keep load balancers from forgetting a quiet connection. */
const TCP_KEEPALIVE_MS = 30_000;

export interface ApiRequest {
  /** In words, for errors: `list services`. */
  readonly what: string;
  /** Default GET. */
  readonly method?: 'GET' | 'POST' | 'PATCH';
  /** `/api/v1/services`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal: AbortSignal;
  /** Milliseconds until the headers must be in. */
  readonly responseMs: number;
}

export interface Transport {
  readonly server: string;
  /** Resolves, once the headers are in, for a 2xx answer whose body is still to be read. Rejects with an `ApiError`. */
  send(request: ApiRequest): Promise<IncomingMessage>;
  /** Closes the connections. */
  close(): void;
}

export interface TransportOptions {
  readonly credentials: Credentials;
  readonly userAgent: string;
  readonly hooks: ApiHooks;
  readonly log: Log;
}

export function createTransport({ credentials, userAgent, hooks, log }: TransportOptions): Transport {
  const base = new URL(credentials.server);
  const basePath = base.pathname.replace(/\/+$/, '');
  const agents = new AgentHolder(base.protocol === 'https:');

  async function answer(request: ApiRequest): Promise<IncomingMessage> {
    let access: Access;
    try {
      access = await credentials.access();
    } catch (error) {
      throw new ApiError('unreachable', `${request.what}: ${errorText(error)}`, { cause: error });
    }
    const agent = access.agent ?? agents.get(access.tls);
    try {
      return await exchange(request, access, agent);
    } catch (error) {
      // The server may close an idle connection just as we take it up again; that says nothing about the server.
      if (!(error instanceof StaleConnection)) throw error;
      return await exchange(request, access, agent);
    }
  }

  function exchange(request: ApiRequest, access: Access, agent: Agent): Promise<IncomingMessage> {
    const { what, method = 'GET', signal } = request;
    const query = new URLSearchParams(request.query).toString();
    const path = `${basePath}${request.path}${query === '' ? '' : `?${query}`}`;
    const payload = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
    const startedAt = performance.now();
    const done = (code: string) =>
      hooks.requestDone?.(code, method, base.host, (performance.now() - startedAt) / 1000);

    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(new ApiError('dropped', `${what}: cancelled`));
      const module = base.protocol === 'https:' ? https : http;
      const outgoing: ClientRequest = module.request({
        protocol: base.protocol,
        hostname: base.hostname.replace(/^\[|\]$/g, ''),
        port: base.port || (base.protocol === 'https:' ? 443 : 80),
        method,
        path,
        agent,
        // No Accept-Encoding: unpacking a large list takes longer than parsing it.
        headers: {
          accept: 'application/json',
          'user-agent': userAgent,
          ...access.headers,
          ...(payload ? { 'content-type': contentType(method), 'content-length': payload.length } : {}),
        },
      });
      const cancel = () => outgoing.destroy(new Error('cancelled'));
      signal.addEventListener('abort', cancel, { once: true });
      const timer = setTimeout(() => {
        const connected = outgoing.socket?.connecting === false;
        const error = new Error(`no ${connected ? 'answer' : 'connection'} within ${request.responseMs} ms`);
        outgoing.destroy(Object.assign(error, { code: connected ? NO_ANSWER : 'ETIMEDOUT' }));
      }, request.responseMs);

      outgoing.on('response', (response) => {
        clearTimeout(timer);
        done(String(response.statusCode));
        resolve(response);
      });
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        if (outgoing.reusedSocket && error.code === 'ECONNRESET' && !signal.aborted) {
          return reject(new StaleConnection());
        }
        done('<error>');
        const message = `${what}: ${credentials.server}: ${withHint(error)}`;
        reject(new ApiError('unreachable', message, { cause: error }));
      });
      outgoing.on('close', () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', cancel);
      });
      outgoing.end(payload);
    });
  }

  return {
    server: credentials.server,
    async send(request) {
      let response = await answer(request);
      if (response.statusCode === 401) {
        response.resume();
        log.debug({ request: request.what }, 'credentials not accepted, reading them again');
        credentials.forget();
        response = await answer(request);
      }
      const status = response.statusCode ?? 0;
      if (status >= 200 && status < 300) return response;
      const error = await errorOfResponse(response, request.what, request.responseMs);
      if (status !== 401) throw error;
      throw new ApiError(
        'unauthorized',
        `${error.message}: the server does not accept the credentials of ${credentials.origin}`,
        { status },
      );
    },
    close() {
      agents.close();
    },
  };
}

/** A kept connection turned out to be closed before anything of the answer came. */
class StaleConnection extends Error {}

function contentType(method: string): string {
  return method === 'PATCH' ? 'application/strategic-merge-patch+json' : 'application/json';
}

const UNKNOWN_AUTHORITY =
  ' (its certificate is from an authority we were not given; check certificate-authority)';

const HINTS: Readonly<Record<string, string>> = {
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  ERR_TLS_CERT_ALTNAME_INVALID: ' (set tls-server-name, or use a name that the certificate has)',
  EPROTO: ' (is it https at all?)',
};

/** OpenSSL's words; node's own advice to trust the system's authorities would help nobody here. */
function withHint(error: NodeJS.ErrnoException): string {
  const text = errorText(error).replace(/; if the root CA is installed locally.*$/, '');
  return `${text}${HINTS[error.code ?? ''] ?? ''}`;
}

/** Keeps one agent for as long as the CA and the client certificate stay the same. */
class AgentHolder {
  readonly #secure: boolean;
  #agent: Agent | undefined;
  #fingerprint = '';

  constructor(secure: boolean) {
    this.#secure = secure;
  }

  get(tls: Tls): Agent {
    const fingerprint = JSON.stringify([
      tls.ca?.toString(),
      tls.cert?.toString(),
      tls.key?.toString(),
      tls.servername,
      tls.rejectUnauthorized,
    ]);
    if (this.#agent && fingerprint === this.#fingerprint) return this.#agent;
    if (this.#agent) retire(this.#agent);
    const options = { keepAlive: true, keepAliveMsecs: TCP_KEEPALIVE_MS };
    this.#agent = this.#secure ? new https.Agent({ ...options, ...tls }) : new http.Agent(options);
    this.#fingerprint = fingerprint;
    return this.#agent;
  }

  close(): void {
    this.#agent?.destroy();
    this.#agent = undefined;
  }
}

/** Lets what is under way come to its end, and keeps none of its connections. */
function retire(agent: Agent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy();
  }
}
