/**
 * The health checks of the proxy itself, byte for byte kube-proxy 1.36's: cloud load balancers and probes ask them.
 * `/healthz` also says whether new connections should come to this Node (KEP-3836); `/livez` does not.
 */
import { IP_FAMILIES } from '../cluster/values.ts';
import { type Answer, NOT_FOUND } from './answer.ts';
import { type HealthState, isFamilyHealthy, isHealthy } from './health-tracker.ts';
import { Listener, type ListenerOptions } from './http.ts';

const HEADERS = { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff' };

/** Every path that is there, and whether the Node counts. */
export const HEALTH_PATHS: ReadonlyMap<string, { readonly withNode: boolean }> = new Map([
  ['/healthz', { withNode: true }],
  ['/livez', { withNode: false }],
]);

/** What a path is answered. `now` is milliseconds since the epoch. */
export function healthAnswer(path: string, state: HealthState, now: number): Answer {
  const check = HEALTH_PATHS.get(path);
  if (!check) return NOT_FOUND;
  const ok = isHealthy(state, now) && (state.nodeEligible || !check.withNode);
  return answer(ok, healthBody(state, now, ok, check.withNode));
}

function answer(ok: boolean, body: string): Answer {
  return { status: ok ? 200 : 503, headers: HEADERS, body };
}

function healthBody(state: HealthState, now: number, ok: boolean, withNode: boolean): string {
  const families = IP_FAMILIES.flatMap((name) => {
    const health = state.families[name];
    return health ? [{ name, ...health, healthy: isFamilyHealthy(health, state.syncPeriod, now) }] : [];
  });
  const newest = Math.max(0, ...families.map(({ lastUpdated }) => lastUpdated));
  const status = families.map(({ name, lastUpdated, healthy }) => [
    name,
    { lastUpdated: rfc3339Nano(lastUpdated), healthy },
  ]);
  return JSON.stringify({
    // Old releases gave the time of the last loop here, so a healthy proxy answers with the present one.
    lastUpdated: rfc3339Nano(ok ? now : newest),
    currentTime: rfc3339Nano(now),
    ...(withNode ? { nodeEligible: state.nodeEligible } : {}),
    healthy: isHealthy(state, now),
    ...(status.length > 0 ? { status: Object.fromEntries(status) } : {}),
  });
}

/** A time as Go's `RFC3339Nano` writes it, without trailing zeros; 0 is Go's zero time. */
export function rfc3339Nano(milliseconds: number): string {
  if (milliseconds === 0) return '0001-01-01T00:00:00Z';
  return new Date(milliseconds).toISOString().replace(/\.?0+Z$/, 'Z');
}

export interface HealthzOptions
  extends Pick<ListenerOptions, 'host' | 'port' | 'log' | 'retryMs' | 'failed'> {
  readonly state: () => HealthState;
  /** Told of each answer but 404, for metrics. */
  readonly answered?: (path: string, status: number) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** The server of both paths; call `start` to listen. */
export function createHealthzServer({
  state,
  answered,
  now = Date.now,
  ...listen
}: HealthzOptions): Listener {
  return new Listener({
    ...listen,
    name: 'healthz',
    redirects: true,
    answer(path) {
      const answer = healthAnswer(path, state(), now());
      if (answer !== NOT_FOUND) answered?.(path, answer.status);
      return answer;
    },
  });
}
