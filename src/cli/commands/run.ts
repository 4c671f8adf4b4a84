/** `kube-rulesync run` */
import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import { MODES } from '../../../backends/registry.ts';
import type { ValueKind } from '../../cluster/values.ts';
import { adviceOn } from '../../config/advice.ts';
import { toldGates } from '../../config/feature-gates.ts';
import type { FlagGroup } from '../../config/flags.ts';
import { oomScore, systemSettings } from '../../config/system-settings.ts';
import { UdpFlowCleaner } from '../../conntrack/cleaner.ts';
import type { Logger } from '../../log/logger.ts';
import { ProxyMetrics } from '../../metrics/proxy-metrics.ts';
import { createRunner } from '../../node/runner.ts';
import { NodeProxy } from '../../proxy.ts';
import { VERSION } from '../../version.ts';
import { backendMaker, usableBackends } from '../backends.ts';
import { type ConfigFile, configFileChanged } from '../config-file.ts';
import { DaemonServers } from '../daemon-servers.ts';
import { CliError, FAILED } from '../exit.ts';
import { gatedExternalIPs } from '../external-ips.ts';
import { addFlags } from '../flags.ts';
import { logObserver } from '../log-observer.ts';
import { missingNodeObserver } from '../missing-node.ts';
import { ModeChange } from '../mode-change.ts';
import { nodeNameOf, ownAddresses } from '../node.ts';
import { readSettings, type Settings } from '../settings.ts';
import { stopSignal } from '../signals.ts';
import { createSource, logProblems, tapped } from '../source.ts';
import { addStartFlags, checkFamilies, openLog, start } from '../start.ts';
import { applySettings } from '../system.ts';

const GROUPS: readonly FlagGroup[] = [
  'Cluster',
  'Node',
  'Rules',
  'Syncing',
  'Servers',
  'System',
  'Output',
  'Without effect',
];

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
    .action(async () => start(command, await readSettings(command, { proxyMode: MODES[0] }), run));
  addStartFlags(command);
  addFlags(command, GROUPS);
}

/** Without its Node a node knows neither its zone nor where node ports answer. */
const REQUIRED_KINDS: readonly ValueKind[] = ['Service', 'EndpointSlice', 'Node'];

/** Runs until a signal ends it. Rejects when it cannot start, and when the configuration file changes. */
export async function run(settings: Settings): Promise<void> {
  const { options, flags, file } = settings;
  const log = await openLog(settings);
  const nodeName = nodeNameOf(options);
  const metrics = new ProxyMetrics({
    mode: options.proxyMode,
    version: VERSION,
    featureGates: toldGates(options.featureGates),
    runner: createRunner(),
  });
  const chosen = await createSource(options, nodeName, true, log, metrics.hooks);
  const source = gatedExternalIPs(chosen, options.featureGates);
  const make = backendMaker(options, log);
  const backends = (await usableBackends(make, options, log)).map((backend) => metrics.counted(backend));
  const families = backends.map(({ family }) => family);
  checkFamilies(settings, families);
  log.info(
    { version: VERSION, mode: options.proxyMode, families, node: nodeName, source: source.description },
    'Starting kube-rulesync',
  );
  for (const advice of adviceOn(options, families, settings.nameOf)) log.warn(advice);
  await applySettings([oomScore(options), ...systemSettings(options, availableParallelism())], {
    log,
    dryRun: options.dryRun,
  });
  const servers = new DaemonServers({
    options,
    flags,
    nodeName,
    families,
    requiredKinds: REQUIRED_KINDS,
    nodeAddresses: ownAddresses,
    metrics,
    transport: chosen.transport,
    log,
  });
  const udpFlows = new UdpFlowCleaner({
    runner: createRunner(),
    slicesOf: (service) => proxy.cluster.slicesOf(service),
    nodeAddresses: ownAddresses,
    cleaned: (cleanup) => metrics.flowsCleaned(cleanup),
    log,
  });
  const modeChange = new ModeChange({
    mode: options.proxyMode,
    families,
    createBackend: make,
    periodMs: options.syncPeriod,
    log,
  });
  const proxy: NodeProxy = new NodeProxy({
    options,
    nodeName,
    source: tapped(tapped(source, logProblems(log)), servers.tap),
    backends,
    nodeAddresses: ownAddresses,
    log,
    observers: [
      logObserver(log),
      missingNodeObserver(log, nodeName, () => proxy.cluster.node),
      ...(options.dryRun ? [] : [...servers.observers, udpFlows, modeChange]),
    ],
    requiredKinds: REQUIRED_KINDS,
    observeFirst: !options.dryRun,
  });
  const stop = stopSignal(log);
  const over = new AbortController();
  const ended = AbortSignal.any([stop.signal, over.signal]);
  const changed = file ? endOnChange(file, over, ended, log) : Promise.resolve(false);
  try {
    if (!options.dryRun) await servers.start(proxy);
    await proxy.run(ended);
  } finally {
    over.abort();
    stop.release();
    metrics.close();
    await Promise.all([servers.close(), udpFlows.close(), modeChange.stop()]);
  }
  if (await changed) {
    throw new CliError(`${file?.path}: the configuration has changed; start again to take it`);
  }
  log.info('Stopped; the rules stay');
}

/** How long work may go on once the configuration has changed, in milliseconds. */
const GRACE_MS = 5000;

/** Aborts `over` when the file changes. Resolves with whether it did, once `ended` is aborted. */
async function endOnChange(
  file: ConfigFile,
  over: AbortController,
  ended: AbortSignal,
  log: Logger,
): Promise<boolean> {
  const changed = await configFileChanged(file, ended, { log });
  if (changed) {
    log.info({ file: file.path }, 'The configuration file has changed; ending');
    setTimeout(() => process.exit(FAILED), GRACE_MS).unref();
    over.abort();
  }
  return changed;
}
