/** Reads why a request was refused. */
import type { IncomingMessage } from 'node:http';
import { type ApiError, errorOfStatus, parseRetryAfter } from './api-error.ts';
import { readBody } from './body.ts';

/** A refusal explains itself in a few hundred bytes; more is not kept. */
const MAX_BYTES = 64 * 1024;

/**
 * The error that an answer other than 2xx means. `what` is the request in words: `list services`; `limitMs` how long
 * the whole explanation may take.
 */
export async function errorOfResponse(
  response: IncomingMessage,
  what: string,
  limitMs: number,
): Promise<ApiError> {
  const chunks: Buffer[] = [];
  let kept = 0;
  const keep = (chunk: Buffer) => {
    if (kept < MAX_BYTES) chunks.push(chunk);
    kept += chunk.length;
  };
  let body: unknown;
  try {
    await readBody(response, what, keep, { idleMs: () => limitMs, totalMs: limitMs });
    body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    // Load balancers answer in HTML, or break off: the HTTP status says enough.
  }
  const retryAfterMs = parseRetryAfter(response.headers['retry-after'], Date.now());
  return errorOfStatus(body, what, {
    status: response.statusCode ?? 0,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
