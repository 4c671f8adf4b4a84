/** How to reach the API server and who we are to it. */
import { readFile } from 'node:fs/promises';
import type { Agent } from 'node:http';
import { errorText } from './api-error.ts';
import type { Log } from './options.ts';

export interface Tls {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** What one request needs. Made anew for each, so that rotated files and tokens are used from the next on. */
export interface Access {
  readonly tls: Tls;
  /** Authorization and impersonation. */
  readonly headers: Readonly<Record<string, string>>;
  /** Only where the way leads through a proxy. */
  readonly agent?: Agent;
}

export interface Credentials {
  /** Without a slash at the end: `https://10.0.0.1:6443`, or with a path that goes before every other. */
  readonly server: string;
  /** Where they come from, for errors: `kubeconfig /etc/kube/config`. */
  readonly origin: string;
  /** Rejects when a file cannot be read or a plug-in fails; later calls try again. */
  access(): Promise<Access>;
  /** The server did not accept them: keep nothing that was remembered. */
  forget(): void;
}

/** Bearer tokens rotate on disk (bound service account tokens, hourly): each use reads the file again. */
export class TokenFile {
  readonly #path: string;
  readonly #log: Log;
  #last: string | undefined;

  /** `fallback` is used until the file has been read once. */
  constructor(path: string, log: Log, fallback?: string) {
    this.#path = path;
    this.#log = log;
    this.#last = fallback;
  }

  /** The token; the last good one while the file is missing or empty, as client-go does. */
  async read(): Promise<string> {
    try {
      const token = (await readFile(this.#path, 'utf8')).trim();
      if (token === '') throw new Error('it is empty');
      this.#last = token;
    } catch (error) {
      if (this.#last === undefined) {
        throw new Error(`cannot use token file ${this.#path}: ${errorText(error)}`, { cause: error });
      }
      this.#log.warn(
        { tokenFile: this.#path, error: errorText(error) },
        'using the last token that could be read',
      );
    }
    return this.#last;
  }
}

/** A server address as kube-proxy takes it: `host:port` alone means http, or https when there is a CA. */
export function serverUrl(text: string, secure: boolean, origin: string): string {
  const scheme = /^[^/]*:\/\//.exec(text)?.[0].toLowerCase();
  const full = scheme !== undefined ? text : `${secure ? 'https' : 'http'}://${text}`;
  const usable = scheme === undefined || scheme === 'http://' || scheme === 'https://';
  if (!usable || !URL.canParse(full) || text === '') {
    throw new Error(
      `${origin}: ${JSON.stringify(text)} is not the URL of an API server; use https://host:port`,
    );
  }
  const url = new URL(full);
  return `${url.protocol}//${url.host}${url.pathname.replace(/\/+$/, '')}`;
}
