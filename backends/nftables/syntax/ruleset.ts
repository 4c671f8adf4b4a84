/** A ruleset in memory that scripts are applied to, as nft and the kernel would. */
import { applyChain, applyRule } from './apply-chain.ts';
import { applyElements, applySet } from './apply-set.ts';
import { applyTable } from './apply-table.ts';
import { type Command, parseScript } from './command.ts';
import { checkHooks } from './hooks-check.ts';
import { Journal } from './journal.ts';
import type { LiveTable } from './live-table.ts';
import { type TableModel, tableKey } from './model.ts';
import { Refusal, RefusedCommand } from './refusal.ts';
import type { Transaction } from './transaction.ts';

/**
 * Models what scripts do to names, references, types and elements. Not modelled: time (elements stay), intervals
 * of one set that overlap, and that a base chain declared again without a policy keeps the one it has.
 */
export class Ruleset implements TableModel {
  readonly tables = new Map<string, LiveTable>();

  /**
   * Applies a script whole or not at all.
   *
   * @throws NftSyntaxError when it cannot be read, RefusedCommand when nft or the kernel would refuse it. What
   *   only shows once the script is through (loops, nat in the wrong hook) is blamed on the table's last command.
   */
  apply(script: string): void {
    const journal = new Journal();
    const touched = new Map<string, number>();
    let line = 0;
    try {
      for (const command of parseScript(script)) {
        line = command.line;
        applyCommand({ tables: this.tables, journal }, command);
        const key = touchedTable(command);
        if (key !== undefined) touched.set(key, line);
      }
      for (const [key, lastLine] of touched) {
        line = lastLine;
        const table = this.tables.get(key);
        if (table !== undefined) checkHooks(table);
      }
    } catch (error) {
      journal.rollBack();
      throw error instanceof Refusal ? new RefusedCommand(line, error) : error;
    }
  }
}

function applyCommand(transaction: Transaction, command: Command): void {
  switch (command.object) {
    case 'table':
      applyTable(transaction, command);
      break;
    case 'chain':
      applyChain(transaction, command);
      break;
    case 'set':
      applySet(transaction, command);
      break;
    case 'element':
      applyElements(transaction, command);
      break;
    case 'rule':
      applyRule(transaction, command);
      break;
    case 'ruleset':
      transaction.journal.clear(transaction.tables);
  }
}

function touchedTable(command: Command): string | undefined {
  if (command.object === 'ruleset') return undefined;
  const { family, name } =
    command.object === 'table' ? command.table : { family: command.family, name: command.table };
  return tableKey(family, name);
}
