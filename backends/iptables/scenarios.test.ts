/**
 * Every recorded scenario, rendered and held against what kube-proxy had in the kernel: the same rules in every
 * chain, but for the differences that docs/iptables.md has with their reasons.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Cluster } from '../../src/cluster/cluster.ts';
import type { IpFamily } from '../../src/cluster/values.ts';
import { localDetectors, nodePlan } from '../../src/config/node-plan.ts';
import { compareText } from '../../src/net/ip.ts';
import { Planner } from '../../src/plan/planner.ts';
import { MemorySource } from '../../test/support/memory-source.ts';
import { NODE1_ADDRESSES } from '../../test/support/network/topology.ts';
import { optionsOf, scenarioOptions } from '../../test/support/node-under-test.ts';
import { loadScenarios, type Scenario, scenarioObjects } from '../../test/support/scenarios.ts';
import { limitsOf } from './dispatch/layout.ts';
import type { Features } from './features.ts';
import { IptablesModel } from './model.ts';
import { isOwn } from './names.ts';
import { asSaved } from './rule.ts';
import { parseSave } from './save.ts';

/** As it was on the machine of the recording. */
const FEATURES: Features = {
  randomFully: true,
  dropInvalid: true,
  counters: true,
  localhostNodePorts: true,
};

/** The node's own packets to external addresses without endpoints are refused instead of lost. */
const ADDED = {
  'filter OUTPUT': [
    '-m conntrack --ctstate NEW -m comment --comment "kubernetes externally-visible service portals" -j KUBE-EXTERNAL-SERVICES',
  ],
} as const;

describe.each(loadScenarios())('$name', (scenario) => {
  it.each(['IPv4', 'IPv6'] as const)("has kube-proxy's rules, %s", (family) => {
    const model = new IptablesModel(family, limitsOf('auto'));
    model.change(changeOf(scenario, family), FEATURES).commit();
    const { chains, ensured } = model.contents();
    const ours = new Map<string, Set<string>>();
    for (const [chain, rules] of chains) ours.set(chain, new Set(rules.map(asSaved)));
    for (const { chain, rule } of ensured) {
      ours.set(chain, (ours.get(chain) ?? new Set()).add(rule));
    }
    expect(sorted(ours)).toEqual(sorted(expected(scenario, family)));
  });
});

function changeOf(scenario: Scenario, family: IpFamily) {
  const cluster = new Cluster();
  void new MemorySource(scenarioObjects(scenario)).run(cluster, AbortSignal.abort());
  const options = optionsOf({ ...scenarioOptions(scenario), proxyMode: 'iptables' });
  const { node } = cluster;
  const planner = new Planner(cluster, {
    family,
    nodeName: 'node1',
    zone: node?.zone ?? '',
    detector: localDetectors(options, node)[family],
    masqueradeAll: options.masqueradeAll,
    nodeAddresses: node?.addresses ?? [],
    podCIDRs: node?.podCIDRs ?? [],
  });
  return {
    full: true,
    node: nodePlan(options, node, cluster.serviceCIDRs(), NODE1_ADDRESSES, family),
    services: planner.update(cluster.serviceKeys()).plans,
  };
}

function expected(scenario: Scenario, family: IpFamily): Map<string, Set<string>> {
  const file = `../../test/fixtures/iptables/${scenario.name}.${family.toLowerCase()}.txt`;
  const text = readFileSync(new URL(file, import.meta.url), 'utf8');
  const out = new Map<string, Set<string>>();
  for (const [chain, rules] of parseSave(text)) {
    if (isOwn(chain) || rules.length > 0) out.set(chain, new Set(rules));
  }
  for (const [chain, rules] of Object.entries(ADDED)) {
    out.set(chain, new Set([...(out.get(chain) ?? []), ...rules]));
  }
  return out;
}

function sorted(chains: ReadonlyMap<string, ReadonlySet<string>>): Record<string, string[]> {
  const lists = Array.from(chains, ([chain, rules]) => [chain, [...rules].sort(compareText)] as const);
  return Object.fromEntries(lists.sort(([a], [b]) => compareText(a, b)));
}
