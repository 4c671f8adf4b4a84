/** `kube-rulesync run` */
import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import { createBackend } from '../../../backends/registry.ts';
import type { FlagGroup } from '../../config/flags.ts';
import type { Options } from '../../config/options.ts';
import { systemSettings } from '../../config/system-settings.ts';
import { UdpFlowCleaner } from '../../conntrack/cleaner.ts';
import { createLogger, type Logger } from '../../log/logger.ts';
import { createRunner } from '../../node/runner.ts';
import { NodeProxy } from '../../proxy.ts';
import type { Backend } from '../../reconcile/backend.ts';
import { VERSION } from '../../version.ts';
import { DaemonServers } from '../daemon-servers.ts';
import { printingBackend } from '../dry-run.ts';
import { CliError } from '../exit.ts';
import { addFlags, readOptions } from '../flags.ts';
import { logObserver } from '../log-observer.ts';
import { kernelFamilies, nodeNameOf, ownAddresses } from '../node.ts';
import { stopSignal } from '../signals.ts';
import { createSource, logProblems, tapped } from '../source.ts';
import { applySettings } from '../system.ts';

const GROUPS: readonly FlagGroup[] = ['Cluster', 'Node', 'Rules', 'Syncing', 'Servers', 'System', 'Output'];

const EXAMPLES = `
Examples:
  # In a pod, with its service account
  kube-rulesync run --hostname-override "$NODE_NAME" --cluster-cidr 10.244.0.0/16

  # With a kubeconfig, node ports on one network
  kube-rulesync run --kubeconfig /etc/kube-rulesync/kubeconfig --nodeport-addresses 192.0.2.0/24

  # Without an API server, from a directory that is watched
  kube-rulesync run --manifests /etc/kube-rulesync/manifests

  # See what it would do, now and at each change
  kube-rulesync run --manifests ./manifests --dry-run
`;

export function configure(command: Command): void {
  command
    .description(
      'Programs this node for the Services of the cluster and follows every change until it is stopped. The rules stay when it ends.',
    )
    .addHelpText('after', EXAMPLES)
    .action(() => run(readOptions(command)));
  addFlags(command, GROUPS);
}

async function run(options: Options): Promise<void> {
  const log = await createLogger({ verbosity: options.verbosity, format: options.loggingFormat });
  const nodeName = nodeNameOf(options);
  const source = await createSource(options, nodeName, true, log);
  const backends = await usableBackends(options, log);
  const families = backends.map(({ family }) => family);
  log.info(
    { version: VERSION, mode: options.proxyMode, families, node: nodeName, source: source.description },
    'Starting kube-rulesync',
  );
  await applySettings(
    [
      { path: '/proc/self/oom_score_adj', value: options.oomScoreAdj, onlyRaise: false },
      ...systemSettings(options, availableParallelism()),
    ],
    { log, dryRun: options.dryRun },
  );
  const servers = new DaemonServers({ options, nodeName, families, log, nodeAddresses: ownAddresses });
  const udpFlows = new UdpFlowCleaner({
    runner: createRunner(),
    slicesOf: (service) => proxy.cluster.slicesOf(service),
    nodeAddresses: ownAddresses,
    log,
  });
  const proxy: NodeProxy = new NodeProxy({
    options,
    nodeName,
    source: tapped(tapped(source, logProblems(log)), servers.tap),
    backends,
    nodeAddresses: ownAddresses,
    log,
    observers: [logObserver(log), ...(options.dryRun ? [] : [...servers.observers, udpFlows])],
    // Without its Node a node knows neither its zone nor where node ports answer.
    requiredKinds: ['Service', 'EndpointSlice', 'Node'],
    observeFirst: !options.dryRun,
  });
  const stop = stopSignal(log);
  try {
    if (!options.dryRun) await servers.start(proxy.cluster);
    await proxy.run(stop.signal);
  } finally {
    stop.release();
    await Promise.all([servers.close(), udpFlows.close()]);
  }
  log.info('Stopped; the rules stay');
}

/** One for each family that this kernel and its tools can do. Rejects when there is none. */
async function usableBackends(options: Options, log: Logger): Promise<Backend[]> {
  const runner = createRunner();
  const usable: Backend[] = [];
  const missing = new Set<string>();
  const all = await Promise.all(
    (await kernelFamilies()).map((family) => createBackend(options.proxyMode, { family, runner })),
  );
  if (options.dryRun) {
    return all.map((backend) => printingBackend(backend, (text) => void process.stdout.write(text)));
  }
  const probed = await Promise.all(all.map(async (backend) => ({ backend, probe: await backend.probe() })));
  for (const { backend, probe } of probed) {
    const { family } = backend;
    log.debug({ family, ...probe.versions }, 'Looked at tools and kernel');
    if (probe.usable) usable.push(backend);
    else for (const one of probe.missing) missing.add(`${family}: ${one}`);
  }
  if (usable.length === 0) {
    throw new CliError(`--proxy-mode ${options.proxyMode} cannot work here\n${[...missing].join('\n')}`);
  }
  for (const one of missing) log.warn(`No rules for ${one}`);
  return usable;
}
