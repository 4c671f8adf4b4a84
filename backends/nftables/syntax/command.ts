/** Scripts as `nft -f` takes them, command by command. */
import type { Element, Rule, TableFamily } from './ast.ts';
import { parseChainBlock } from './chain-declaration.ts';
import { parseElements } from './elements.ts';
import type { Chain, NamedSet, SetKind, Table } from './model.ts';
import { parseRule } from './rule.ts';
import { Scanner } from './scanner.ts';
import { parseSetBlock, skipSeparators } from './set-declaration.ts';
import { parseFamily, parseTable } from './table-block.ts';

/** `create` objects to what is there, `destroy` does not mind what is not. */
export type ObjectVerb = 'add' | 'create' | 'delete' | 'destroy' | 'flush';
export type ElementVerb = Exclude<ObjectVerb, 'flush'>;
export type RuleVerb = 'add' | 'insert' | 'replace' | 'delete';
type Verb = ObjectVerb | RuleVerb;

interface At<AnyVerb extends Verb> {
  readonly verb: AnyVerb;
  /** From 1. */
  readonly line: number;
}

interface Place {
  readonly family: TableFamily;
  readonly table: string;
}

export interface TableCommand extends At<ObjectVerb> {
  readonly object: 'table';
  /** With the contents of its block, if it has one. */
  readonly table: Table;
}

export interface ChainCommand extends At<ObjectVerb>, Place {
  readonly object: 'chain';
  readonly name: string;
  readonly chain: Chain;
}

export interface SetCommand extends At<ObjectVerb>, Place {
  readonly object: 'set';
  readonly kind: SetKind;
  readonly name: string;
  /** The declaration, when something is added. */
  readonly set?: NamedSet;
}

export interface ElementCommand extends At<ElementVerb>, Place {
  readonly object: 'element';
  readonly set: string;
  readonly elements: readonly Element[];
}

export interface RuleCommand extends At<RuleVerb>, Place {
  readonly object: 'rule';
  readonly chain: string;
  readonly rule?: Rule;
  /** The rule that is meant, or beside which the new one goes. */
  readonly handle?: number;
  /** The same by its number in the chain, from 0. */
  readonly index?: number;
}

export interface RulesetCommand extends At<'flush'> {
  readonly object: 'ruleset';
}

export type Command =
  | TableCommand
  | ChainCommand
  | SetCommand
  | ElementCommand
  | RuleCommand
  | RulesetCommand;

/**
 * Reads a script: `add`, `create`, `insert`, `replace`, `delete`, `destroy` and `flush` commands, and tables in
 * block form.
 *
 * @throws NftSyntaxError naming line, column and what was expected.
 */
export function* parseScript(text: string): Generator<Command, void, void> {
  const scanner = new Scanner(text);
  skipSeparators(scanner);
  while (scanner.kind !== 'end') {
    yield parseCommand(scanner);
    if (!scanner.atEnd || scanner.is('}')) throw scanner.error('the end of the command');
    skipSeparators(scanner);
  }
}

const VERBS: readonly Verb[] = ['add', 'create', 'insert', 'replace', 'delete', 'destroy', 'flush'];

function parseCommand(scanner: Scanner): Command {
  const { line } = scanner;
  const verb = VERBS.find((word) => scanner.accept(word)) ?? 'add';
  const parse = scanner.kind === 'word' ? OBJECTS.get(scanner.value) : undefined;
  if (parse === undefined) throw scanner.error(`something to ${verb}`);
  return parse(scanner, verb, line);
}

type ObjectParser = (scanner: Scanner, verb: Verb, line: number) => Command;

/** A parser of commands on one kind of object, which knows these verbs. */
function object<AnyVerb extends Verb>(
  verbs: readonly AnyVerb[],
  parse: (scanner: Scanner, at: At<AnyVerb>) => Command,
): ObjectParser {
  return (scanner, verb, line) => {
    const known = verbs.find((one) => one === verb);
    if (known === undefined) throw scanner.error(`something to ${verb}`);
    scanner.advance();
    return parse(scanner, { verb: known, line });
  };
}

const OBJECT_VERBS: readonly ObjectVerb[] = ['add', 'create', 'delete', 'destroy', 'flush'];
const ELEMENT_VERBS: readonly ElementVerb[] = ['add', 'create', 'delete', 'destroy'];
const RULE_VERBS: readonly RuleVerb[] = ['add', 'insert', 'replace', 'delete'];

const OBJECTS = new Map<string, ObjectParser>([
  ['table', object(OBJECT_VERBS, tableCommand)],
  ['chain', object(OBJECT_VERBS, chainCommand)],
  ['set', object(OBJECT_VERBS, (scanner, at) => setCommand(scanner, at, 'set'))],
  ['map', object(OBJECT_VERBS, (scanner, at) => setCommand(scanner, at, 'map'))],
  ['element', object(ELEMENT_VERBS, elementCommand)],
  ['rule', object(RULE_VERBS, ruleCommand)],
  ['ruleset', object(['flush'], rulesetCommand)],
]);

function rulesetCommand(_: Scanner, at: At<'flush'>): RulesetCommand {
  return { ...at, object: 'ruleset' };
}

function tableCommand(scanner: Scanner, at: At<ObjectVerb>): TableCommand {
  return { ...at, object: 'table', table: parseTable(scanner, 'script') };
}

function parsePlace(scanner: Scanner): Place {
  return { family: parseFamily(scanner), table: scanner.word('a table name') };
}

function chainCommand(scanner: Scanner, at: At<ObjectVerb>): ChainCommand {
  const place = parsePlace(scanner);
  const name = scanner.word('a chain name');
  const chain = isAdding(at) && scanner.is('{') ? parseChainBlock(scanner, 'script') : { rules: [] };
  return { ...at, ...place, object: 'chain', name, chain };
}

function setCommand(scanner: Scanner, at: At<ObjectVerb>, kind: SetKind): SetCommand {
  const place = parsePlace(scanner);
  const name = scanner.word(`the name of a ${kind}`);
  const command: SetCommand = { ...at, ...place, object: 'set', kind, name };
  return isAdding(at) ? { ...command, set: parseSetBlock(scanner, kind) } : command;
}

function isAdding({ verb }: At<ObjectVerb>): boolean {
  return verb === 'add' || verb === 'create';
}

function elementCommand(scanner: Scanner, at: At<ElementVerb>): ElementCommand {
  const place = parsePlace(scanner);
  const set = scanner.word('the name of a set or map');
  return { ...at, ...place, object: 'element', set, elements: parseElements(scanner) };
}

function ruleCommand(scanner: Scanner, at: At<RuleVerb>): RuleCommand {
  const place = parsePlace(scanner);
  const chain = scanner.word('a chain name');
  const handle = scanner.accept('handle') ? scanner.number('a handle') : undefined;
  const index = at.verb !== 'delete' && scanner.accept('index') ? scanner.number('an index') : undefined;
  if (handle === undefined && (at.verb === 'delete' || at.verb === 'replace')) {
    throw scanner.error('"handle" and the number of a rule');
  }
  return {
    ...at,
    ...place,
    object: 'rule',
    chain,
    ...(handle === undefined ? {} : { handle }),
    ...(index === undefined ? {} : { index }),
    ...(at.verb === 'delete' ? {} : { rule: parseRule(scanner) }),
  };
}
