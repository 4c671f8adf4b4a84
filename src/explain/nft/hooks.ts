/** Which base chains a packet meets at a hook, and in which order. */
import type { BaseChain, Hook, Table, TableModel } from '../../../backends/nftables/syntax/model.ts';
import type { IpFamily } from '../../cluster/values.ts';

export interface HookedChain {
  readonly table: Table;
  readonly name: string;
  readonly base: BaseChain;
}

/**
 * Where connection tracking's translation sits (`NF_IP_PRI_NAT_DST`, `NF_IP_PRI_NAT_SRC`): nat chains all run
 * there, and their own priorities only order them among themselves.
 */
const NAT_PRIORITY: Readonly<Partial<Record<Hook, number>>> = {
  prerouting: -100,
  output: -100,
  input: 100,
  postrouting: 100,
};

/** The base chains at a hook, first to last. */
export function chainsAt({ tables }: TableModel, hook: Hook, family: IpFamily): HookedChain[] {
  const own = family === 'IPv4' ? 'ip' : 'ip6';
  const chains: HookedChain[] = [];
  for (const table of tables.values()) {
    if (table.family !== own && table.family !== 'inet') continue;
    for (const [name, { base }] of table.chains) {
      if (base?.hook === hook) chains.push({ table, name, base });
    }
  }
  return chains.sort((a, b) => place(a.base) - place(b.base) || a.base.priority - b.base.priority);
}

function place({ type, hook, priority }: BaseChain): number {
  return type === 'nat' ? (NAT_PRIORITY[hook] ?? priority) : priority;
}
