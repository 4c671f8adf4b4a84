/**
 * Expressions: what of a packet is looked at, and what is made of it. Binding, loosest first, as in nft's
 * `src/parser_bison.y`: `map`, `.`, `|`, `^`, `&`.
 */
import type { Expression, Lookup } from './ast.ts';
import { parseConstant, parseElements } from './elements.ts';
import { BARE_META_KEYS, expressionTypes, FIELD_WORDS, fieldType } from './fields.ts';
import { typedElements } from './lookup.ts';
import type { Scanner } from './scanner.ts';

/** Parses an expression, with the map it is looked up in if one follows. */
export function parseExpression(scanner: Scanner): Expression {
  const key = parseConcatenation(scanner);
  if (!scanner.accept('map')) return key;
  return { kind: 'map', key, map: parseLookup(scanner, key) };
}

/** Parses `@name` or `{ … }`, which the value of `key` is looked up in. */
export function parseLookup(scanner: Scanner, key: Expression): Lookup {
  if (scanner.accept('@')) return { kind: 'named', name: scanner.word('the name of a set or map') };
  if (!scanner.is('{')) throw scanner.error('"@" and a name, or "{"');
  const start = scanner.mark();
  return {
    kind: 'elements',
    elements: typedElements(scanner, start, expressionTypes(key), parseElements(scanner)),
  };
}

/** Parses an expression without a map behind it. */
export function parseConcatenation(scanner: Scanner): Expression {
  const first = parseBitwise(scanner, OPERATORS.length - 1);
  if (!scanner.is('.')) return first;
  const parts = [first];
  while (scanner.accept('.')) parts.push(parseBitwise(scanner, OPERATORS.length - 1));
  return { kind: 'concat', parts };
}

interface Operator {
  readonly signs: readonly [string, string];
  /** The operation with a constant, as `(x & mask) ^ xor`. */
  form(constant: number): { readonly mask: number; readonly xor: number };
}

const ALL_BITS = 0xffff_ffff;

/** Tightest first. */
const OPERATORS: readonly Operator[] = [
  { signs: ['&', 'and'], form: (constant) => ({ mask: constant, xor: 0 }) },
  { signs: ['^', 'xor'], form: (constant) => ({ mask: ALL_BITS, xor: constant }) },
  { signs: ['|', 'or'], form: (constant) => ({ mask: (~constant & ALL_BITS) >>> 0, xor: constant }) },
];

function parseBitwise(scanner: Scanner, level: number): Expression {
  const operator = OPERATORS[level];
  if (operator === undefined) return parsePrimary(scanner);
  let left = parseBitwise(scanner, level - 1);
  while (operator.signs.some((sign) => scanner.is(sign))) {
    scanner.advance();
    const start = scanner.mark();
    const constant = constantOf(parseBitwise(scanner, level - 1));
    if (constant === undefined) {
      scanner.rewind(start);
      throw scanner.error('a number');
    }
    left = applied(left, operator.form(constant));
  }
  return left;
}

function constantOf(expression: Expression): number | undefined {
  return expression.kind === 'value' && /^\d+$/.test(expression.text) ? Number(expression.text) : undefined;
}

function applied(
  left: Expression,
  { mask, xor }: { readonly mask: number; readonly xor: number },
): Expression {
  const constant = constantOf(left);
  if (constant !== undefined) return { kind: 'value', text: String(((constant & mask) ^ xor) >>> 0) };
  const inner = left.kind === 'bitwise' ? left : { of: left, mask: ALL_BITS, xor: 0 };
  return {
    kind: 'bitwise',
    of: inner.of,
    mask: (inner.mask & mask) >>> 0,
    xor: ((inner.xor & mask) ^ xor) >>> 0,
  };
}

function parsePrimary(scanner: Scanner): Expression {
  if (scanner.accept('(')) {
    const inner = parseBitwise(scanner, OPERATORS.length - 1);
    scanner.expect(')');
    return inner;
  }
  if (scanner.is('numgen')) return parseNumgen(scanner);
  if (scanner.kind === 'word' && FIELD_WORDS.has(scanner.value)) return parseField(scanner);
  if (scanner.kind === 'address' || scanner.kind === 'number') {
    return { kind: 'value', text: scanner.pool.own(parseConstant(scanner)) };
  }
  throw scanner.error('an expression such as "ip daddr"');
}

function parseNumgen(scanner: Scanner): Expression {
  scanner.expect('numgen');
  const mode = scanner.is('inc') ? 'inc' : 'random';
  scanner.expect(mode);
  scanner.expect('mod');
  const modulus = scanner.number('how many numbers to draw from');
  const offset = scanner.accept('offset') ? scanner.number('the number to begin with') : 0;
  return { kind: 'numgen', mode, modulus, offset };
}

function parseField(scanner: Scanner): Expression {
  const start = scanner.mark();
  const first = scanner.word('a field');
  const field = fieldName(scanner, first);
  if (fieldType(field) === undefined) {
    scanner.rewind(start);
    throw scanner.error(`a field that is understood here rather than "${field}"`);
  }
  return { kind: 'field', field: scanner.pool.own(field) };
}

function fieldName(scanner: Scanner, first: string): string {
  if (BARE_META_KEYS.has(first)) return `meta ${first}`;
  const second = scanner.word(`a field of "${first}"`);
  if (first === 'fib') return `fib ${second} ${scanner.word('"type"')}`;
  if (first !== 'ct' || second !== 'original') return `${first} ${second}`;
  const third = scanner.word('a field of the original direction');
  if (third !== 'ip' && third !== 'ip6') return `ct original ${third}`;
  return `ct original ${third} ${scanner.word('"saddr" or "daddr"')}`;
}
