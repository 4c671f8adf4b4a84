/**
 * What `/readyz` checks, beyond what kube-proxy tells: whether each family's rules are what they should be, and
 * whether anything is heard of the cluster. `/healthz` and `/livez` say nothing of the latter, as kube-proxy's say
 * nothing: while the API server is away the rules in force are the best there are, and all nodes at once would be
 * taken out of load balancers, or restarted.
 */
import type { IpFamily, ValueKind } from '../cluster/values.ts';
import type { SourceStatus } from '../source/source.ts';
import type { Check } from './checks.ts';
import { type HealthState, isFamilyHealthy } from './health-tracker.ts';

export interface ReadinessOptions {
  readonly families: readonly IpFamily[];
  /** Kinds without which nothing is written. */
  readonly requiredKinds: readonly ValueKind[];
  readonly health: () => HealthState;
  readonly statuses: () => ReadonlyMap<ValueKind, SourceStatus>;
  /**
   * How long a source that is well may say nothing, milliseconds; `undefined` for one that has nothing to say while
   * nothing changes, whose own word then counts.
   */
  readonly maxSilenceMs: number | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** `rules-ipv4`, `rules-ipv6`, as far as a family is served, and `source`. */
export function readinessChecks(options: ReadinessOptions): readonly Check[] {
  const { families, health, now = Date.now } = options;
  return [
    ...families.map((family) => ({
      name: `rules-${family.toLowerCase()}`,
      run: () => staleRules(health(), family, now()),
    })),
    { name: 'source', run: () => silentSource(options, now()) },
  ];
}

function staleRules(state: HealthState, family: IpFamily, now: number): string | undefined {
  const health = state.families[family];
  if (health === undefined || health.lastUpdated === 0) return 'not written yet';
  if (isFamilyHealthy(health, state.syncPeriod, now)) return undefined;
  return `changes have waited for ${seconds(now - health.oldestPending)}, last written ${seconds(now - health.lastUpdated)} ago`;
}

function silentSource(
  { requiredKinds, statuses, maxSilenceMs }: ReadinessOptions,
  now: number,
): string | undefined {
  for (const kind of requiredKinds) {
    const status = statuses().get(kind);
    const because = status?.error === undefined ? '' : `: ${status.error}`;
    if (status === undefined || status.lastHeardAt === 0) return `${kind}: nothing heard yet${because}`;
    if (maxSilenceMs === undefined) {
      if (status.state === 'retrying') return `${kind}: out of date${because}`;
    } else if (now - status.lastHeardAt > maxSilenceMs) {
      return `${kind}: nothing heard for ${seconds(now - status.lastHeardAt)}${because}`;
    }
  }
  return undefined;
}

function seconds(milliseconds: number): string {
  return `${Math.floor(milliseconds / 1000)} s`;
}
