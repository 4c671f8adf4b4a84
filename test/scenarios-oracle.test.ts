/**
 * What the plans say of every recorded packet, without any kernel: the oracle itself is held against what
 * kube-proxy made of it.
 */
import { describe, expect, it } from 'vitest';
import { Cluster } from '../src/cluster/cluster.ts';
import type { Protocol } from '../src/cluster/values.ts';
import { nodePlan } from '../src/config/node-plan.ts';
import { familyOf } from '../src/net/ip.ts';
import { Planner } from '../src/plan/planner.ts';
import { type Packet, PlanIndex, verdict } from '../src/plan/verdict.ts';
import { MemorySource } from './support/memory-source.ts';
import { ADDRESS, NODE1_ADDRESSES } from './support/network/topology.ts';
import { optionsOf, scenarioOptions } from './support/node-under-test.ts';
import { loadScenarios, parseProbe, type Scenario, scenarioObjects } from './support/scenarios.ts';

const LOCAL = new Set([...NODE1_ADDRESSES, '127.0.0.1', '::1']);

/** The end points, whose address they see, or how it fails: as `expect` has it. */
function predict(scenario: Scenario, key: string): Record<'backends' | 'clientSeen' | 'failures', string[]> {
  const { host, target } = parseProbe(key);
  const family = familyOf(target.address);
  const options = optionsOf(scenarioOptions(scenario));
  const cluster = clusterOf(scenario);
  const node = nodePlan(options, cluster.node, cluster.serviceCIDRs(), NODE1_ADDRESSES, family);
  const planner = new Planner(cluster, {
    family,
    nodeName: 'node1',
    zone: cluster.node?.zone ?? '',
    detector: node.detector,
    masqueradeAll: options.masqueradeAll,
    nodeAddresses: cluster.node?.addresses ?? [],
    podCIDRs: cluster.node?.podCIDRs ?? [],
  });
  const plans = [...planner.update(cluster.serviceKeys()).plans.values()].flat();
  const packet: Packet = {
    source: target.source ?? ADDRESS[host][family === 'IPv4' ? 'ipv4' : 'ipv6'],
    destination: target.address,
    protocol: target.protocol.toUpperCase() as Protocol,
    port: target.port,
    inInterface: host === 'node1' ? '' : 'eth0',
  };
  const result = verdict(new PlanIndex(plans), node, { localAddresses: LOCAL }, packet);
  switch (result.action) {
    case 'reject':
      return { backends: [], clientSeen: [], failures: ['refused'] };
    case 'drop':
      return { backends: [], clientSeen: [], failures: ['timeout'] };
    case 'pass':
      // Only 127.0.0.1 comes here: nothing listens there.
      return { backends: [], clientSeen: [], failures: ['refused'] };
    case 'balance':
      return {
        backends: result.targets
          .map(({ endpoint: { address, port } }) => socketAddress(address, port))
          .sort(),
        clientSeen: [
          ...new Set(
            result.targets.map(({ masquerade }) => (masquerade || host === 'node1' ? 'node' : 'client')),
          ),
        ].sort(),
        failures: [],
      };
  }
}

function socketAddress(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

function clusterOf(scenario: Scenario): Cluster {
  const cluster = new Cluster();
  void new MemorySource(scenarioObjects(scenario)).run(cluster, AbortSignal.abort());
  return cluster;
}

describe.each(loadScenarios())('$name', (scenario) => {
  it.each(Object.entries(scenario.expect.nftables))('%s', (key, expected) => {
    const predicted = predict(scenario, key);
    if ('count' in expected.backends) {
      // Affinity: one of them, whichever it is, or none.
      expect(Math.min(predicted.backends.length, 1)).toBe(expected.backends.count);
      expect(predicted.failures).toEqual(expected.failures);
      return;
    }
    expect(predicted).toEqual({
      backends: [...expected.backends].sort(),
      clientSeen: [...expected.clientSeen].sort(),
      failures: [...expected.failures],
    });
  });
});
