/** kube-rulesync as it would run on node1, fed from manifests. */
import { createBackend, type Mode } from '../backends/registry.ts';
import { logProblems, tapped } from '../src/cli/source.ts';
import { IP_FAMILIES } from '../src/cluster/values.ts';
import { createLogger } from '../src/log/logger.ts';
import type { CommandRunner } from '../src/node/runner.ts';
import { NodeProxy } from '../src/proxy.ts';
import type { Backend } from '../src/reconcile/backend.ts';
import type { ReconcileObserver } from '../src/reconcile/observer.ts';
import { createManifestsSource } from '../src/source/manifests/manifests-source.ts';
import { NODE1_ADDRESSES } from '../test/support/network/topology.ts';
import { optionsOf } from '../test/support/node-under-test.ts';

export const NODE_NAME = 'node1';
export const CLUSTER_CIDR = '10.244.0.0/16,fd00:244::/32';

export interface DemoNode {
  /** Directory of manifests. */
  readonly manifests: string;
  /** Go on following the directory, or read it once. */
  readonly watch: boolean;
  readonly mode: Mode;
  readonly backends: readonly Backend[];
  readonly observers?: readonly ReconcileObserver[];
  /** Start from what the kernel holds (default), or from nothing. */
  readonly observeFirst?: boolean;
}

/** One back end for each IP family, whose tools `runner` starts. */
export function createBackends(mode: Mode, runner: CommandRunner): Promise<Backend[]> {
  return Promise.all(IP_FAMILIES.map((family) => createBackend(mode, { family, runner })));
}

/** What the program would log as a warning or an error goes to stderr. */
export async function createNode(given: DemoNode): Promise<NodeProxy> {
  const log = await createLogger({ verbosity: 0, format: 'text' });
  log.level = 'warn';
  const { manifests: path, watch } = given;
  const source = createManifestsSource({ path, watch, nodeName: NODE_NAME, log });
  return new NodeProxy({
    options: optionsOf({
      manifests: path,
      clusterCidr: CLUSTER_CIDR,
      hostnameOverride: NODE_NAME,
      proxyMode: given.mode,
    }),
    nodeName: NODE_NAME,
    source: tapped(source, logProblems(log)),
    backends: given.backends,
    nodeAddresses: () => NODE1_ADDRESSES,
    log,
    requiredKinds: ['Service', 'EndpointSlice', 'Node', 'ServiceCIDR'],
    observers: given.observers ?? [],
    observeFirst: given.observeFirst ?? true,
  });
}
