/** Declarations of chains: hook, priority, policy, and in a table's block the rules. */
import type { Rule } from './ast.ts';
import { parseComment } from './elements.ts';
import type { BaseChain, Chain, ChainType, Hook } from './model.ts';
import { parseListedRule, parseRule } from './rule.ts';
import type { Scanner } from './scanner.ts';
import { skipSeparators } from './set-declaration.ts';
import type { Origin } from './table-block.ts';

const TYPES: readonly ChainType[] = ['filter', 'nat', 'route'];
const HOOKS: readonly Hook[] = [
  'prerouting',
  'input',
  'forward',
  'output',
  'postrouting',
  'ingress',
  'egress',
];
const PRIORITIES: ReadonlyMap<string, number> = new Map([
  ['raw', -300],
  ['mangle', -150],
  ['dstnat', -100],
  ['filter', 0],
  ['security', 50],
  ['srcnat', 100],
]);

/** Parses `{ type nat hook output priority -100 ; policy accept ; comment "…" ; rules }`. */
export function parseChainBlock(scanner: Scanner, origin: Origin): Chain {
  let base: BaseChain | undefined;
  let policy: BaseChain['policy'] = 'accept';
  let comment: string | undefined;
  const rules: Rule[] = [];
  scanner.expect('{');
  skipSeparators(scanner);
  while (!scanner.is('}')) {
    if (scanner.accept('type')) base = parseHook(scanner);
    else if (scanner.accept('policy')) policy = parsePolicy(scanner);
    else if (scanner.accept('comment')) comment = parseComment(scanner);
    else rules.push(origin === 'listing' ? parseListedRule(scanner) : parseRule(scanner));
    if (!scanner.atEnd) throw scanner.error('the end of the clause');
    if (scanner.kind === 'end') throw scanner.error('"}" at the end of the chain');
    skipSeparators(scanner);
  }
  scanner.expect('}');
  return {
    ...(base === undefined ? {} : { base: { ...base, policy } }),
    ...(comment === undefined ? {} : { comment }),
    rules,
  };
}

function parseHook(scanner: Scanner): BaseChain {
  const type = oneOf(scanner, TYPES, 'a chain type');
  scanner.expect('hook');
  const hook = oneOf(scanner, HOOKS, 'a hook');
  if (scanner.accept('device')) scanner.advance();
  scanner.expect('priority');
  return { type, hook, priority: parsePriority(scanner), policy: 'accept' };
}

/** `-100`, `filter`, `dstnat - 10`. */
function parsePriority(scanner: Scanner): number {
  if (scanner.kind !== 'word') return parseSigned(scanner);
  const base = PRIORITIES.get(scanner.value);
  if (base === undefined) throw scanner.error(`a number, or one of ${[...PRIORITIES.keys()].join(', ')}`);
  scanner.advance();
  return scanner.atEnd ? base : base + parseSigned(scanner);
}

function parseSigned(scanner: Scanner): number {
  const negative = scanner.accept('-');
  if (!negative) scanner.accept('+');
  const value = scanner.number('a priority');
  return negative ? -value : value;
}

function parsePolicy(scanner: Scanner): BaseChain['policy'] {
  return oneOf(scanner, ['accept', 'drop'], 'a policy');
}

function oneOf<Word extends string>(scanner: Scanner, words: readonly Word[], what: string): Word {
  const word = words.find((candidate) => scanner.accept(candidate));
  if (word === undefined) throw scanner.error(`${what}: ${words.join(', ')}`);
  return word;
}
