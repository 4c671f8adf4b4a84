/** Declarations of sets and maps, and the elements in them. */
import type { ElementNote } from './ast.ts';
import { parseComment, parseTime, readElements } from './elements.ts';
import { parseConcatenation } from './expression.ts';
import { expressionTypes } from './fields.ts';
import type { NamedSet, SetDeclaration, SetKind } from './model.ts';
import type { Scanner } from './scanner.ts';
import { DATA_TYPES, type DataType } from './types.ts';

interface Types {
  readonly keyTypes: DataType[];
  readonly dataTypes?: DataType[];
}

/** What a declaration may say, as it is being read. */
interface Draft {
  types?: Types;
  readonly flags: Set<string>;
  timeout?: number;
  size?: number;
  autoMerge: boolean;
  comment?: string;
  readonly elements: Map<string, string>;
  readonly notes: Map<string, ElementNote>;
}

/** Parses `{ type … ; flags … ; … }`. */
export function parseSetBlock(scanner: Scanner, kind: SetKind): NamedSet {
  const draft: Draft = { flags: new Set(), autoMerge: false, elements: new Map(), notes: new Map() };
  scanner.expect('{');
  skipSeparators(scanner);
  while (!scanner.is('}')) {
    const parse = scanner.kind === 'word' ? CLAUSES.get(scanner.value) : undefined;
    if (parse === undefined) throw scanner.error(`a clause of a ${kind}, or "}"`);
    scanner.advance();
    parse(scanner, draft, kind);
    if (!scanner.atEnd) throw scanner.error('the end of the clause');
    skipSeparators(scanner);
  }
  if (draft.types === undefined) throw scanner.error(`the type of the ${kind} before it ends`);
  scanner.expect('}');
  const { elements, notes } = draft;
  return { kind, declaration: finished(kind, draft, draft.types), elements, notes };
}

/** Passes over the newlines and semicolons between clauses, rules and commands. */
export function skipSeparators(scanner: Scanner): void {
  while (scanner.kind === 'newline' || scanner.is(';')) scanner.advance();
}

const CLAUSES = new Map<string, (scanner: Scanner, draft: Draft, kind: SetKind) => void>([
  ['type', (scanner, draft, kind) => (draft.types = parseTypes(scanner, kind, parseTypeNames))],
  ['typeof', (scanner, draft, kind) => (draft.types = parseTypes(scanner, kind, parseTypeExpression))],
  ['flags', (scanner, draft) => parseFlags(scanner, draft.flags)],
  ['timeout', (scanner, draft) => (draft.timeout = parseTime(scanner))],
  ['gc-interval', (scanner) => parseTime(scanner)],
  ['size', (scanner, draft) => (draft.size = scanner.number('a number of elements'))],
  ['policy', (scanner) => scanner.word('"performance" or "memory"')],
  ['auto-merge', (_, draft) => (draft.autoMerge = true)],
  ['counter', (_, draft) => draft.flags.add('counter')],
  ['comment', (scanner, draft) => (draft.comment = parseComment(scanner))],
  ['elements', parseElementsClause],
]);

function parseTypes(scanner: Scanner, kind: SetKind, parse: (scanner: Scanner) => DataType[]): Types {
  const keyTypes = parse(scanner);
  if (kind === 'set') return { keyTypes };
  scanner.expect(':');
  scanner.accept('interval');
  return { keyTypes, dataTypes: scanner.accept('verdict') ? ['verdict'] : parse(scanner) };
}

function parseTypeNames(scanner: Scanner): DataType[] {
  const types: DataType[] = [];
  do {
    if (!DATA_TYPES.has(scanner.value)) throw scanner.error('a data type such as ipv4_addr');
    types.push(scanner.word('a data type'));
  } while (scanner.accept('.'));
  return types;
}

function parseTypeExpression(scanner: Scanner): DataType[] {
  return expressionTypes(parseConcatenation(scanner));
}

function parseFlags(scanner: Scanner, flags: Set<string>): void {
  do flags.add(scanner.word('a flag'));
  while (scanner.accept(','));
}

function parseElementsClause(scanner: Scanner, { elements, notes }: Draft): void {
  scanner.expect('=');
  readElements(scanner, (key, value = '', note) => {
    elements.set(key, value);
    if (note !== undefined) notes.set(key, note);
  });
}

/** The size that nft gives a set which rules add to, when it was told none. */
const DYNAMIC_SIZE = 65_535;

function finished(kind: SetKind, draft: Draft, types: Types): SetDeclaration {
  const { flags, timeout, size, autoMerge, comment } = draft;
  if (timeout !== undefined) flags.add('timeout');
  const actualSize = size ?? (flags.has('dynamic') ? DYNAMIC_SIZE : undefined);
  return {
    kind,
    ...types,
    flags: [...flags].sort(),
    ...(timeout === undefined ? {} : { timeout }),
    ...(actualSize === undefined ? {} : { size: actualSize }),
    autoMerge,
    ...(comment === undefined ? {} : { comment }),
  };
}
