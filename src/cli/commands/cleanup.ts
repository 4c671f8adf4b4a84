/** `kube-rulesync cleanup` */
import type { Command } from 'commander';
import { IP_FAMILIES } from '../../cluster/values.ts';
import type { FlagGroup } from '../../config/flags.ts';
import type { Logger } from '../../log/logger.ts';
import type { ProxyMode } from '../../reconcile/backend.ts';
import { backendMaker } from '../backends.ts';
import { cleanUp } from '../cleanup.ts';
import { CliError } from '../exit.ts';
import { addFlags } from '../flags.ts';
import { readSettings, type Settings } from '../settings.ts';
import { configOption, openLog } from '../start.ts';

const GROUPS: readonly FlagGroup[] = ['Rules', 'Output'];

const EXAMPLES = `
Examples:
  # After the daemon was stopped: take its rules away, and kube-proxy's, whatever the mode
  kube-rulesync cleanup

  # Leave the virtual servers of somebody else
  kube-rulesync cleanup --ipvs-exclude-cidrs 192.0.2.0/24
`;

export function configure(command: Command): void {
  command
    .description(
      'Removes the rules of every mode and both IP families, those of kube-proxy too. What others own stays. Connections to Services end to be translated. It may be run again at any time.',
    )
    .addHelpText('after', EXAMPLES)
    .action(async () => {
      // IPVS mode looks at all that says what of its own is to stay.
      const settings = await readSettings(command, { proxyMode: 'ipvs' });
      await cleanup(settings, await openLog(settings));
    });
  command.addOption(configOption());
  addFlags(command, GROUPS);
}

/** iptables mode first: chains that it shares with IPVS mode are known as the latter's once it is gone. */
const ORDER: readonly ProxyMode[] = ['iptables', 'ipvs', 'nftables'];

/** Rejects with a `CliError` that names everything that is left. */
export async function cleanup({ options }: Settings, log: Logger): Promise<void> {
  const make = backendMaker(options, log);
  // Excluded addresses count whatever the mode: what is theirs is to stay.
  const backends = await Promise.all(
    ORDER.flatMap((mode) => IP_FAMILIES.map((family) => make(mode, family))),
  );
  const { leftovers, skipped } = await cleanUp(backends);
  for (const what of skipped) log.info(`Nothing to remove, ${what}`);
  if (leftovers.length > 0) {
    throw new CliError(
      leftovers.map(({ object, reason }) => `${object} is still there: ${reason}`).join('\n'),
    );
  }
  log.info('Removed all rules');
}
