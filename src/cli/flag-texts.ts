/** Flags as `/flagz` tells them: what was given, and the default of what was not. */
import type { Command } from 'commander';
import { FLAGS } from '../config/flags.ts';

/** Every flag of a command by its name without dashes, as text; a list as Go's flags print one: `[a,b]`. */
export function flagTexts(command: Command): Readonly<Record<string, string>> {
  const initials = new Map([...FLAGS.values()].map(({ flag, initial }) => [flag, initial]));
  const texts = command.options.flatMap((option) => {
    const name = option.long?.replace(/^--/, '');
    if (name === undefined) return [];
    const given: unknown = command.getOptionValue(option.attributeName());
    const initial = initials.get(name) ?? (option.presetArg === 'true' ? 'false' : '');
    return [[name, textOf(given) ?? initial] as const];
  });
  return Object.fromEntries(texts);
}

function textOf(given: unknown): string | undefined {
  if (given === undefined || typeof given === 'string') return given;
  return Array.isArray(given) ? `[${given.join(',')}]` : JSON.stringify(given);
}
