/** `kube-proxy`: kube-proxy's own command line, by that name or as `kube-rulesync kube-proxy`. */
import { type Command, Option } from 'commander';
import type { FlagGroup } from '../../config/flags.ts';
import { VERSION } from '../../version.ts';
import { CliError } from '../exit.ts';
import { addFlags, flagValue, switchOption } from '../flags.ts';
import { readSettings } from '../settings.ts';
import { addStartFlags, checkStartFlags, isOn, openLog, start, writesConfiguration } from '../start.ts';
import { cleanup } from './cleanup.ts';
import { run } from './run.ts';

/** The release whose flags and files these are. */
export const KUBE_PROXY_RELEASE = '1.36';

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
  # As kubeadm starts kube-proxy
  kube-proxy --config=/var/lib/kube-proxy/config.conf --hostname-override="$NODE_NAME"
`;

export function configure(command: Command): void {
  command
    .description(
      `Does kube-proxy's job with kube-proxy's flags and files, those of Kubernetes ${KUBE_PROXY_RELEASE}. docs/flags.md says what of them differs.`,
    )
    .addHelpText('after', EXAMPLES)
    .action(() => kubeProxy(command));
  addStartFlags(command);
  command
    .addOption(switchOption('cleanup', 'remove the rules of all modes, and end', 'Starting'))
    .addOption(
      new Option('--version [true|false|raw|vX.Y.Z]', 'print the version, and end')
        .preset('true')
        .helpGroup('Starting:'),
    );
  addFlags(command, GROUPS, { kubeProxyOnly: true });
}

async function kubeProxy(command: Command): Promise<void> {
  const version = versionText(flagValue(command, 'version'));
  const cleansUp = isOn(command, 'cleanup');
  checkStartFlags(command);
  if (version !== undefined) {
    process.stdout.write(`${version}\n`);
    return;
  }
  const settings = await readSettings(command, { proxyMode: 'iptables' });
  if (cleansUp && !writesConfiguration(command)) return cleanup(settings, await openLog(settings));
  return start(command, settings, run);
}

/** What `--version` prints; `undefined` when the program is to go on. */
export function versionText(given: unknown): string | undefined {
  const text = typeof given === 'string' ? given : 'false';
  switch (text.toLowerCase()) {
    case 'false':
      return undefined;
    case 'true':
      return `kube-rulesync ${VERSION} (kube-proxy ${KUBE_PROXY_RELEASE} compatible)`;
    case 'raw':
      return JSON.stringify({
        program: 'kube-rulesync',
        version: VERSION,
        compatibleWith: `kube-proxy ${KUBE_PROXY_RELEASE}`,
        node: process.version,
        platform: `${process.platform}/${process.arch}`,
      });
    default:
      // kube-proxy reports the given version from then on. This program says its own.
      if (/^v\d+\.\d+\.\d+/.test(text)) return undefined;
      throw new CliError(
        `--version ${JSON.stringify(text)}: must be true, false, raw or a version such as v1.36.1`,
      );
  }
}
