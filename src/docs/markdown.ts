/** Markdown that is made from the program: tables, and the parts of a page that hold them. */

/** A table; `|` inside of a cell is escaped. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

/** Text in the type of code; nothing for nothing. */
export function code(text: string): string {
  return text === '' ? '' : `\`${text}\``;
}

/**
 * The page with `content` between the marks of that section, in place of what is there. Throws when the page does not
 * have both marks once, in this order: a table that is made and goes nowhere would be missed by nobody.
 */
export function withSection(page: string, name: string, content: string): string {
  const begin = `<!-- begin ${name}: made by scripts/docs.ts -->\n`;
  const end = `\n<!-- end ${name} -->`;
  const [before, inside, ...more] = page.split(begin);
  const [, after, ...rest] = inside?.split(end) ?? [];
  if (before === undefined || after === undefined || more.length + rest.length > 0) {
    throw new Error(`there must be one section between ${begin.trim()} and ${end.trim()}`);
  }
  return `${before}${begin}\n${content}\n${end}${after}`;
}
