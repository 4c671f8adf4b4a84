/**
 * Whole numbers as Go's flags take them: `strconv.ParseInt` with base 0, which goes by the prefix. What begins with 0
 * is octal, so that `016` is 14.
 * https://pkg.go.dev/strconv#ParseInt
 */

const DIGITS: readonly (readonly [digits: RegExp, base: number])[] = [
  [/^0x((?:_?[0-9a-f])+)$/i, 16],
  [/^0b((?:_?[01])+)$/i, 2],
  [/^0o?((?:_?[0-7])+)$/i, 8],
  [/^(0|[1-9](?:_?[0-9])*)$/, 10],
];

/** `undefined` for what is no whole number, or more than JavaScript counts exactly. */
export function parseGoInteger(text: string): number | undefined {
  const unsigned = text.replace(/^[+-]/, '');
  for (const [digits, base] of DIGITS) {
    const found = digits.exec(unsigned)?.[1];
    if (found === undefined) continue;
    const size = Number.parseInt(found.replaceAll('_', ''), base);
    if (!Number.isSafeInteger(size)) return undefined;
    return size === 0 ? 0 : size * (text.startsWith('-') ? -1 : 1);
  }
  return undefined;
}
