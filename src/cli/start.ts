/** What the commands that become the daemon have in common: a configuration file, and two ways to end early. */
import { writeFile } from 'node:fs/promises';
import { availableParallelism, release } from 'node:os';
import { type Command, Option } from 'commander';
import type { IpFamily } from '../cluster/values.ts';
import { familyProblems } from '../config/advice.ts';
import { configurationYaml } from '../config/configuration/write.ts';
import { parseBool } from '../config/fields.ts';
import type { Options } from '../config/options.ts';
import { modeSettings, systemSettings } from '../config/system-settings.ts';
import { createLogger, type Logger } from '../log/logger.ts';
import { backendMaker, usableBackends } from './backends.ts';
import { CliError } from './exit.ts';
import { flagValue, switchOption } from './flags.ts';
import { ownAddresses } from './node.ts';
import { checkFlagTypes, type Settings } from './settings.ts';
import { applySettings } from './system.ts';

const GROUP = 'Starting';

const INIT_ONLY = 'init-only';

export function configOption(): Option {
  return new Option(
    '--config <path>',
    'take the configuration from this file, a KubeProxyConfiguration; most other flags do not count then',
  ).helpGroup(`${GROUP}:`);
}

export function addStartFlags(command: Command): void {
  command
    .addOption(configOption())
    .addOption(
      new Option(
        '--write-config-to <path>',
        'write the configuration with its defaults to this file, and end',
      ).helpGroup(`${GROUP}:`),
    )
    .addOption(
      switchOption(
        INIT_ONLY,
        'do what needs more rights than CAP_NET_ADMIN (settings of the kernel), and end',
        GROUP,
      ),
    );
}

/** Whether a switch of a command is on. Throws a `CliError` for what is neither true nor false. */
export function isOn(command: Command, flag: string): boolean {
  const given = flagValue(command, flag);
  const value = given === undefined ? false : parseBool(given);
  if (value === undefined) throw new CliError(`--${flag} ${JSON.stringify(given)}: must be true or false`);
  return value;
}

/** Throws a `CliError` when a flag is not of its type, whatever else is asked for and goes before it. */
export function checkStartFlags(command: Command): void {
  checkFlagTypes(command);
  isOn(command, INIT_ONLY);
}

/** The log that the options ask for, with what is to be said first. */
export async function openLog({ options, notices }: Settings): Promise<Logger> {
  const log = await createLogger({ verbosity: options.verbosity, format: options.loggingFormat });
  for (const notice of notices) log.warn(notice);
  return log;
}

/** Whether `--write-config-to` is given: it goes before everything else. */
export function writesConfiguration(command: Command): boolean {
  return Boolean(flagValue(command, 'write-config-to'));
}

/** Throws a `CliError` when settings are of another IP family than those that this node turned out to serve. */
export function checkFamilies({ options, nameOf }: Settings, families: readonly IpFamily[]): void {
  const problems = familyProblems(options, families, nameOf);
  if (problems.length > 0) throw new CliError(problems.join('\n'));
}

/** Writes the configuration or prepares the machine, if that is asked for, and else runs. */
export async function start(
  command: Command,
  settings: Settings,
  run: (settings: Settings) => Promise<void>,
): Promise<void> {
  const initializes = isOn(command, INIT_ONLY);
  if (writesConfiguration(command)) {
    return writeConfiguration(settings, String(flagValue(command, 'write-config-to')));
  }
  return initializes ? initialize(settings) : run(settings);
}

async function writeConfiguration(settings: Settings, path: string): Promise<void> {
  const log = await openLog(settings);
  try {
    await writeFile(path, await configurationYaml(settings.options.configuration));
  } catch (error) {
    throw new CliError(`--write-config-to ${JSON.stringify(path)}: ${(error as Error).message}`);
  }
  log.info({ file: path }, 'Wrote the configuration');
}

/** Rejects when a setting is not as it must be and cannot be made so: whoever starts after this has not the rights. */
async function initialize(settings: Settings): Promise<void> {
  const { options } = settings;
  const log = await openLog(settings);
  // What the rules need is loaded into the kernel by trying them, and brings its settings along.
  const backends = await usableBackends(backendMaker(options, log), options, log);
  checkFamilies(
    settings,
    backends.map(({ family }) => family),
  );
  const failed = await applySettings(machineSettings(options), { log, dryRun: options.dryRun });
  const missing = failed.filter(({ essential }) => essential);
  if (missing.length > 0) {
    throw new CliError(
      missing
        .map(
          ({ path, value }) => `${path} cannot be set to ${value}; run this as root, with /proc/sys writable`,
        )
        .join('\n'),
    );
  }
  log.info('Prepared this machine; from now on CAP_NET_ADMIN is enough');
}

function machineSettings(options: Options) {
  return [
    ...systemSettings(options, availableParallelism()),
    ...modeSettings(options, ownAddresses(), release()),
  ];
}
