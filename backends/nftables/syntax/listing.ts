/** What `nft list ruleset` and `nft list table …` print, as a model. */
import { type Table, type TableModel, tableKey } from './model.ts';
import { Scanner } from './scanner.ts';
import { skipSeparators } from './set-declaration.ts';
import { parseTable } from './table-block.ts';

/**
 * Reads a listing of one or several tables, with or without handles (`nft -a`). Anyone may have added to a
 * table: rules that cannot be read are kept with a `problem`, other objects are left out and named in the
 * table's `unread`.
 *
 * @throws NftSyntaxError naming line, column and what was expected, for anything else.
 */
export function parseListing(text: string): TableModel {
  const scanner = new Scanner(text);
  const tables = new Map<string, Table>();
  skipSeparators(scanner);
  while (scanner.kind !== 'end') {
    scanner.expect('table');
    const table = parseTable(scanner, 'listing');
    tables.set(tableKey(table.family, table.name), table);
    skipSeparators(scanner);
  }
  return { tables };
}
