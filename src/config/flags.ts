/**
 * The options of the program: one schema that gives their types, defaults, checks, help, documentation and places in
 * configuration files. Flags and fields carry kube-proxy's names and meaning where it has them, so that its command
 * lines and files work here as they are. What concerns several of them at once is in options.ts.
 */
import { z } from 'zod';
import { type OptionInfo, optionInfos } from './option.ts';
import { clusterOptions } from './table/cluster.ts';
import { nodeOptions } from './table/node.ts';
import { outputOptions } from './table/output.ts';
import { rulesOptions } from './table/rules.ts';
import { serversOptions } from './table/servers.ts';
import { syncingOptions } from './table/syncing.ts';
import { systemOptions } from './table/system.ts';
import { unusedOptions } from './table/unused.ts';

export type { FlagGroup } from './option.ts';

export const flagsSchema = z.object({
  ...clusterOptions,
  ...nodeOptions,
  ...rulesOptions,
  ...syncingOptions,
  ...serversOptions,
  ...systemOptions,
  ...outputOptions,
  ...unusedOptions,
});

/** Every option's value, each checked by itself. */
export type FlagValues = z.output<typeof flagsSchema>;

export type OptionName = keyof FlagValues;

/** An option that has a flag. */
export type FlagInfo = OptionInfo & { readonly flag: string };

/** An option that a configuration file can hold. */
export type FieldInfo = OptionInfo & { readonly field: string };

/** All options, in the order of help. */
export const OPTIONS: ReadonlyMap<OptionName, OptionInfo> = new Map(
  Object.entries(flagsSchema.shape).flatMap(([name, schema]) => {
    const info = optionInfos.get(schema);
    return info ? [[name as OptionName, info]] : [];
  }),
);

export const FLAGS: ReadonlyMap<OptionName, FlagInfo> = new Map(
  [...OPTIONS].filter((entry): entry is [OptionName, FlagInfo] => entry[1].flag !== undefined),
);

export const FIELDS: ReadonlyMap<OptionName, FieldInfo> = new Map(
  [...OPTIONS].filter((entry): entry is [OptionName, FieldInfo] => entry[1].field !== undefined),
);
