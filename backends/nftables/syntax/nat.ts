/** `dnat to 10.244.1.2:8080`, `dnat ip addr . port to … map @endpoints`, `masquerade fully-random`. */
import type { Expression, NatFlag, Statement } from './ast.ts';
import { parseConstant } from './elements.ts';
import { parseExpression } from './expression.ts';
import type { Scanner } from './scanner.ts';

type NatType = Extract<Statement, { kind: 'nat' }>['type'];

const NAT_TYPES: readonly NatType[] = ['dnat', 'snat', 'redirect', 'masquerade'];
const NAT_FLAGS: readonly NatFlag[] = ['random', 'fully-random', 'persistent'];

/** Parses a statement that begins with one of the four words. */
export function parseNat(scanner: Scanner): Statement {
  const type = NAT_TYPES.find((name) => scanner.accept(name));
  if (type === undefined) throw scanner.error('dnat, snat, redirect or masquerade');
  skipFamily(scanner);
  let to: Expression | undefined;
  let port: Expression | undefined;
  if (scanner.accept('to')) {
    if (!scanner.is(':')) to = parseTarget(scanner);
    if (scanner.accept(':')) port = parsePort(scanner);
  }
  return {
    kind: 'nat',
    type,
    ...(to === undefined ? {} : { to }),
    ...(port === undefined ? {} : { port }),
    flags: parseFlags(scanner),
  };
}

/** `ip`, `ip addr . port` and so on: a listing leaves out what the target's type says anyway. */
function skipFamily(scanner: Scanner): void {
  if (!scanner.accept('ip')) scanner.accept('ip6');
  scanner.accept('interval');
  if (!scanner.accept('addr')) return;
  scanner.expect('.');
  scanner.expect('port');
}

function parseTarget(scanner: Scanner): Expression {
  if (!scanner.accept('[')) return parseExpression(scanner);
  const address: Expression = { kind: 'value', text: scanner.pool.own(parseConstant(scanner)) };
  scanner.expect(']');
  return address;
}

function parsePort(scanner: Scanner): Expression {
  return scanner.kind === 'number'
    ? { kind: 'value', text: parseConstant(scanner) }
    : parseExpression(scanner);
}

function parseFlags(scanner: Scanner): NatFlag[] {
  const flags: NatFlag[] = [];
  do {
    const flag = NAT_FLAGS.find((name) => scanner.accept(name));
    if (flag === undefined) break;
    flags.push(flag);
  } while (scanner.accept(','));
  return flags.sort();
}
