/** Comparisons: `ip daddr != 10.0.0.0/8`, `tcp dport { 80, 443 }`, `ct state new`. */
import type { Comparison, Expression, Lookup, MatchStatement } from './ast.ts';
import { parseKey } from './elements.ts';
import { parseLookup } from './expression.ts';
import { expressionTypes, FLAG_TYPES } from './fields.ts';
import { typedElements } from './lookup.ts';
import type { Scanner } from './scanner.ts';

const COMPARISONS: ReadonlyMap<string, Comparison> = new Map([
  ['<', '<'],
  ['lt', '<'],
  ['>', '>'],
  ['gt', '>'],
  ['<=', '<='],
  ['le', '<='],
  ['>=', '>='],
  ['ge', '>='],
]);

/** Parses what follows the left side. */
export function parseMatch(scanner: Scanner, left: Expression): MatchStatement {
  const operator = COMPARISONS.get(scanner.value);
  if (operator !== undefined) {
    scanner.advance();
    return { kind: 'compare', left, operator, value: String(scanner.number('a number')) };
  }
  const equals = scanner.accept('==') || scanner.accept('eq');
  const negated = !equals && (scanner.accept('!=') || scanner.accept('ne'));
  const lookup = scanner.is('@') || scanner.is('{');
  if (!lookup && !equals && expressionTypes(left).some((type) => FLAG_TYPES.has(type))) {
    return { kind: 'flags', left, negated, flags: parseFlags(scanner) };
  }
  const masked = lookup ? undefined : parseMasked(scanner, left);
  if (masked) return { kind: 'match', negated, ...masked };
  return {
    kind: 'match',
    left,
    negated,
    right: lookup ? parseLookup(scanner, left) : parseSingle(scanner, left),
  };
}

/** nft prints a mask of a mark's leading bits as if it were a network's: `meta mark != 0x00000000/1`. */
function parseMasked(scanner: Scanner, left: Expression): { left: Expression; right: Lookup } | undefined {
  if (scanner.kind !== 'number' || expressionTypes(left).join() !== 'mark') return undefined;
  const start = scanner.mark();
  const value = scanner.number('a mark');
  if (!scanner.accept('/')) {
    scanner.rewind(start);
    return undefined;
  }
  const length = scanner.number('a number of bits');
  const mask = Number((0xffff_ffffn << BigInt(32 - length)) & 0xffff_ffffn);
  return {
    left: { kind: 'bitwise', of: left, mask, xor: 0 },
    right: { kind: 'elements', elements: [{ key: String(value) }] },
  };
}

function parseSingle(scanner: Scanner, left: Expression): Lookup {
  const start = scanner.mark();
  const element = { key: parseKey(scanner) };
  return { kind: 'elements', elements: typedElements(scanner, start, expressionTypes(left), [element]) };
}

function parseFlags(scanner: Scanner): string[] {
  const flags = new Set([scanner.word('a flag')]);
  while (scanner.accept(',') || scanner.accept('|')) flags.add(scanner.word('a flag'));
  return [...flags].sort();
}
