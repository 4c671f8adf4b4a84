/** The values of expressions, and whether matches hold. */
import type { Comparison, Expression, MatchStatement } from '../../../backends/nftables/syntax/ast.ts';
import { expressionTypes } from '../../../backends/nftables/syntax/fields.ts';
import type { Table } from '../../../backends/nftables/syntax/model.ts';
import { type Flow, type WalkEnvironment, WalkError } from '../flow.ts';
import type { Choose } from './choices.ts';
import { fieldFlags, fieldValue } from './field-values.ts';
import type { Finders } from './lookup.ts';

/** What rules of one table are evaluated against. */
export interface Scope {
  readonly table: Table;
  readonly flow: Flow;
  readonly environment: WalkEnvironment;
  readonly finders: Finders;
  readonly choose: Choose;
}

/**
 * The parts of an expression's value as canonical text. `undefined` when there is none, be it that the packet
 * has no such field or that a map has no such key: the rule is then over, and the next one has its turn.
 */
export function evaluate(scope: Scope, expression: Expression): string[] | undefined {
  switch (expression.kind) {
    case 'field': {
      const value = fieldValue(expression.field, scope.flow, scope.environment);
      return value === undefined ? undefined : [value];
    }
    case 'value':
      return [expression.text];
    case 'concat':
      return concatenated(scope, expression.parts);
    case 'bitwise': {
      const of = evaluate(scope, expression.of);
      return of && [String(((Number(of[0]) & expression.mask) ^ expression.xor) >>> 0)];
    }
    case 'numgen':
      return [String(scope.choose(expression.modulus) + expression.offset)];
    case 'map': {
      const key = evaluate(scope, expression.key);
      const types = expressionTypes(expression.key);
      return key && scope.finders.of(scope.table, expression.map, types)(key)?.split(' . ');
    }
  }
}

function concatenated(scope: Scope, parts: readonly Expression[]): string[] | undefined {
  const values: string[] = [];
  for (const part of parts) {
    const value = evaluate(scope, part);
    if (value === undefined) return undefined;
    values.push(...value);
  }
  return values;
}

/** Whether a match holds for the packet. */
export function holds(scope: Scope, statement: MatchStatement): boolean {
  if (statement.kind === 'flags') {
    const { left, negated, flags } = statement;
    if (left.kind !== 'field') throw new WalkError('flags are only known of fields');
    const present = fieldFlags(left.field, scope.flow);
    return flags.some((flag) => present.includes(flag)) !== negated;
  }
  const left = evaluate(scope, statement.left);
  if (left === undefined) return false;
  if (statement.kind === 'compare') {
    return COMPARISONS[statement.operator](Number(left[0]), Number(statement.value));
  }
  const find = scope.finders.of(scope.table, statement.right, expressionTypes(statement.left));
  return (find(left) !== undefined) !== statement.negated;
}

const COMPARISONS: Readonly<Record<Comparison, (a: number, b: number) => boolean>> = {
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b,
};
