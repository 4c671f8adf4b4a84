/** What nft refuses in a rule because types do not fit. */
import type { Expression, Rule, Statement } from './ast.ts';
import { expressionTypes } from './fields.ts';
import type { SetDeclaration } from './model.ts';
import { Refusal } from './refusal.ts';
import { expressionText } from './text.ts';

type Declarations = (name: string) => SetDeclaration;

/** Holds the rule's lookups against the declarations of what they look into. */
export function checkTypes(rule: Rule, declarationOf: Declarations): void {
  let protocolKnown = false;
  for (const statement of rule.statements) {
    checkStatement(statement, declarationOf);
    if (statement.kind === 'match') protocolKnown ||= !statement.negated && isProtocol(statement.left);
    if (statement.kind === 'nat' && mapsPort(statement, declarationOf) && !protocolKnown) {
      throw new Refusal('mismatch', 'a port can only be changed after a match of the transport protocol');
    }
  }
}

function isProtocol(expression: Expression): boolean {
  return expression.kind === 'field' && expression.field === 'meta l4proto';
}

function checkStatement(statement: Statement, declarationOf: Declarations): void {
  switch (statement.kind) {
    case 'match':
      if (statement.right.kind === 'named') checkKey(statement.left, statement.right.name, declarationOf);
      return;
    case 'vmap':
      if (statement.map.kind === 'named') checkMap(statement.key, statement.map.name, declarationOf, true);
      return;
    case 'nat':
      for (const expression of [statement.to, statement.port]) {
        if (expression?.kind === 'map' && expression.map.kind === 'named') {
          checkMap(expression.key, expression.map.name, declarationOf, false);
        }
      }
      return;
    case 'set':
      if (statement.value.kind === 'map' && statement.value.map.kind === 'named') {
        checkMap(statement.value.key, statement.value.map.name, declarationOf, false);
      }
      return;
    case 'update':
      checkKey(statement.key, statement.set, declarationOf);
      return;
    case 'flags':
    case 'compare':
    case 'verdict':
    case 'reject':
    case 'log':
      return;
  }
}

function checkKey(key: Expression, name: string, declarationOf: Declarations): void {
  const asked = expressionTypes(key).join(' . ');
  const declared = declarationOf(name).keyTypes.join(' . ');
  if (asked !== '' && asked !== declared) {
    throw new Refusal(
      'mismatch',
      `"${expressionText(key)}" is ${asked}, but the key of ${name} is ${declared}`,
    );
  }
}

function checkMap(key: Expression, name: string, declarationOf: Declarations, verdict: boolean): void {
  const { kind, dataTypes } = declarationOf(name);
  if (kind !== 'map') throw new Refusal('mismatch', `${name} is a set, not a map`);
  if ((dataTypes?.[0] === 'verdict') !== verdict) {
    throw new Refusal('mismatch', `map ${name} does ${verdict ? 'not give' : 'give'} verdicts`);
  }
  checkKey(key, name, declarationOf);
}

function mapsPort({ to, port }: Extract<Statement, { kind: 'nat' }>, declarationOf: Declarations): boolean {
  if (port !== undefined) return true;
  if (to?.kind !== 'map') return false;
  if (to.map.kind === 'named') return (declarationOf(to.map.name).dataTypes?.length ?? 0) > 1;
  return to.map.elements.some(({ value = '' }) => value.includes(' . '));
}
