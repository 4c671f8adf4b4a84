/** YAML and JSON text as API objects: several documents in one text, lists opened, each with where it stands. */
import { setImmediate as letOthersRun } from 'node:timers/promises';
import type { Document } from 'yaml';
import { type Fields, isFields, quote } from '../../cluster/project/fields.ts';
import { goYamlSchema } from './go-yaml.ts';
import { parseJsonStream } from './json-stream.ts';
import { isListKind, LIST, rightSpelling } from './kinds.ts';
import { DocumentError, ManifestError, type Place, placeIn } from './manifest-error.ts';

export interface ManifestDocument {
  readonly object: Fields;
  /** The object's own. */
  readonly kind: string;
  /** `web.yaml:12`, or `all.yaml:1 items[3]` inside a list: for messages. */
  readonly where: string;
}

export interface ParsedManifest {
  /** The API objects, in their order. */
  readonly documents: readonly ManifestDocument[];
  /** What is none, and is left out. */
  readonly errors: readonly DocumentError[];
}

/** How long parsing goes on before anything else gets a turn, in milliseconds. */
const TURN = 20;

/** So many of the errors in one text are told: whoever mends those knows how to go on. */
const MAX_ERRORS = 10;

/**
 * The API objects of a manifest. Documents that are empty are skipped.
 * @param file as messages name it
 * @throws {ManifestError} for text that does not parse, or in which nothing is an object; then none of it is used
 */
export async function parseManifest(text: string, file: string): Promise<ParsedManifest> {
  const parsed = parseJson(text, file) ?? parseYaml(text, file);
  const documents: ManifestDocument[] = [];
  const complaints: { readonly reason: string; readonly place: Place }[] = [];
  let untold = 0;
  for await (const { value, where, placeOf } of parsed) {
    for (const found of value === null || value === undefined ? [] : opened(value, where, [])) {
      if ('object' in found) documents.push(found);
      else if (complaints.length === MAX_ERRORS) untold += 1;
      else complaints.push({ reason: found.reason, place: placeOf(found.path) });
    }
  }
  const [first] = complaints;
  if (first !== undefined && documents.length === 0) throw new ManifestError(file, first.reason, first.place);
  const errors = complaints.map(({ reason, place }) => new DocumentError(file, reason, place));
  if (untold > 0)
    errors.push(new DocumentError(file, `${untold} more things in it are no Kubernetes objects`));
  return { documents, errors };
}

/** Where a value stands in a document: names of fields, and indices of lists. */
type Path = readonly (string | number)[];

interface Parsed {
  readonly value: unknown;
  /** See `ManifestDocument`. */
  readonly where: string;
  /** The place of what is at a path in it. */
  readonly placeOf: (path: Path) => Place;
}

/**
 * JSON is YAML too, but this is many times as fast; what it cannot read the YAML parser can name the place of. The
 * parser of JSON tells nothing of places: messages name that of the whole.
 */
function parseJson(text: string, file: string): Parsed[] | undefined {
  if (!/^\uFEFF?\s*[[{]/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    return [{ value, where: file, placeOf: () => placeIn(text, text.search(/[[{]/)) }];
  } catch {
    return parseJsonStream(text)?.map(({ value, offset, line }) => ({
      value,
      where: `${file}:${line}`,
      placeOf: () => placeIn(text, offset),
    }));
  }
}

async function* parseYaml(text: string, file: string): AsyncGenerator<Parsed> {
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  const composer = new yaml.Composer({ schema: goYamlSchema(yaml), lineCounter: lines });
  const tokens = new yaml.Parser(lines.addNewLine).parse(text);
  let turnEnds = performance.now() + TURN;
  for (const document of composer.compose(tokens, true, text.length)) {
    const [error] = document.errors;
    if (error !== undefined) throw new ManifestError(file, error.message, placeIn(text, error.pos[0]));
    const start = document.contents?.range?.[0] ?? document.range[0];
    yield {
      value: toPlain(document, file, () => placeIn(text, start)),
      where: `${file}:${lines.linePos(start).line}`,
      placeOf(path) {
        const node = document.getIn(path, true);
        return placeIn(text, (yaml.isNode(node) ? node.range?.[0] : undefined) ?? start);
      },
    };
    if (performance.now() > turnEnds) {
      await letOthersRun();
      turnEnds = performance.now() + TURN;
    }
  }
}

function toPlain(document: Document, file: string, place: () => Place): unknown {
  try {
    return document.toJS();
  } catch (error) {
    // Aliases without an anchor, or so many that they would fill the memory.
    const reason = error instanceof Error ? error.message : String(error);
    throw new ManifestError(file, `in the document that begins here: ${reason}`, place(), { cause: error });
  }
}

interface Complaint {
  readonly path: Path;
  readonly reason: string;
}

/** The object itself, or those a list holds. Items of the API's own lists do not repeat what they are. */
function* opened(
  value: unknown,
  where: string,
  path: Path,
  inherited: Fields = {},
): Generator<ManifestDocument | Complaint> {
  const complain = (reason: string, field?: string): Complaint => ({
    path: field === undefined ? path : [...path, field],
    reason: `${shown(path)}${reason}`,
  });
  if (!isFields(value)) return yield complain(`${nameOf(value)}, not a Kubernetes object${hintFor(value)}`);
  const object = { ...inherited, ...value };
  const { kind, apiVersion, items } = object;
  if (kind === undefined || kind === null || kind === '') {
    return yield complain('not a Kubernetes object: it has no kind');
  }
  if (typeof kind !== 'string') {
    return yield complain(`not a Kubernetes object: its kind is ${quote(kind)}, not text`, 'kind');
  }
  const right = rightSpelling(kind);
  if (right !== undefined && isListKind(right))
    return yield complain(`kind ${quote(kind)} is spelled ${right}`, 'kind');
  const isList = isListKind(kind);
  if (!isList && !(kind.endsWith(LIST) && Array.isArray(items))) return yield { object, kind, where };
  if (items === undefined || items === null) return;
  if (!Array.isArray(items))
    return yield complain(`items is ${quote(items)}, not a list of objects`, 'items');
  const passedOn = kind === LIST ? {} : { kind: kind.slice(0, -LIST.length), apiVersion };
  for (const [index, item] of items.entries()) {
    // What the lists of others hold is for them to say.
    if (!isList && !isFields(item)) continue;
    yield* opened(item, `${where} items[${index}]`, [...path, 'items', index], passedOn);
  }
}

function shown(path: Path): string {
  if (path.length === 0) return '';
  const items = path.filter((step) => typeof step === 'number').map((index) => `items[${index}]`);
  return `${items.join(' ')}: `;
}

function nameOf(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return { string: 'text', number: 'a number', boolean: 'a boolean' }[typeof value as string] ?? typeof value;
}

function hintFor(value: unknown): string {
  return Array.isArray(value) ? '; one that holds objects has kind List and its objects in items' : '';
}
