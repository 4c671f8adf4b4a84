/** What has to be set beside the rules: a kernel setting for localhost node ports, and the counters rules refer to. */
import type { NodePlan } from '../../src/plan/plan.ts';
import type { Step } from '../../src/reconcile/backend.ts';
import { countersOf, type Features, localhostNodePorts } from './features.ts';
import { listCounters, sysctl } from './probe.ts';
import { SettingStep } from './step.ts';
import type { Tools } from './tools.ts';

const ROUTE_LOCALNET = 'net.ipv4.conf.all.route_localnet';

/** All rules but those for 127.0.0.1 work without it: where /proc/sys is read-only it is left out. */
export function isRouteLocalnet(step: Step): boolean {
  return step.argv.at(-1) === `${ROUTE_LOCALNET}=1`;
}

export interface Settings {
  readonly routeLocalnet: boolean;
  readonly counters: ReadonlySet<string>;
}

export const NOTHING_SET: Settings = { routeLocalnet: false, counters: new Set() };

export async function readSettings({ runner }: Tools): Promise<Settings> {
  const [routeLocalnet, counters] = await Promise.all([sysctl(runner, ROUTE_LOCALNET), listCounters(runner)]);
  return { routeLocalnet: routeLocalnet === '1', counters: counters ?? new Set() };
}

export interface SettingSteps {
  /** Rules are refused without them. */
  readonly before: readonly SettingStep[];
  /** Unsafe without the rules. */
  readonly after: readonly SettingStep[];
  readonly reached: Settings;
}

/**
 * Packets from 127.0.0.1 leave the host only with route_localnet, and with it neighbours' packets to 127.0.0.1
 * come in: it is set only where localhost node ports are wanted, and after the rule that keeps those out.
 */
export function settingSteps(node: NodePlan, features: Features, there: Settings): SettingSteps {
  const counters = countersOf(node, features);
  const routeLocalnet = localhostNodePorts(node, features);
  return {
    before: counters
      .filter((name) => !there.counters.has(name))
      .map((name) => new SettingStep(['nfacct', 'add', name])),
    after:
      routeLocalnet && !there.routeLocalnet ? [new SettingStep(['sysctl', '-w', `${ROUTE_LOCALNET}=1`])] : [],
    reached: {
      routeLocalnet: routeLocalnet || there.routeLocalnet,
      counters: new Set([...there.counters, ...counters]),
    },
  };
}
