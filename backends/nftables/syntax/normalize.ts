/**
 * One form for rules that mean the same. nft does not print a rule as it was written: `meta l4proto tcp th
 * dport 80` comes back as `tcp dport 80`, neighbouring matches may change places, and so on.
 */

import { compareText } from '../../../src/net/ip.ts';
import type { Expression, Lookup, MatchStatement, Statement } from './ast.ts';
import { transportField } from './fields.ts';
import { statementText } from './text.ts';

/**
 * The normal form: `tcp dport` is a match of the protocol and `th dport`; protocols are asked for as
 * `meta l4proto`, and not again once one is known; matches that stand together are in one order.
 */
export function normalize(statements: readonly Statement[]): Statement[] {
  const result: Statement[] = [];
  let run: MatchStatement[] = [];
  let known: string | undefined;
  const match = (statement: MatchStatement): void => {
    const protocol = protocolOf(statement);
    if (protocol !== undefined && protocol === known) return;
    run.push(statement);
    known ??= protocol;
  };
  for (const written of statements) {
    const implied = new Set<string>();
    const statement = generalized(written, implied);
    for (const protocol of implied) match(protocolMatch(protocol));
    if (isMatch(statement)) {
      match(statement);
    } else {
      result.push(...inOrder(run), statement);
      run = [];
    }
  }
  result.push(...inOrder(run));
  return result;
}

function isMatch(statement: Statement): statement is MatchStatement {
  return statement.kind === 'match' || statement.kind === 'flags' || statement.kind === 'compare';
}

/** By their text. None is left out for being there twice: two draws of a number are two draws. */
function inOrder(run: MatchStatement[]): MatchStatement[] {
  if (run.length < 2) return run;
  return run
    .map((statement) => ({ statement, text: statementText(statement) }))
    .sort((a, b) => compareText(a.text, b.text))
    .map(({ statement }) => statement);
}

function protocolMatch(protocol: string): MatchStatement {
  return {
    kind: 'match',
    left: { kind: 'field', field: L4PROTO },
    negated: false,
    right: { kind: 'elements', elements: [{ key: protocol }] },
  };
}

const L4PROTO = 'meta l4proto';

/** Other names for the same thing, where there are no IPv6 extension headers; nft itself treats them so. */
const PROTOCOL_FIELDS: ReadonlySet<string> = new Set(['ip protocol', 'ip6 nexthdr']);

/** The one protocol that a match leaves; `undefined` for any other match. */
function protocolOf(statement: MatchStatement): string | undefined {
  if (statement.kind !== 'match' || statement.negated || statement.right.kind !== 'elements')
    return undefined;
  if (statement.left.kind !== 'field' || statement.left.field !== L4PROTO) return undefined;
  const [only, ...others] = statement.right.elements;
  return others.length === 0 ? only?.key : undefined;
}

/** The statement with general fields in place of those of one protocol, which are added to `implied`. */
function generalized(statement: Statement, implied: Set<string>): Statement {
  const of = (expression: Expression): Expression => generalizedExpression(expression, implied);
  switch (statement.kind) {
    case 'match':
    case 'flags':
    case 'compare':
      return { ...statement, left: of(statement.left) };
    case 'vmap':
      return { ...statement, key: of(statement.key) };
    case 'nat': {
      const { to, port, ...rest } = statement;
      return {
        ...rest,
        ...(to === undefined ? {} : { to: of(to) }),
        ...(port === undefined ? {} : { port: of(port) }),
      };
    }
    case 'set':
      return { ...statement, value: of(statement.value) };
    case 'update': {
      const { value, ...rest } = statement;
      return { ...rest, key: of(rest.key), ...(value === undefined ? {} : { value: of(value) }) };
    }
    case 'reject':
      if (statement.with?.startsWith('tcp ')) implied.add('tcp');
      return statement;
    case 'verdict':
    case 'log':
      return statement;
  }
}

function generalizedExpression(expression: Expression, implied: Set<string>): Expression {
  switch (expression.kind) {
    case 'field': {
      if (PROTOCOL_FIELDS.has(expression.field)) return { kind: 'field', field: L4PROTO };
      const { field, protocol } = transportField(expression.field);
      if (protocol !== undefined) implied.add(protocol);
      return { kind: 'field', field };
    }
    case 'concat':
      return { kind: 'concat', parts: expression.parts.map((part) => generalizedExpression(part, implied)) };
    case 'bitwise':
      return { ...expression, of: generalizedExpression(expression.of, implied) };
    case 'map':
      return { ...expression, key: generalizedExpression(expression.key, implied) };
    case 'value':
    case 'numgen':
      return expression;
  }
}

/** The sets and maps that a statement looks something up in, or writes to. */
export function lookupsOf(statement: Statement): Lookup[] {
  switch (statement.kind) {
    case 'match':
      return [...lookupsIn(statement.left), statement.right];
    case 'flags':
    case 'compare':
      return lookupsIn(statement.left);
    case 'vmap':
      return [...lookupsIn(statement.key), statement.map];
    case 'nat':
      return [...lookupsIn(statement.to), ...lookupsIn(statement.port)];
    case 'set':
      return lookupsIn(statement.value);
    case 'update':
      return [{ kind: 'named', name: statement.set }];
    case 'verdict':
    case 'reject':
    case 'log':
      return [];
  }
}

function lookupsIn(expression: Expression | undefined): Lookup[] {
  switch (expression?.kind) {
    case 'map':
      return [...lookupsIn(expression.key), expression.map];
    case 'concat':
      return expression.parts.flatMap(lookupsIn);
    case 'bitwise':
      return lookupsIn(expression.of);
    case 'field':
    case 'value':
    case 'numgen':
    case undefined:
      return [];
  }
}
