/** What commands are carried out on. */
import type { TableFamily } from './ast.ts';
import type { Journal } from './journal.ts';
import type { LiveTable } from './live-table.ts';
import { tableKey } from './model.ts';
import { Refusal } from './refusal.ts';

/** The tables of a ruleset, and the journal of the script that is changing them. */
export interface Transaction {
  readonly tables: Map<string, LiveTable>;
  readonly journal: Journal;
}

/** A table that has to be there. */
export function tableOf({ tables }: Transaction, family: TableFamily, name: string): LiveTable {
  const table = tables.get(tableKey(family, name));
  if (table === undefined) throw new Refusal('missing', `there is no table ${family} ${name}`);
  return table;
}
