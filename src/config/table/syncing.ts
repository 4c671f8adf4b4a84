/** Options about when rules are written and checked. */
import * as fields from '../fields.ts';
import { option, optional } from '../option.ts';

const IN_IPVS = 'it counts in IPVS mode too where that has not its own flag; kube-proxy leaves it out there';

export const syncingOptions = {
  syncPeriod: option(fields.duration('any'), '30s', {
    flag: 'iptables-sync-period',
    value: '<duration>',
    field: 'iptables.syncPeriod',
    group: 'Syncing',
    text: 'how often the rules are checked, and at the latest when a failed sync is tried again',
    flagDiffers: IN_IPVS,
  }),
  minSyncPeriod: option(fields.duration('any'), '1s', {
    flag: 'iptables-min-sync-period',
    value: '<duration>',
    field: 'iptables.minSyncPeriod',
    group: 'Syncing',
    text: 'shortest time between two syncs',
    flagDiffers: IN_IPVS,
  }),
  ipvsSyncPeriod: optional(fields.duration('any'), {
    flag: 'ipvs-sync-period',
    value: '<duration>',
    field: 'ipvs.syncPeriod',
    shownDefault: '30s',
    fieldDefault: '30s',
    group: 'Syncing',
    text: 'the sync period in IPVS mode',
  }),
  ipvsMinSyncPeriod: optional(fields.duration('any'), {
    flag: 'ipvs-min-sync-period',
    value: '<duration>',
    field: 'ipvs.minSyncPeriod',
    shownDefault: '1s',
    fieldDefault: '0s',
    group: 'Syncing',
    text: 'the shortest time between two syncs in IPVS mode',
  }),
  nftablesSyncPeriod: optional(fields.duration('any'), {
    field: 'nftables.syncPeriod',
    fieldDefault: '30s',
    group: 'Syncing',
    text: 'the sync period in nftables mode',
  }),
  nftablesMinSyncPeriod: optional(fields.duration('any'), {
    field: 'nftables.minSyncPeriod',
    fieldDefault: '1s',
    group: 'Syncing',
    text: 'the shortest time between two syncs in nftables mode',
  }),
  dryRun: option(fields.bool(), 'false', {
    flag: 'dry-run',
    own: true,
    group: 'Syncing',
    text: 'print what would be given to the tools, and change nothing',
  }),
};
