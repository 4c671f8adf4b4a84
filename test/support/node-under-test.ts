/** The proxy as it would run on node1 of the test network, with any back end. */
import { pino } from 'pino';
import type { IpFamily } from '../../src/cluster/values.ts';
import type { Options } from '../../src/config/options.ts';
import { parseOptions } from '../../src/config/options.ts';
import type { CommandRunner } from '../../src/node/runner.ts';
import { NodeProxy } from '../../src/proxy.ts';
import type { Backend } from '../../src/reconcile/backend.ts';
import type { ReconcileObserver } from '../../src/reconcile/observer.ts';
import { MemorySource } from './memory-source.ts';
import type { Network } from './network/network.ts';
import { NODE1_ADDRESSES } from './network/topology.ts';
import type { ApiObject, Scenario } from './scenarios.ts';

export type CreateBackend = (family: IpFamily, runner: CommandRunner) => Backend;

export interface NodeUnderTest {
  readonly proxy: NodeProxy;
  readonly source: MemorySource;
}

/** Options of a scenario, or any others by name. Throws on what the program would refuse. */
export function optionsOf(given: Parameters<typeof parseOptions>[0]): Options {
  const result = parseOptions(given);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.options;
}

export function scenarioOptions(scenario: Pick<Scenario, 'config'>): Parameters<typeof parseOptions>[0] {
  return {
    manifests: '-',
    clusterCidr: scenario.config.clusterCIDR,
    hostnameOverride: scenario.config.nodeName,
    ...(scenario.config.masqueradeAll ? { masqueradeAll: 'true' } : {}),
  };
}

export function createNodeUnderTest(
  net: Pick<Network, 'runner'>,
  createBackend: CreateBackend,
  objects: readonly ApiObject[],
  given: Parameters<typeof parseOptions>[0],
  observers: readonly ReconcileObserver[] = [],
): NodeUnderTest {
  const runner = net.runner('node1');
  const source = new MemorySource(objects);
  const proxy = new NodeProxy({
    options: optionsOf(given),
    nodeName: 'node1',
    source,
    backends: (['IPv4', 'IPv6'] as const).map((family) => createBackend(family, runner)),
    nodeAddresses: () => NODE1_ADDRESSES,
    log: pino({ level: process.env.TEST_LOG ?? 'silent' }),
    observers,
  });
  return { proxy, source };
}
