/** Rules: statements, then a comment. */
import { isDeepStrictEqual } from 'node:util';
import type { Rule, Statement } from './ast.ts';
import { parseComment } from './elements.ts';
import { NftSyntaxError } from './error.ts';
import { normalize } from './normalize.ts';
import { type Mark, Scanner } from './scanner.ts';
import { parseStatement } from './statement.ts';

/**
 * Reads the text of one rule, without its `add rule …`.
 *
 * @throws NftSyntaxError
 */
export function readRule(text: string): Rule {
  const scanner = new Scanner(text);
  const rule = parseRule(scanner);
  scanner.skipNewlines();
  if (scanner.kind !== 'end') throw scanner.error('the end of the rule');
  return rule;
}

/** Parses one rule, which ends with its line, at a semicolon or before a closing brace. */
export function parseRule(scanner: Scanner): Rule {
  const start = scanner.start;
  const statements: Statement[] = [];
  let comment: string | undefined;
  let terminated = false;
  while (!scanner.atEnd) {
    if (scanner.accept('comment')) {
      comment = parseComment(scanner);
      if (!scanner.atEnd) throw scanner.error('the end of the rule after its comment');
      break;
    }
    if (terminated) throw scanner.error('the end of the rule: nothing after its verdict has any effect');
    const statement = parseStatement(scanner);
    if (statement !== undefined) statements.push(statement);
    terminated = statement !== undefined && isTerminal(statement);
  }
  if (scanner.previousEnd <= start) throw scanner.error('a rule');
  return finished(scanner, start, {
    statements: normalize(statements),
    ...(comment === undefined ? {} : { comment }),
  });
}

/** As `parseRule`, but what cannot be read becomes a rule with a `problem`: in a listing, others may have added it. */
export function parseListedRule(scanner: Scanner): Rule {
  const start = scanner.mark();
  try {
    return parseRule(scanner);
  } catch (error) {
    if (!(error instanceof NftSyntaxError)) throw error;
    return skipRule(scanner, start, error.message);
  }
}

function skipRule(scanner: Scanner, start: Mark, problem: string): Rule {
  scanner.rewind(start);
  scanner.skipToEnd();
  return finished(scanner, start.start, { statements: [], problem });
}

function finished(scanner: Scanner, start: number, rule: Omit<Rule, 'text' | 'handle'>): Rule {
  const handle = HANDLE.exec(scanner.comment)?.[1];
  const text = scanner.pool.own(scanner.text.slice(start, scanner.previousEnd).trimEnd());
  return { ...rule, text, ...(handle === undefined ? {} : { handle: Number(handle) }) };
}

/** What `nft -a` writes behind a rule. */
const HANDLE = /^handle (\d+)$/;

function isTerminal(statement: Statement): boolean {
  if (statement.kind === 'verdict') return statement.verdict !== 'continue';
  return statement.kind === 'nat' || statement.kind === 'reject';
}

/**
 * Whether two rules say the same, comments included. Rules that could not be read are the same when their
 * texts are.
 */
export function sameRule(a: Rule, b: Rule): boolean {
  if (a.problem !== undefined || b.problem !== undefined) return a.text === b.text;
  return a.comment === b.comment && isDeepStrictEqual(a.statements, b.statements);
}
