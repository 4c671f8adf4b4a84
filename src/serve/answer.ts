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

/** As Go's server answers what it cannot read, whatever the path. */
export const BAD_REQUEST: Answer = {
  status: 400,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' },
  body: '400 Bad Request',
};

export const FAILED: Answer = {
  status: 500,
  headers: TEXT_HEADERS,
  body: 'internal server error\n',
};

const IN_HTML: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};

/** Tells where to ask instead, as Go's server does (1.26, which Kubernetes 1.36 is built with; 301 before). */
export function redirectTo(location: string): Answer {
  const link = location.replaceAll(/[&<>"']/g, (character) => IN_HTML[character] ?? '');
  return {
    status: 307,
    headers: { 'Content-Type': 'text/html; charset=utf-8', Location: location },
    body: `<a href="${link}">Temporary Redirect</a>.\n\n`,
  };
}
