/** A manifest that cannot be read, with the place where it goes wrong. */

export interface Place {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /** The line itself. */
  readonly text: string;
}

/** Its message names file, line and column as compilers do, and shows the line with a mark under the column. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError';
  readonly file: string;
  readonly place: Place | undefined;

  constructor(file: string, reason: string, place?: Place, options?: ErrorOptions) {
    super(place === undefined ? `${file}: ${reason}` : located(file, reason, place), options);
    this.file = file;
    this.place = place;
  }
}

/** What is shown of a line: enough to know it by. */
const MAX_SHOWN = 100;

function located(file: string, reason: string, { line, column, text }: Place): string {
  const start = Math.max(0, column - MAX_SHOWN + 20);
  // Tabs are one column to the parser and many on a screen.
  const shown = text.slice(start, start + MAX_SHOWN).replaceAll('\t', ' ');
  const margin = `${line}`.replaceAll(/./g, ' ');
  const mark = `${' '.repeat(Math.max(0, column - 1 - start))}^`;
  return `${file}:${line}:${column}: ${reason}\n  ${line} | ${shown}\n  ${margin} | ${mark}`;
}
