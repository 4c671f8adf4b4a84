/** Which lines for `iptables-restore --noflush` take our chains away. */
import type { IpFamily } from '../../src/cluster/values.ts';
import type { Leftover } from '../../src/reconcile/backend.ts';
import { SHARED_CHAINS } from '../shared/mode-overlap.ts';
import { type Chains, JUMPS, type Rules, renderRules, TABLES, type Table } from './chains.ts';

/** Chain names by table; the rules do not matter here. */
const OURS = renderRules(
  {
    family: 'IPv4',
    detector: { kind: 'none' },
    masqueradeAll: false,
    masqueradeBit: 14,
    nodePortAddresses: 'any',
    serviceCIDRs: [],
  },
  new Set(),
  false,
);

/** Refuses what comes to a Service's address and is for no virtual server, lest a daemon of the node answers. */
const GUARD = 'KUBE-IPVS-FILTER';

export interface Removal {
  readonly lines: readonly string[];
  /** Chains that rules of others lead to, which stay as they are. */
  readonly held: readonly Leftover[];
}

export interface Staying {
  /** Chains that iptables mode has under the same names are its own, but not our ways into them. */
  readonly shared: boolean;
  /** Services' addresses are still the node's own, and have to be guarded. */
  readonly guard: boolean;
}

/** @param tables what is there, by table and chain */
export function removeChains(family: IpFamily, tables: Rules, { shared, guard }: Staying): Removal {
  const lines: string[] = [];
  const held: Leftover[] = [];
  for (const table of TABLES) {
    const stays = (chain: string): boolean =>
      (shared && SHARED_CHAINS[table].includes(chain)) || (guard && table === 'filter' && chain === GUARD);
    const doomed = new Set(
      [...OURS[table].keys()].filter((chain) => tables[table].has(chain) && !stays(chain)),
    );
    for (const [chain, holder] of spareHeld(doomed, tables[table])) {
      held.push({
        object: `chain ${chain} of table ${table}, ${family}`,
        reason: `a rule in chain ${holder} leads to it, and that chain is somebody else's`,
      });
    }
    const jumps = [...jumpsInto(doomed, tables[table]), ...(shared ? ownWays(table, tables[table]) : [])];
    if (doomed.size === 0 && jumps.length === 0) continue;
    lines.push(
      `*${table}\n`,
      ...Array.from(doomed, (chain) => `:${chain} - [0:0]\n`),
      ...jumps,
      ...Array.from(doomed, (chain) => `-X ${chain}\n`),
      'COMMIT\n',
    );
  }
  return { lines, held };
}

const BUILT_IN: ReadonlySet<string> = new Set(['INPUT', 'FORWARD', 'OUTPUT', 'PREROUTING', 'POSTROUTING']);

/**
 * Takes chains out of `doomed` that other chains lead to, and those that they lead to in turn.
 * @returns them, with the chain that holds each
 */
function spareHeld(doomed: Set<string>, chains: Chains): Map<string, string> {
  const held = new Map<string, string>();
  const follow = (from: string): void => {
    for (const rule of chains.get(from) ?? []) {
      const target = targetOf(rule);
      if (target === undefined || !doomed.delete(target)) continue;
      held.set(target, from);
      follow(target);
    }
  };
  for (const chain of [...chains.keys()].filter((name) => !doomed.has(name) && !BUILT_IN.has(name))) {
    follow(chain);
  }
  return held;
}

function jumpsInto(doomed: ReadonlySet<string>, chains: Chains): string[] {
  return [...chains]
    .filter(([chain]) => BUILT_IN.has(chain))
    .flatMap(([chain, rules]) =>
      rules.filter((rule) => doomed.has(targetOf(rule) ?? '')).map((rule) => `-D ${chain} ${rule}\n`),
    );
}

/** Rules that lead to chains of both modes, but that iptables mode does not write. */
function ownWays(table: Table, chains: Chains): string[] {
  if (table !== 'filter') return [];
  return JUMPS[table]
    .filter(([chain, rule]) => rule.endsWith(' KUBE-PROXY-FIREWALL') && chains.get(chain)?.includes(rule))
    .map(([chain, rule]) => `-D ${chain} ${rule}\n`);
}

function targetOf(rule: string): string | undefined {
  return /(?:^| )-[jg] (\S+)/.exec(rule)?.[1];
}
