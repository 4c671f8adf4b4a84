/** Statements: matches and what a rule does. Each kind has its own parser, found by its first word. */
import type { Statement } from './ast.ts';
import { parseTime, parseVerdict, skipCounter } from './elements.ts';
import { parseConcatenation, parseExpression, parseLookup } from './expression.ts';
import { parseMatch } from './match.ts';
import { parseNat } from './nat.ts';
import type { Scanner } from './scanner.ts';

/** Parses one statement; `undefined` for one that says nothing about a packet's way, such as `counter`. */
export function parseStatement(scanner: Scanner): Statement | undefined {
  if (scanner.kind === 'word') {
    const parse = PARSERS.get(scanner.value);
    if (parse !== undefined) return parse(scanner);
    const verdict = parseVerdict(scanner);
    if (verdict !== undefined) return { kind: 'verdict', verdict };
  }
  return parseExpressionStatement(scanner);
}

const PARSERS = new Map<string, (scanner: Scanner) => Statement | undefined>([
  ['counter', parseCounter],
  ['log', parseLog],
  ['dnat', parseNat],
  ['snat', parseNat],
  ['redirect', parseNat],
  ['masquerade', parseNat],
  ['reject', parseReject],
  ['add', parseUpdate],
  ['update', parseUpdate],
  ['delete', parseUpdate],
]);

function parseExpressionStatement(scanner: Scanner): Statement {
  const left = parseConcatenation(scanner);
  if (scanner.accept('vmap')) return { kind: 'vmap', key: left, map: parseLookup(scanner, left) };
  if (!scanner.is('set')) return parseMatch(scanner, left);
  if (left.kind !== 'field' || !WRITABLE.has(left.field)) {
    throw scanner.error("a comparison; only the packet's mark and the connection's can be set");
  }
  scanner.advance();
  return { kind: 'set', field: left.field, value: parseExpression(scanner) };
}

const WRITABLE: ReadonlySet<string> = new Set(['meta mark', 'ct mark']);

function parseCounter(scanner: Scanner): undefined {
  skipCounter(scanner);
  return undefined;
}

function parseLog(scanner: Scanner): Statement {
  scanner.expect('log');
  let prefix: string | undefined;
  for (;;) {
    if (scanner.accept('prefix')) prefix = scanner.string('a prefix in quotes');
    else if (scanner.accept('level')) scanner.word('a level');
    else if (scanner.accept('group')) scanner.number('a group');
    else break;
  }
  return prefix === undefined ? { kind: 'log' } : { kind: 'log', prefix };
}

/** What `reject` alone means, in either family. */
const PORT_UNREACHABLE: ReadonlySet<string> = new Set(['icmp port-unreachable', 'icmpv6 port-unreachable']);

function parseReject(scanner: Scanner): Statement {
  scanner.expect('reject');
  if (!scanner.accept('with')) return { kind: 'reject' };
  const protocol = scanner.word('"tcp", "icmp", "icmpv6" or "icmpx"');
  scanner.accept('type');
  const reason = `${protocol} ${scanner.word('a reason')}`;
  return PORT_UNREACHABLE.has(reason) ? { kind: 'reject' } : { kind: 'reject', with: reason };
}

function parseUpdate(scanner: Scanner): Statement {
  const operation = scanner.is('add') ? 'add' : scanner.is('update') ? 'update' : 'delete';
  scanner.expect(operation);
  scanner.expect('@');
  const set = scanner.word('the name of a set or map');
  scanner.expect('{');
  const key = parseConcatenation(scanner);
  const timeout = scanner.accept('timeout') ? parseTime(scanner) : undefined;
  const value = scanner.accept(':') ? parseConcatenation(scanner) : undefined;
  scanner.expect('}');
  return {
    kind: 'update',
    operation,
    set,
    key,
    ...(value === undefined ? {} : { value }),
    ...(timeout === undefined ? {} : { timeout }),
  };
}
