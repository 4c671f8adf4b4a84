/** Commands on tables. */
import { addChain } from './apply-chain.ts';
import { addElements, addSet } from './apply-set.ts';
import type { TableCommand } from './command.ts';
import type { Journal } from './journal.ts';
import { LiveTable } from './live-table.ts';
import { type Table, tableKey } from './model.ts';
import { Refusal } from './refusal.ts';
import { type Transaction, tableOf } from './transaction.ts';

export function applyTable(transaction: Transaction, { verb, table: wanted }: TableCommand): void {
  const { tables, journal } = transaction;
  const key = tableKey(wanted.family, wanted.name);
  const present = tables.get(key);
  switch (verb) {
    case 'add':
    case 'create':
      if (verb === 'create' && present) throw new Refusal('exists', `table ${key} is already there`);
      fill(journal, present ?? newTable(transaction, wanted), wanted);
      break;
    case 'destroy':
      if (present) journal.remove(tables, key);
      break;
    case 'flush':
      flush(journal, tableOf(transaction, wanted.family, wanted.name));
      break;
    case 'delete':
      tableOf(transaction, wanted.family, wanted.name);
      journal.remove(tables, key);
  }
}

function newTable({ tables, journal }: Transaction, wanted: Table): LiveTable {
  const table = new LiveTable(wanted);
  journal.put(tables, tableKey(wanted.family, wanted.name), table);
  return table;
}

function flush(journal: Journal, table: LiveTable): void {
  for (const chain of table.chains.values()) table.removeRules(journal, chain, 0, chain.rules.length);
}

/** The contents of a block, in an order in which everything that is referred to is there. */
function fill(journal: Journal, table: LiveTable, { sets, chains }: Table): void {
  for (const [name, chain] of chains) addChain(journal, table, name, chain);
  for (const [name, set] of sets) addSet(journal, table, name, set);
  for (const [name, set] of sets) addElements(journal, table, name, set);
  for (const [name, { rules }] of chains) {
    for (const rule of rules) table.appendRule(journal, table.chain(name), rule);
  }
}
