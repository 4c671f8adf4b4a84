/** What `iptables-save` prints, as far as this back end asks. */
import type { ChainId, Table } from './names.ts';
import { asSaved } from './rule.ts';

/** Rules by chain, in order, without `-A CHAIN`; chains of the kernel and of others too. */
export type SavedRules = Map<ChainId, string[]>;

/**
 * Reads the output of `iptables-save` (iptables-extensions(8) has the matches). Lines that are no rules or chains
 * are passed over: comments, counters, warnings about the other variant.
 */
export function parseSave(text: string): SavedRules {
  const saved: SavedRules = new Map();
  let table: Table | '' = '';
  for (const line of linesOf(text)) {
    const first = line[0];
    if (first === '*') {
      table = line.slice(1).trim() as Table;
    } else if (first === ':') {
      const end = line.indexOf(' ');
      saved.set(`${table as Table} ${line.slice(1, end)}`, []);
    } else if (line.startsWith('-A ')) {
      const end = line.indexOf(' ', 3);
      const chain = end < 0 ? line.slice(3) : line.slice(3, end);
      saved.get(`${table as Table} ${chain}`)?.push(end < 0 ? '' : spaced(line.slice(end + 1)));
    }
  }
  return saved;
}

/** Runs of spaces, which some extensions print, are one. */
function spaced(rule: string): string {
  return rule.includes('  ') ? asSaved(rule) : rule.trimEnd();
}

function* linesOf(text: string): Generator<string> {
  let start = 0;
  while (start < text.length) {
    let end = text.indexOf('\n', start);
    if (end < 0) end = text.length;
    yield text.slice(start, end);
    start = end + 1;
  }
}

/** The chain a rule jumps or goes to, or its target extension; `undefined` when it has none. */
export function targetOf(rule: string): string | undefined {
  return /(?:^| )-[jg] (\S+)/.exec(rule.replace(/"[^"]*"/g, '""'))?.[1];
}
