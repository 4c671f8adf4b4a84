/** The tables as `iptables-save` prints them. */
import { nameOf, tableOf } from '../../../backends/iptables/names.ts';
import { parseSave } from '../../../backends/iptables/save.ts';
import { parseRule, type Rule } from './rule.ts';

export interface Chain {
  /** What becomes of a packet at the end of a chain of the kernel's; absent for one that rules lead to. */
  readonly policy?: 'accept' | 'drop';
  readonly rules: readonly Rule[];
}

/** Chains by name, by table (`nat`). */
export type Ruleset = ReadonlyMap<string, ReadonlyMap<string, Chain>>;

const POLICY = /^:(\S+) (ACCEPT|DROP) /;

/**
 * Reads the output of `iptables-save` or the input of `iptables-restore`, of one family. Rules are read when they are
 * first looked at; what a rule says that is not known is told then.
 */
export function parseRuleset(text: string): Ruleset {
  const tables = new Map<string, Map<string, Chain>>();
  const policies = policiesIn(text);
  for (const [id, texts] of parseSave(text)) {
    const table = tableOf(id);
    const policy = policies.get(id);
    let rules: Rule[] | undefined;
    const chain: Chain = {
      ...(policy ? { policy } : {}),
      get rules() {
        rules ??= texts.map(parseRule);
        return rules;
      },
    };
    const chains = tables.get(table) ?? new Map<string, Chain>();
    chains.set(nameOf(id), chain);
    tables.set(table, chains);
  }
  return tables;
}

/** By `filter FORWARD`. */
function policiesIn(text: string): Map<string, 'accept' | 'drop'> {
  const policies = new Map<string, 'accept' | 'drop'>();
  let table = '';
  for (const [line] of text.matchAll(/^[*:].*$/gm)) {
    if (line.startsWith('*')) table = line.slice(1).trim();
    const [, chain, policy] = POLICY.exec(line) ?? [];
    if (chain !== undefined) policies.set(`${table} ${chain}`, policy === 'DROP' ? 'drop' : 'accept');
  }
  return policies;
}
