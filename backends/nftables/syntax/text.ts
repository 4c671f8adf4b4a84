/** Rules in normal form as text: to be read by people, and to put statements in order by. */
import type { Expression, Lookup, Statement } from './ast.ts';
import { durationText } from './duration.ts';
import { elementText } from './elements.ts';
import { expressionTypes, FLAG_TYPES } from './fields.ts';

/** The statements of a rule. */
export function statementsText(statements: readonly Statement[]): string {
  return statements.map(statementText).join(' ');
}

/** One statement. Equal statements have equal texts. */
export function statementText(statement: Statement): string {
  switch (statement.kind) {
    case 'match':
      return `${expressionText(statement.left)} ${statement.negated ? '!= ' : ''}${matchedText(statement.left, statement.right)}`;
    case 'flags':
      return `${expressionText(statement.left)} ${statement.negated ? '!= ' : ''}${statement.flags.join(',')}`;
    case 'compare':
      return `${expressionText(statement.left)} ${statement.operator} ${statement.value}`;
    case 'verdict':
      return statement.verdict;
    case 'vmap':
      return `${expressionText(statement.key)} vmap ${lookupText(statement.map)}`;
    case 'nat':
      return natText(statement);
    case 'set':
      return `${statement.field} set ${expressionText(statement.value)}`;
    case 'reject':
      return statement.with === undefined ? 'reject' : `reject with ${statement.with}`;
    case 'update':
      return updateText(statement);
    case 'log':
      return statement.prefix === undefined ? 'log' : `log prefix "${statement.prefix}"`;
  }
}

/** One expression. */
export function expressionText(expression: Expression): string {
  switch (expression.kind) {
    case 'field':
      return expression.field;
    case 'value':
      return expression.text;
    case 'concat':
      return expression.parts.map(expressionText).join(' . ');
    case 'bitwise':
      return bitwiseText(expressionText(expression.of), expression.mask, expression.xor);
    case 'numgen': {
      const { mode, modulus, offset } = expression;
      return `numgen ${mode} mod ${modulus}${offset === 0 ? '' : ` offset ${offset}`}`;
    }
    case 'map':
      return `${expressionText(expression.key)} map ${lookupText(expression.map)}`;
  }
}

function bitwiseText(of: string, mask: number, xor: number): string {
  if ((mask ^ xor) >>> 0 === ALL_BITS && (mask & xor) === 0) return `${of} or ${hex(xor)}`;
  const masked = mask === ALL_BITS ? of : `${of} and ${hex(mask)}`;
  return xor === 0 ? masked : `${masked} xor ${hex(xor)}`;
}

const ALL_BITS = 0xffff_ffff;

function hex(value: number): string {
  return `0x${value.toString(16).padStart(8, '0')}`;
}

function matchedText(left: Expression, right: Lookup): string {
  const [only, ...others] = right.kind === 'elements' ? right.elements : [];
  const [type = '', ...further] = expressionTypes(left);
  if (only === undefined || others.length > 0 || further.length > 0 || FLAG_TYPES.has(type))
    return lookupText(right);
  return NAMED.has(type) ? `"${only.key}"` : only.key;
}

const NAMED: ReadonlySet<string> = new Set(['ifname', 'iface_index']);

function lookupText(lookup: Lookup): string {
  if (lookup.kind === 'named') return `@${lookup.name}`;
  return `{ ${lookup.elements.map(elementText).join(', ')} }`;
}

function natText({ type, to, port, flags }: Extract<Statement, { kind: 'nat' }>): string {
  const address = to === undefined ? '' : expressionText(to);
  const bracketed =
    port !== undefined && to?.kind === 'value' && address.includes(':') ? `[${address}]` : address;
  const target = `${bracketed}${port === undefined ? '' : `:${expressionText(port)}`}`;
  return [
    type,
    ...(target === '' ? [] : [`to ${target}`]),
    ...(flags.length === 0 ? [] : [flags.join(',')]),
  ].join(' ');
}

function updateText({ operation, set, key, value, timeout }: Extract<Statement, { kind: 'update' }>): string {
  const time = timeout === undefined ? '' : ` timeout ${durationText(timeout)}`;
  const data = value === undefined ? '' : ` : ${expressionText(value)}`;
  return `${operation} @${set} { ${expressionText(key)}${time}${data} }`;
}
