/** Options as commander's flags: their help, and reading them back. */
import { Command, Help, Option } from 'commander';
import { commaSeparated } from '../config/fields.ts';
import { FLAGS, type FlagGroup, type FlagInfo, type OptionName } from '../config/flags.ts';
import { flagName, type NameOf } from '../config/options.ts';

export interface AddFlagsOptions {
  /** Only what kube-proxy has too, under its names. */
  readonly kubeProxyOnly?: boolean;
}

/** Adds the flags of these groups to a command. */
export function addFlags(
  command: Command,
  groups: readonly FlagGroup[],
  { kubeProxyOnly = false }: AddFlagsOptions = {},
): void {
  shapeHelp(command);
  keepSwitchesApart(command);
  for (const info of FLAGS.values()) {
    if (!groups.includes(info.group) || (kubeProxyOnly && info.own)) continue;
    const option = toOption(kubeProxyOnly ? withoutAlias(info) : info);
    // A command of our own need not tell what it takes for others' sake.
    if (info.group === 'Without effect' && !kubeProxyOnly) option.hideHelp();
    command.addOption(option);
  }
}

/**
 * Some terms are long: what they mean then goes on the next line, and the column stays narrow. A value that may be
 * left out is shown where it has to stand.
 */
function shapeHelp(command: Command): void {
  command.configureHelp({
    optionTerm: ({ flags }) => flags.replace(OPTIONAL_VALUE, '').replace(/ \[(.*)\]$/, '[=$1]'),
    optionDescription: ({ description }) => description,
    padWidth: () => TERM_WIDTH,
    formatItem(term, width, description, helper) {
      const format = (text: string) =>
        Help.prototype.formatItem.call(helper, text, width, description, helper);
      return term.length <= width ? format(term) : `  ${term}\n${format('')}`;
    },
  });
}

/**
 * A flag that needs no value takes none but behind `=`, as in kube-proxy: in `--cleanup false` the word `false` is an
 * argument, of which there are none. Commander would take it for the value.
 */
function keepSwitchesApart(command: Command): void {
  command.parseOptions = (args) =>
    Command.prototype.parseOptions.call(command, withSwitchValues(args, command.options));
}

/** `--cleanup` becomes `--cleanup=true`; what are values of other flags stays as it is. */
export function withSwitchValues(args: readonly string[], options: readonly Option[]): string[] {
  const end = args.indexOf('--');
  let isValue = false;
  return args.map((word, index) => {
    if (isValue) {
      isValue = false;
      return word;
    }
    if (end >= 0 && index >= end) return word;
    const option = options.find(({ long, short }) => word === long || word === short);
    isValue = option?.required ?? false;
    return option?.optional ? `${word}=${String(option.presetArg)}` : word;
  });
}

/** What stands for the value of a flag that needs none; help leaves it out. */
const OPTIONAL_VALUE = ' [true|false]';

const TERM_WIDTH = 28;

function withoutAlias({ alias: _alias, ...info }: FlagInfo): FlagInfo {
  return info;
}

/** Remembers which of its names was used: an error is about what stands on the command line. */
class NamedOption extends Option {
  /** `-v`, `--mode`; absent while the flag is not given. */
  spelling: string | undefined;

  /** Commander asks each option whether it is the one that an argument names. */
  is(name: string): boolean {
    if (name !== this.short && name !== this.long) return false;
    this.spelling = name;
    return true;
  }
}

function toOption(info: FlagInfo): Option {
  const names = [info.short && `-${info.short}`, info.alias && `--${info.alias}`, `--${info.flag}`];
  const initial = info.shownDefault ?? info.initial;
  const tellDefault = initial !== '' && initial !== 'false' && !info.text.includes('(default:');
  const option = new NamedOption(
    names.filter(Boolean).join(', ') + (info.value ? ` ${info.value}` : OPTIONAL_VALUE),
    info.text + (tellDefault ? ` (default: ${initial})` : ''),
  );
  option.helpGroup(`${info.group}:`);
  if (!info.value) option.preset('true');
  if (info.repeatable) {
    option.argParser((value: string, before: readonly string[] | undefined) => [
      ...(before ?? []),
      ...commaSeparated(value),
    ]);
  }
  return option;
}

/** A flag of a command itself, which is switched on by its name alone, as text for `parseBool`. */
export function switchOption(flag: string, text: string, group: string): Option {
  return new Option(`--${flag}${OPTIONAL_VALUE}`, text).preset('true').helpGroup(`${group}:`);
}

/** What the flags of a command were given, as text; those that were not are absent. */
export function givenFlags(command: Command): Partial<Record<OptionName, unknown>> {
  const given: Partial<Record<OptionName, unknown>> = {};
  for (const [name, info] of FLAGS) {
    const value = flagValue(command, info.flag);
    if (value !== undefined) given[name] = value;
  }
  return given;
}

/** What one flag was given. */
export function flagValue(command: Command, flag: string): unknown {
  const option = optionOf(command, flag);
  return option && command.getOptionValue(option.attributeName());
}

/** How the flags of a command are called: those that were given as they were given, `--mode` for `--proxy-mode`. */
export function givenNames(command: Command): NameOf {
  return (name) => {
    const info = FLAGS.get(name);
    const option = info && optionOf(command, info.flag);
    return (option instanceof NamedOption ? option.spelling : undefined) ?? flagName(name);
  };
}

function optionOf(command: Command, flag: string): Option | undefined {
  return command.options.find(({ long }) => long === `--${flag}`);
}
