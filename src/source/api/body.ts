/** Reads the body of an answer as it comes, and notices when it no longer does. */
import type { IncomingMessage } from 'node:http';
import { ApiError, errorText } from './api-error.ts';

export interface BodyLimits {
  /** Milliseconds without a byte; asked each time, because it can change while the body comes in. */
  idleMs(): number;
  /** Milliseconds for the whole body. */
  readonly totalMs?: number;
}

/**
 * Calls `onChunk`, synchronously and in order, with every piece of the body, until its end. Rejects with what
 * `onChunk` throws, or with an `ApiError` when the body breaks off, falls silent or goes on for too long; the
 * connection is then closed. `what` is the request in words, for errors.
 */
export function readBody(
  body: IncomingMessage,
  what: string,
  onChunk: (chunk: Buffer) => void,
  limits: BodyLimits,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    let heardAt = startedAt;
    let bytes = false;
    let settled = false;
    let timer: NodeJS.Timeout | undefined;
    let idleMs = limits.idleMs();

    const settle = (error?: unknown) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      if (error === undefined) return resolve();
      body.destroy();
      reject(error);
    };

    // One timer that looks at the clock, instead of one that every chunk puts off.
    const watchClock = () => {
      clearTimeout(timer);
      const now = performance.now();
      idleMs = limits.idleMs();
      const idleLeft = heardAt + idleMs - now;
      const totalLeft = startedAt + (limits.totalMs ?? Number.POSITIVE_INFINITY) - now;
      if (totalLeft <= 0) {
        settle(new ApiError('overrun', `${what}: not ended after ${limits.totalMs} ms; closed`));
      } else if (idleLeft <= 0) {
        const missed = bytes ? 'nothing more' : 'nothing at all';
        settle(new ApiError('idle', `${what}: ${missed} came for ${idleMs} ms; connection closed`));
      } else {
        timer = setTimeout(watchClock, Math.min(idleLeft, totalLeft));
      }
    };
    watchClock();

    if (body.destroyed) {
      settle(new ApiError('dropped', `${what}: the connection closed`));
      return;
    }
    body.on('data', (chunk: Buffer) => {
      if (settled) return;
      heardAt = performance.now();
      bytes = true;
      try {
        onChunk(chunk);
      } catch (error) {
        settle(error);
        return;
      }
      // What came may have made the limit shorter than what the timer is set to.
      if (limits.idleMs() < idleMs) watchClock();
    });
    body.on('end', () => settle());
    body.on('error', (error) =>
      settle(new ApiError('dropped', `${what}: ${errorText(error)}`, { cause: error })),
    );
    body.on('close', () => settle(new ApiError('dropped', `${what}: the connection closed`)));
  });
}
