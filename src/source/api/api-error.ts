/** What the API server, or the way to it, refused; the reason is a field, so that nobody parses the text. */
export type ApiErrorReason =
  /** No answer: name not found, connection refused, TLS not accepted, no headers in time. */
  | 'unreachable'
  /** The answer broke off. */
  | 'dropped'
  /** Nothing came for too long. */
  | 'idle'
  /** A watch outlived its `timeoutSeconds`. */
  | 'overrun'
  /** A watch ended at once with nothing in it. */
  | 'short'
  /** The initial events of a watch-list did not come to their end. */
  | 'incomplete'
  /** An answer that is not what the API promises. */
  | 'malformed'
  | 'unauthorized'
  | 'forbidden'
  | 'not-found'
  | 'expired'
  | 'too-large'
  | 'throttled'
  | 'server'
  /** Any other 4xx: the server does not take the request as it is. */
  | 'rejected';

export interface ApiErrorDetails {
  readonly status?: number;
  /** How long the server asks to stay away, milliseconds. */
  readonly retryAfterMs?: number;
  /** It came as an ERROR event inside a watch. */
  readonly inStream?: boolean;
  readonly cause?: unknown;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly reason: ApiErrorReason;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly inStream: boolean;

  constructor(reason: ApiErrorReason, message: string, details: ApiErrorDetails = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.reason = reason;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.inStream = details.inStream ?? false;
  }
}

/** `code` of the cause when a server takes the connection and then does not answer in time. */
export const NO_ANSWER = 'ENOANSWER';

/** The message of anything thrown, in one line. */
export function errorText(error: unknown): string {
  // Each of a host's addresses was tried, and the whole has no words of its own.
  if (error instanceof AggregateError && error.message === '') {
    return [...new Set(error.errors.map(errorText))].join('; ');
  }
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s*\n\s*/g, ' ').trim();
}

/** The error that a `Status` object means; `details.status` stands in for a missing `code`. */
export function errorOfStatus(status: unknown, what: string, details: ApiErrorDetails): ApiError {
  const fields = isFields(status) ? status : {};
  const code = typeof fields.code === 'number' ? fields.code : (details.status ?? 0);
  const said = typeof fields.message === 'string' && fields.message !== '' ? `: ${fields.message}` : '';
  const where = details.inStream ? `error ${code} inside the stream` : `HTTP ${code}`;
  return new ApiError(reasonOf(code, fields), `${what}: ${where}${said}`, { ...details, status: code });
}

function reasonOf(code: number, status: Fields): ApiErrorReason {
  if (isTooLarge(status)) return 'too-large';
  if (code === 410 || status.reason === 'Expired' || status.reason === 'Gone') return 'expired';
  if (code === 401) return 'unauthorized';
  if (code === 403) return 'forbidden';
  if (code === 404) return 'not-found';
  if (code === 429 || code === 503) return 'throttled';
  if (code >= 400 && code < 500 && code !== 408) return 'rejected';
  return 'server';
}

/** Answered with 504 when the server's cache has not got as far as the resourceVersion asked for. */
function isTooLarge(status: Fields): boolean {
  const causes = isFields(status.details) ? status.details.causes : undefined;
  return (
    Array.isArray(causes) &&
    causes.some((cause) => isFields(cause) && cause.reason === 'ResourceVersionTooLarge')
  );
}

/** `Retry-After` (RFC 9110, 10.2.3), seconds or a date, as milliseconds from `now`. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
