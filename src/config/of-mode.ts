/** Settings that modes share, or have each for itself. */
import type { FlagValues, OptionName } from './flags.ts';

/** What holds in the mode that was chosen. */
export interface OfMode {
  /** Milliseconds. */
  readonly syncPeriod: number;
  readonly minSyncPeriod: number;
  readonly masqueradeAll: boolean;
  readonly masqueradeBit: number;
}

/** A mode's own options for them; those without one, and those left out, are as in iptables mode. */
const OWN: Readonly<Record<FlagValues['proxyMode'], Readonly<Partial<Record<keyof OfMode, OptionName>>>>> = {
  iptables: {},
  ipvs: { syncPeriod: 'ipvsSyncPeriod', minSyncPeriod: 'ipvsMinSyncPeriod' },
  nftables: {
    syncPeriod: 'nftablesSyncPeriod',
    minSyncPeriod: 'nftablesMinSyncPeriod',
    masqueradeAll: 'nftablesMasqueradeAll',
    masqueradeBit: 'nftablesMasqueradeBit',
  },
};

/** The option that a setting comes from. */
export function sourceOf(setting: keyof OfMode, values: FlagValues): OptionName {
  const own = OWN[values.proxyMode][setting];
  return own !== undefined && values[own] !== undefined ? own : setting;
}

export function ofMode(values: FlagValues): OfMode {
  const { proxyMode, syncPeriod, minSyncPeriod, masqueradeAll, masqueradeBit } = values;
  switch (proxyMode) {
    case 'iptables':
      return { syncPeriod, minSyncPeriod, masqueradeAll, masqueradeBit };
    case 'ipvs':
      return {
        syncPeriod: values.ipvsSyncPeriod ?? syncPeriod,
        minSyncPeriod: values.ipvsMinSyncPeriod ?? minSyncPeriod,
        masqueradeAll,
        masqueradeBit,
      };
    case 'nftables':
      return {
        syncPeriod: values.nftablesSyncPeriod ?? syncPeriod,
        minSyncPeriod: values.nftablesMinSyncPeriod ?? minSyncPeriod,
        masqueradeAll: values.nftablesMasqueradeAll ?? masqueradeAll,
        masqueradeBit: values.nftablesMasqueradeBit ?? masqueradeBit,
      };
  }
}

/** The same values with those of the chosen mode under its own options, as a configuration file has them. */
export function underOwnNames(values: FlagValues): FlagValues {
  const chosen = ofMode(values);
  const own = Object.entries(OWN[values.proxyMode]) as [keyof OfMode, OptionName][];
  return { ...values, ...Object.fromEntries(own.map(([setting, option]) => [option, chosen[setting]])) };
}
