/** From a command's flags, and the file that one of them names, to options. */
import type { Command } from 'commander';
import { ConfigurationError, readConfiguration } from '../config/configuration/read.ts';
import { FIELDS, FLAGS, type OptionName } from '../config/flags.ts';
import {
  describeProblem,
  flagTypeProblems,
  type Given,
  type NameOf,
  type OptionProblem,
  type Options,
  parseOptions,
} from '../config/options.ts';
import { type ConfigFile, readConfigFile } from './config-file.ts';
import { CliError } from './exit.ts';
import { flagTexts } from './flag-texts.ts';
import { flagValue, givenFlags, givenNames } from './flags.ts';

export interface Settings {
  readonly options: Options;
  /** How an option is called by whoever gave it: a flag, or a field of the file. */
  readonly nameOf: NameOf;
  /** What should be said as soon as there is a log. */
  readonly notices: readonly string[];
  /** Every flag's value as text, by its name without dashes. */
  readonly flags: Readonly<Record<string, string>>;
  /** The file of `--config`. */
  readonly file?: ConfigFile;
}

/**
 * @param defaults what holds where neither a flag nor a file says anything
 * Rejects with a `CliError` that tells everything that is wrong.
 */
export async function readSettings(command: Command, defaults: Given = {}): Promise<Settings> {
  const flags = givenFlags(command);
  const flagName = givenNames(command);
  const deprecated = Object.keys(flags).flatMap((name) => {
    const deprecated = FLAGS.get(name as OptionName)?.deprecated;
    return deprecated ? [`${flagName(name as OptionName)} is deprecated; ${deprecated}`] : [];
  });
  const path = flagValue(command, 'config');
  if (typeof path !== 'string' || path === '') {
    return {
      options: checked({ ...defaults, ...flags }, flagName),
      nameOf: flagName,
      notices: deprecated,
      flags: flagTexts(command, defaults),
    };
  }
  const file = await readConfigFile(path);
  const { given, notices } = await readConfiguration(file.text, path).catch((error: unknown) => {
    throw error instanceof ConfigurationError ? new CliError(error.message) : error;
  });
  const { counting, ignored } = besideFile(flags);
  const ignoredNames = Object.keys(ignored) as OptionName[];
  const nameOf: NameOf = (option) => {
    const field = FIELDS.get(option)?.field;
    return option in counting || field === undefined ? flagName(option) : `${path}: ${field}`;
  };
  return {
    // Objects from files need no API server, whatever the configuration says of one.
    options: checked(
      { ...given, ...counting, ...('manifests' in counting ? { kubeconfig: '' } : {}) },
      nameOf,
      flagTypeProblems(ignored, flagName),
    ),
    nameOf,
    notices: [
      ...deprecated,
      ...notices,
      ...(ignoredNames.length > 0
        ? [`--config is given, so these flags do not count: ${ignoredNames.map(flagName).join(', ')}`]
        : []),
    ],
    flags: flagTexts(command),
    file,
  };
}

/** @param others what is wrong beside it */
function checked(given: Given, nameOf: NameOf, others: readonly OptionProblem[] = []): Options {
  const result = parseOptions(given, nameOf);
  if (!result.ok) refuse([...result.problems, ...others]);
  if (others.length > 0) refuse(others);
  return result.options;
}

/** Throws a `CliError` when a flag has a value that is not even of its type. For commands that look no further. */
export function checkFlagTypes(command: Command): void {
  const problems = flagTypeProblems(givenFlags(command), givenNames(command));
  if (problems.length > 0) refuse(problems);
}

function refuse(problems: readonly OptionProblem[]): never {
  throw new CliError(problems.map(describeProblem).join('\n'));
}

/** A file replaces all that kube-proxy's flags say but for a few, which win over it; ours are not for it to say. */
function besideFile(flags: Given): { readonly counting: Given; readonly ignored: Given } {
  const counting: Partial<Record<OptionName, unknown>> = {};
  const ignored: Partial<Record<OptionName, unknown>> = {};
  for (const [name, value] of Object.entries(flags) as [OptionName, unknown][]) {
    const info = FLAGS.get(name);
    // `--hostname-override=$(NODE_NAME)` without that variable says nothing.
    if (isEmpty(value) && info?.isOfType(value)) continue;
    if (info?.besideFile || info?.own) counting[name] = value;
    else ignored[name] = value;
  }
  return { counting, ignored };
}

function isEmpty(value: unknown): boolean {
  return value === '' || (Array.isArray(value) && value.length === 0);
}
