/** Input for `iptables-restore --noflush` that brings our chains from one content to another. */
import { type Chains, JUMPS, type Rules, TABLES, type Table } from './chains.ts';

/** What is known of the kernel's tables: our chains, and which of the jumps to them are there. */
export interface KnownRules {
  readonly rules: Rules;
  /** `filter INPUT -m comment …`. */
  readonly jumps: ReadonlySet<string>;
}

export const NO_RULES: KnownRules = {
  rules: { mangle: new Map(), filter: new Map(), nat: new Map() },
  jumps: new Set(),
};

export function jumpKey(table: Table, chain: string, rule: string): string {
  return `${table} ${chain} ${rule}`;
}

/** All jumps, as `KnownRules` has them. */
export const ALL_JUMPS: ReadonlySet<string> = new Set(
  TABLES.flatMap((table) => JUMPS[table].map(([chain, rule]) => jumpKey(table, chain, rule))),
);

/**
 * Chains that differ are written again whole, missing jumps put in front of what is there. Lines; none when
 * nothing differs.
 */
export function restoreLines(before: KnownRules, after: Rules): string[] {
  return TABLES.flatMap((table) => {
    const changed = [...after[table]].filter(
      ([chain, rules]) => !sameRules(before.rules[table], chain, rules),
    );
    const jumps = JUMPS[table].filter(([chain, rule]) => !before.jumps.has(jumpKey(table, chain, rule)));
    if (changed.length === 0 && jumps.length === 0) return [];
    return [
      `*${table}\n`,
      // Naming a chain empties it; all are there before a rule leads to one.
      ...changed.map(([chain]) => `:${chain} - [0:0]\n`),
      ...changed.flatMap(([chain, rules]) => rules.map((rule) => `-A ${chain} ${rule}\n`)),
      // Each goes in front of the one before it.
      ...jumps.toReversed().map(([chain, rule]) => `-I ${chain} ${rule}\n`),
      'COMMIT\n',
    ];
  });
}

function sameRules(before: Chains, chain: string, rules: readonly string[]): boolean {
  const there = before.get(chain);
  return there?.length === rules.length && rules.every((rule, index) => rule === there[index]);
}
