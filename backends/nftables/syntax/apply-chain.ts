/** Commands on chains and their rules. */
import type { ChainCommand, RuleCommand } from './command.ts';
import { checkBase } from './hooks-check.ts';
import type { Journal } from './journal.ts';
import type { LiveTable } from './live-table.ts';
import type { Chain } from './model.ts';
import { Refusal } from './refusal.ts';
import { type Transaction, tableOf } from './transaction.ts';

export function applyChain(transaction: Transaction, command: ChainCommand): void {
  const { verb, name, chain } = command;
  const { journal } = transaction;
  const table = tableOf(transaction, command.family, command.table);
  const present = table.chains.get(name);
  switch (verb) {
    case 'add':
    case 'create':
      if (verb === 'create' && present) throw new Refusal('exists', `chain ${name} is already there`);
      addChain(journal, table, name, chain);
      for (const rule of chain.rules) table.appendRule(journal, table.chain(name), rule);
      break;
    case 'flush':
      table.removeRules(journal, table.chain(name), 0, table.chain(name).rules.length);
      break;
    case 'destroy':
      if (present) table.removeChain(journal, name);
      break;
    case 'delete':
      table.removeChain(journal, name);
  }
}

/** Adds a chain without its rules. Adding one that is there may change its policy, and nothing else. */
export function addChain(journal: Journal, table: LiveTable, name: string, wanted: Chain): void {
  const present = table.chains.get(name);
  if (wanted.base) checkBase(name, wanted.base);
  if (present === undefined) {
    journal.put(table.chains, name, { ...wanted, rules: [] });
  } else if (wanted.base) {
    checkSameHook(name, present, wanted.base);
    journal.put(table.chains, name, { ...present, base: wanted.base });
  }
}

function checkSameHook(name: string, { base }: Chain, wanted: NonNullable<Chain['base']>): void {
  if (base === undefined) throw new Refusal('exists', `chain ${name} is there without a hook`);
  if (base.type !== wanted.type || base.hook !== wanted.hook || base.priority !== wanted.priority) {
    throw new Refusal('unsupported', `chain ${name} is there with another hook or priority`);
  }
}

export function applyRule(transaction: Transaction, command: RuleCommand): void {
  const { verb, rule } = command;
  const { journal } = transaction;
  const table = tableOf(transaction, command.family, command.table);
  const chain = table.chain(command.chain);
  const named = namedRule(command, chain);
  if (named !== undefined && (verb === 'delete' || verb === 'replace'))
    table.removeRules(journal, chain, named, 1);
  if (rule === undefined) return;
  if (verb === 'add')
    table.addRule(journal, chain, named === undefined ? chain.rules.length : named + 1, rule);
  else table.addRule(journal, chain, named ?? 0, rule);
}

/** The place of the rule that the command names; `undefined` when it names none. */
function namedRule({ handle, index, chain: name }: RuleCommand, chain: Chain): number | undefined {
  if (handle === undefined && index === undefined) return undefined;
  const at = handle === undefined ? (index ?? -1) : chain.rules.findIndex((rule) => rule.handle === handle);
  if (at >= 0 && at < chain.rules.length) return at;
  const which = handle === undefined ? `number ${index}` : `with handle ${handle}`;
  throw new Refusal('missing', `chain ${name} has no rule ${which}`);
}
