/** What is said about an option beside the kind of its value: one place for flags, files, help, docs and errors. */
import { z } from 'zod';
import { type KindOfField, kinds } from './fields.ts';

/** What help shows together; a command takes the flags of some groups. */
export type FlagGroup =
  | 'Cluster'
  | 'Node'
  | 'Rules'
  | 'Syncing'
  | 'Servers'
  | 'System'
  | 'Output'
  | 'Without effect';

export interface OptionSpec {
  readonly group: FlagGroup;
  /** What it is for, without a full stop. */
  readonly text: string;
  /** The same for its field, where that is another text. */
  readonly fieldText?: string;
  /** Without the dashes; absent for what a configuration file alone can say. */
  readonly flag?: string;
  /** Another name of the same flag, which kube-proxy does not have. */
  readonly alias?: string;
  readonly short?: string;
  /** What stands for the value in help: `<cidr,...>`. A flag without one is switched on by its name alone. */
  readonly value?: string;
  /** May be given several times, its values adding up. */
  readonly repeatable?: true;
  /** What to use instead. */
  readonly deprecated?: string;
  /** Where a KubeProxyConfiguration has it: `iptables.syncPeriod`. */
  readonly field?: string;
  /** The default where a file says nothing, if it is another one than the flag's. */
  readonly fieldDefault?: string;
  /** In a file only `null` and absence mean the default; otherwise the zero of the type does too. */
  readonly zeroCounts?: true;
  /** kube-proxy does not have it. */
  readonly own?: true;
  /** The flag counts together with `--config` too, and wins; so do all that kube-proxy does not have. */
  readonly besideFile?: true;
  /** What documentation gives as the flag's default, where that is another text than what is read. */
  readonly shownDefault?: string;
  /** What is not as in kube-proxy, and why: in both notations, or in the flag alone. */
  readonly differs?: string;
  readonly flagDiffers?: string;
}

export interface OptionInfo extends OptionSpec, KindOfField {
  /** The default as a user would write it; empty for none. */
  readonly initial: string;
}

/** Everything about an option but its value: kept beside the schema. */
export const optionInfos = z.registry<OptionInfo>();

/** An option with a default, which is read like a value that is given. */
export function option<Field extends z.ZodType>(of: Field, initial: string, spec: OptionSpec) {
  const schema = of.prefault(initial as z.input<Field>);
  optionInfos.add(schema, { ...kindOf(of), ...spec, initial });
  return schema;
}

/** An option that may be absent: another one holds then. */
export function optional<Field extends z.ZodType>(of: Field, spec: OptionSpec) {
  const schema = of.optional();
  optionInfos.add(schema, { ...kindOf(of), ...spec, initial: '' });
  return schema;
}

function kindOf(of: z.ZodType): KindOfField {
  return kinds.get(of) ?? { allowed: '', inFile: 'any', isOfType: () => true };
}
