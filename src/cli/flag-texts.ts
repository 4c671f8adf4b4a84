/** Flags as `/flagz` tells them: what was given, and the default of what was not. */
import type { Command } from 'commander';
import { formatDuration, parseDuration } from '../config/duration.ts';
import { FLAGS, type FlagInfo, type OptionName } from '../config/flags.ts';
import type { Given } from '../config/options.ts';
import { urlWithoutUserinfo } from './userinfo.ts';

/**
 * Every flag of a command by its name without dashes, as text; a list as Go's flags print one: `[a,b]`.
 * @param defaults what the command has for defaults of its own
 */
export function flagTexts(command: Command, defaults: Given = {}): Readonly<Record<string, string>> {
  const known = new Map([...FLAGS].map(([name, info]) => [info.flag, { name, info }]));
  const texts = command.options.flatMap((option) => {
    const flag = option.long?.replace(/^--/, '');
    if (flag === undefined) return [];
    const given: unknown = command.getOptionValue(option.attributeName());
    const { name, info } = known.get(flag) ?? {};
    if (name === undefined || info === undefined) {
      return [[flag, textOf(given) ?? (option.presetArg === 'true' ? 'false' : '')] as const];
    }
    const text = textOf(given, info) ?? textOf(defaults[name], info) ?? initialText(info);
    return [[flag, shown(name, text)] as const];
  });
  return Object.fromEntries(texts);
}

function textOf(given: unknown, info?: FlagInfo): string | undefined {
  if (given === undefined || typeof given === 'string') return given;
  if (!Array.isArray(given)) return JSON.stringify(given);
  // Feature gates are a mapping to Go, and printed without brackets.
  return info?.inFile === 'mapping' ? given.join(',') : `[${given.join(',')}]`;
}

/** As Go prints the default: `15m0s`, `[]`. */
function initialText({ inFile, initial, shownDefault = initial }: FlagInfo): string {
  if (inFile === 'list' && shownDefault === '') return '[]';
  const duration = inFile === 'duration' ? parseDuration(shownDefault) : undefined;
  return duration === undefined ? shownDefault : formatDuration(duration);
}

/** A page that everybody on the node can read has no password. */
function shown(name: OptionName, text: string): string {
  return name === 'master' ? urlWithoutUserinfo(text) : text;
}
