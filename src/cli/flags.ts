/** Options as commander's flags: their help, and reading them back. */
import { type Command, Help, Option } from 'commander';
import { FLAGS, type FlagGroup, type FlagSpecOfOption, type OptionName } from '../config/flags.ts';
import { describeProblem, type Options, parseOptions } from '../config/options.ts';
import { CliError } from './exit.ts';

/** Adds the flags of these groups to a command. */
export function addFlags(command: Command, groups: readonly FlagGroup[]): void {
  command.configureHelp({
    optionTerm: (option) => option.flags.replace(OPTIONAL_VALUE, ''),
    optionDescription: ({ description }) => description,
    // Some terms are long: what they mean then goes on the next line, and the column stays narrow.
    padWidth: () => TERM_WIDTH,
    formatItem(term, width, description, helper) {
      const format = (text: string) =>
        Help.prototype.formatItem.call(helper, text, width, description, helper);
      return term.length <= width ? format(term) : `  ${term}\n${format('')}`;
    },
  });
  for (const spec of FLAGS.values()) {
    if (groups.includes(spec.group)) command.addOption(toOption(spec));
  }
}

/** What stands for the value of a flag that needs none; help leaves it out. */
const OPTIONAL_VALUE = ' [true|false]';

const TERM_WIDTH = 28;

function toOption(spec: FlagSpecOfOption): Option {
  const names = [spec.short && `-${spec.short}`, spec.alias && `--${spec.alias}`, `--${spec.flag}`];
  const tellDefault = spec.initial !== '' && spec.initial !== 'false' && !spec.text.includes('(default:');
  const option = new Option(
    names.filter(Boolean).join(', ') + (spec.value ? ` ${spec.value}` : OPTIONAL_VALUE),
    spec.text + (tellDefault ? ` (default: ${spec.initial})` : ''),
  );
  option.helpGroup(`${spec.group}:`);
  if (!spec.value) option.preset('true');
  if (spec.repeatable) {
    option.argParser((value: string, before: readonly string[] | undefined) => [...(before ?? []), value]);
  }
  return option;
}

/** The options a command was given. Throws a `CliError` that tells everything that is wrong with them. */
export function readOptions(command: Command): Options {
  const given: Partial<Record<OptionName, unknown>> = {};
  for (const [name, spec] of FLAGS) {
    const option = command.options.find(({ long }) => long === `--${spec.flag}`);
    const value: unknown = option && command.getOptionValue(option.attributeName());
    if (value !== undefined) given[name] = value;
  }
  const result = parseOptions(given);
  if (!result.ok) throw new CliError(result.problems.map(describeProblem).join('\n'));
  return result.options;
}
