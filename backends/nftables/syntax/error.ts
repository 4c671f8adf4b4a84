/** Text that is not nft, or not the part of nft that is read here. Lines and columns count from 1. */
export class NftSyntaxError extends Error {
  override readonly name = 'NftSyntaxError';
  readonly line: number;
  readonly column: number;
  /** What would have been right: `a chain name`, `"}"`. */
  readonly expected: string;
  /** What stood there: `"foo"`, `the end of the line`. */
  readonly found: string;

  constructor(line: number, column: number, expected: string, found: string) {
    super(`line ${line}, column ${column}: expected ${expected}, found ${found}`);
    this.line = line;
    this.column = column;
    this.expected = expected;
    this.found = found;
  }
}

/** A `NftSyntaxError` for a place in a text, given as an offset. */
export function syntaxError(text: string, offset: number, expected: string, found: string): NftSyntaxError {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return new NftSyntaxError(lineOf(text, offset), before.length - lineStart + 1, expected, found);
}

function lineOf(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}
