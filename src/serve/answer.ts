/** What servers here answer, and what they are asked. */

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a request says beside its path. */
export interface Asked {
  readonly query: URLSearchParams;
  /** Headers, empty where there is none. */
  readonly accept: string;
  readonly userAgent: string;
}

/** Plain text, which no browser is to take for anything else. */
export const TEXT_HEADERS = {
  'Content-Type': 'text/plain; charset=utf-8',
  'X-Content-Type-Options': 'nosniff',
};

export const NOT_FOUND: Answer = { status: 404, headers: TEXT_HEADERS, body: '404 page not found\n' };

export const NOT_ALLOWED: Answer = {
  status: 405,
  headers: { ...TEXT_HEADERS, Allow: 'GET, HEAD' },
  body: 'method not allowed\n',
};

export const FAILED: Answer = {
  status: 500,
  headers: TEXT_HEADERS,
  body: 'internal server error\n',
};
