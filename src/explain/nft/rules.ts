/** Following a packet through the rules of a chain, and the chains these lead to. */
import type { Rule, Statement } from '../../../backends/nftables/syntax/ast.ts';
import { verdictTarget } from '../../../backends/nftables/syntax/elements.ts';
import { expressionTypes } from '../../../backends/nftables/syntax/fields.ts';
import { WalkError } from '../flow.ts';
import { evaluate, holds, type Scope } from './evaluate.ts';
import { translate } from './translate.ts';

/** What became of the packet; `undefined`: the chain has nothing more to say, and the calling one goes on. */
export type ChainResult = 'accept' | 'drop' | 'reject' | undefined;

/** The kernel's `NFT_JUMP_STACK_SIZE` bounds jumps; rules that go round in circles are bounded here. */
const MAX_DEPTH = 64;

/** Runs a chain from its first rule. */
export function runChain(scope: Scope, name: string, label: string, depth = 0): ChainResult {
  if (depth > MAX_DEPTH) throw new WalkError(`chains lead in a circle, or too deep, at ${name}`);
  const chain = scope.table.chains.get(name);
  if (chain === undefined)
    throw new WalkError(`there is no chain ${name} in table ${scope.table.family} ${scope.table.name}`);
  for (const rule of chain.rules) {
    const verdict = runRule(scope, rule, `${label}${name}`);
    if (verdict === undefined) continue;
    if (verdict === 'accept' || verdict === 'drop' || verdict === 'reject') return verdict;
    if (verdict === 'return') return undefined;
    const target = verdictTarget(verdict);
    if (target === undefined) throw new WalkError(`the verdict "${verdict}" is not known`);
    const result = runChain(scope, target, label, depth + 1);
    // What a chain that was gone to leaves undecided goes back to where the last jump came from.
    if (result !== undefined || verdict.startsWith('goto ')) return result;
  }
  return undefined;
}

/** The rule's verdict, `goto x` and the like included; `undefined` when it does not hold or gives none. */
function runRule(scope: Scope, rule: Rule, where: string): string | undefined {
  const { trace } = scope.flow;
  if (rule.problem !== undefined) {
    if (scope.environment.unread !== 'pass-over') {
      throw new WalkError(`${where}: cannot follow the rule "${rule.text}": ${rule.problem}`);
    }
    trace.push(`${where}: not understood and passed over: ${rule.text}`);
    return undefined;
  }
  const notes: string[] = [];
  for (const statement of rule.statements) {
    const result = run(scope, statement);
    if (result === 'break') return undefined;
    if (result.note !== undefined) notes.push(result.note);
    if (result.verdict !== undefined && result.verdict !== 'continue') {
      trace.push(traceLine(where, rule, notes));
      return result.verdict;
    }
  }
  trace.push(traceLine(where, rule, notes));
  return undefined;
}

function traceLine(where: string, rule: Rule, notes: readonly string[]): string {
  return `${where}: ${rule.text}${notes.map((note) => ` → ${note}`).join('')}`;
}

/** `note` says what came of it, where the rule's text alone does not. */
interface Done {
  readonly verdict?: string;
  readonly note?: string;
}

/** Carries a statement out; `break` when the rule ends with it. */
function run(scope: Scope, statement: Statement): Done | 'break' {
  switch (statement.kind) {
    case 'match':
    case 'flags':
    case 'compare':
      return holds(scope, statement) ? {} : 'break';
    case 'verdict':
      return { verdict: statement.verdict };
    case 'vmap': {
      const key = evaluate(scope, statement.key);
      const types = expressionTypes(statement.key);
      const verdict = key && scope.finders.of(scope.table, statement.map, types)(key);
      return verdict === undefined ? 'break' : { verdict, note: verdict };
    }
    case 'nat': {
      const note = translate(scope, statement);
      return note === undefined ? 'break' : { verdict: 'accept', note };
    }
    case 'reject':
      return { verdict: 'reject' };
    case 'set':
      return setField(scope, statement);
    case 'update':
      return update(scope, statement);
    case 'log':
      return {};
  }
}

function setField(
  { flow, ...rest }: Scope,
  { field, value }: Extract<Statement, { kind: 'set' }>,
): Done | 'break' {
  const result = evaluate({ flow, ...rest }, value);
  if (result === undefined) return 'break';
  const number = Number(result[0]);
  if (field === 'ct mark') flow.connectionMark = number;
  else flow.mark = number;
  return {};
}

function update(scope: Scope, statement: Extract<Statement, { kind: 'update' }>): Done | 'break' {
  const { operation, set, key, value } = statement;
  const keyParts = evaluate(scope, key);
  const data = value === undefined ? [] : evaluate(scope, value);
  if (keyParts === undefined || data === undefined) return 'break';
  scope.flow.updates.push({
    operation,
    set,
    key: keyParts.join(' . '),
    ...(value === undefined ? {} : { value: data.join(' . ') }),
  });
  return {};
}
