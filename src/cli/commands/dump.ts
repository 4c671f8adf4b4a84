/** `kube-rulesync dump` */
import { hostname } from 'node:os';
import type { Command } from 'commander';
import { IP_FAMILIES, type ValueKind } from '../../cluster/values.ts';
import type { FlagGroup } from '../../config/flags.ts';
import { createLogger } from '../../log/logger.ts';
import { NodeProxy } from '../../proxy.ts';
import type { ApiHooks } from '../../source/api/options.ts';
import type { Source } from '../../source/source.ts';
import { backendMaker } from '../backends.ts';
import { printingBackend } from '../dry-run.ts';
import { CliError } from '../exit.ts';
import { gatedExternalIPs } from '../external-ips.ts';
import { addFlags } from '../flags.ts';
import { logObserver } from '../log-observer.ts';
import { missingNodeObserver } from '../missing-node.ts';
import { nodeNameOf, ownAddresses } from '../node.ts';
import { readSettings, type Settings } from '../settings.ts';
import { createSource, logProblems, tapped } from '../source.ts';
import { configOption } from '../start.ts';

const GROUPS: readonly FlagGroup[] = ['Cluster', 'Node', 'Rules', 'Output'];

const EXAMPLES = `
Examples:
  # The rules that Services and EndpointSlices in a directory give on a node
  kube-rulesync dump --manifests ./manifests --node-name worker-1 --cluster-cidr 10.244.0.0/16

  # Look at another node's rules from anywhere, without being root
  kube-rulesync dump --kubeconfig ~/.kube/config --node-name worker-2

  # Would this kernel take them?
  kube-rulesync dump --manifests ./manifests | nft --check -f -
`;

export function configure(command: Command): void {
  command
    .description(
      'Prints what would be given to the tools to program a node that has no rules yet, for both IP families.',
    )
    .addHelpText('after', EXAMPLES)
    .action(async () => {
      for (const text of await dump(await readSettings(command))) process.stdout.write(text);
    });
  command.addOption(configOption());
  addFlags(command, GROUPS);
}

/** The native text, in pieces; nothing is printed before all of it is there. */
async function dump({ options, notices }: Settings): Promise<readonly string[]> {
  const log = await createLogger({ verbosity: options.verbosity, format: options.loggingFormat || 'text' });
  // Here people want results, and to know what was left out: that a list was fetched is no news.
  if (log.level === 'info') log.level = 'warn';
  for (const notice of notices) log.warn(notice);
  const nodeName = nodeNameOf(options);
  const patience = new Patience();
  const chosen = await createSource(options, nodeName, false, log, patience.hooks);
  const source = tapped(gatedExternalIPs(patience.limited(chosen), options.featureGates), logProblems(log));
  const pieces: string[] = [];
  const make = backendMaker(options, log);
  const backends = IP_FAMILIES.map(async (family) =>
    printingBackend(await make(options.proxyMode, family), (text) => {
      pieces.push(text);
    }),
  );
  const here = nodeName === hostname().trim().toLowerCase();
  const proxy: NodeProxy = new NodeProxy({
    options,
    nodeName,
    source,
    backends: await Promise.all(backends),
    nodeAddresses: () => (here ? ownAddresses() : (proxy.cluster.node?.addresses ?? [])),
    log,
    observers: [logObserver(log), missingNodeObserver(log, nodeName, () => proxy.cluster.node)],
    requiredKinds: ['Service', 'EndpointSlice', 'Node', 'ServiceCIDR'],
    observeFirst: false,
  });
  await proxy.syncOnce(new AbortController().signal);
  return pieces;
}

/** A server that is busy, or fails now and then, is asked so often for each kind ... */
const ATTEMPTS = 3;
/** ... and for so long, in milliseconds, before a command that answers once gives up. */
const PATIENCE_MS = 5000;

/** A daemon waits for its API server for as long as it takes; a command that answers once does not. */
class Patience {
  readonly #over = new AbortController();
  readonly #failures = new Map<ValueKind, { count: number; readonly since: number }>();
  #failure: string | undefined;

  readonly hooks: ApiHooks = {
    failed: (kind, message, lasting) => {
      const now = performance.now();
      const failures = this.#failures.get(kind) ?? { count: 0, since: now };
      failures.count += 1;
      this.#failures.set(kind, failures);
      if (!lasting && (failures.count < ATTEMPTS || now - failures.since < PATIENCE_MS)) return;
      this.#failure ??= message;
      this.#over.abort();
    },
  };

  /** A source made with `hooks`, which rejects with a `CliError` when there is no more to be hoped for. */
  limited(source: Source): Source {
    const { description } = source;
    return {
      description,
      run: async (sink, signal) => {
        await source.run(sink, AbortSignal.any([signal, this.#over.signal]));
        if (this.#failure === undefined) return;
        const named = this.#failure.includes(description);
        throw new CliError(named ? this.#failure : `${description}: ${this.#failure}`);
      },
    };
  }
}
