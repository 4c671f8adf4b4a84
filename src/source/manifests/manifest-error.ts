/** A manifest that cannot be read, with the place where it goes wrong. */

export interface Place {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /** The line itself. */
  readonly text: string;
}

/** The place of a character, by its index in the whole text. */
export function placeIn(text: string, index: number): Place {
  const start = text.lastIndexOf('\n', index - 1) + 1;
  const end = text.indexOf('\n', start);
  let line = 1;
  for (let feed = text.indexOf('\n'); feed >= 0 && feed < start; feed = text.indexOf('\n', feed + 1)) {
    line += 1;
  }
  return { line, column: index - start + 1, text: text.slice(start, end < 0 ? undefined : end).trimEnd() };
}

/** Its message names file, line and column as compilers do, and shows the line with a mark under the column. */
export class ManifestError extends Error {
  override readonly name: string = 'ManifestError';
  readonly file: string;
  readonly place: Place | undefined;

  constructor(file: string, reason: string, place?: Place, options?: ErrorOptions) {
    super(place === undefined ? `${file}: ${printable(reason)}` : located(file, reason, place), options);
    this.file = file;
    this.place = place;
  }
}

/** Part of a manifest is no Kubernetes object, and is left out; the rest of the file counts. */
export class DocumentError extends ManifestError {
  override readonly name = 'DocumentError';
}

/** What is shown of a line: enough to know it by. */
const MAX_SHOWN = 100;

function located(file: string, reason: string, { line, column, text }: Place): string {
  const start = Math.max(0, column - MAX_SHOWN + 20);
  const shown = printable(text.slice(start, start + MAX_SHOWN));
  const margin = `${line}`.replaceAll(/./g, ' ');
  const mark = `${' '.repeat(Math.max(0, column - 1 - start))}^`;
  return `${file}:${line}:${column}: ${printable(reason)}\n  ${line} | ${shown}\n  ${margin} | ${mark}`;
}

/** What a terminal can show, column by column: tabs are many there, and other control characters are commands. */
function printable(text: string): string {
  return text.replaceAll('\t', ' ').replaceAll(/[^\P{Cc}\n]/gu, '\uFFFD');
}
