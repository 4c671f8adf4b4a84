/**
 * How often Events are sent: the same one again within some minutes only counts up the first (KEP-383), and there is
 * a limit for all together.
 */
import type { EventSpec } from './event.ts';

export interface EventName {
  readonly namespace: string;
  readonly name: string;
}

export type Next =
  | { readonly action: 'create' }
  | { readonly action: 'count'; readonly event: EventName; readonly count: number }
  | { readonly action: 'skip' };

interface Known {
  readonly event: EventName;
  count: number;
  lastSeenAt: number;
  lastSentAt: number;
}

/** So long after the last time it is a new Event (client-go's `finishTime`). */
const SERIES_MS = 360_000;
/** A series is counted up on the server no more often than this. */
const COUNT_EVERY_MS = 60_000;
/** Sent at once, after which one every ten seconds may follow. */
const BURST = 25;
const REFILL_MS = 10_000;
const MAX_KNOWN = 1000;

export class Series {
  readonly #known = new Map<string, Known>();
  #tokens = BURST;
  #refilledAt = 0;

  /** What to do about an Event that happens at `now`, milliseconds. */
  next(spec: EventSpec, now: number): Next {
    const known = this.#known.get(keyOf(spec));
    if (known && now - known.lastSeenAt < SERIES_MS) {
      known.count += 1;
      known.lastSeenAt = now;
      if (now - known.lastSentAt < COUNT_EVERY_MS || !this.#take(now)) return { action: 'skip' };
      known.lastSentAt = now;
      return { action: 'count', event: known.event, count: known.count };
    }
    return this.#take(now) ? { action: 'create' } : { action: 'skip' };
  }

  created(spec: EventSpec, event: EventName, now: number): void {
    for (const [key, { lastSeenAt }] of this.#known) {
      if (now - lastSeenAt >= SERIES_MS) this.#known.delete(key);
    }
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(keyOf(spec), { event, count: 1, lastSeenAt: now, lastSentAt: now });
  }

  /** It is not on the server any more. */
  forget(spec: EventSpec): void {
    this.#known.delete(keyOf(spec));
  }

  #take(now: number): boolean {
    const refills = Math.floor((now - this.#refilledAt) / REFILL_MS);
    if (refills > 0) {
      this.#tokens = Math.min(this.#tokens + refills, BURST);
      this.#refilledAt = now;
    }
    if (this.#tokens === 0) return false;
    this.#tokens -= 1;
    return true;
  }
}

/** The note may differ: it tells of one occurrence. */
function keyOf({ regarding, type, reason, action }: EventSpec): string {
  return JSON.stringify([regarding.kind, regarding.namespace, regarding.name, type, reason, action]);
}
