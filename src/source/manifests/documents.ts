/** YAML and JSON text as API objects: several documents in one text, lists opened, each with where it stands. */
import { setImmediate as letOthersRun } from 'node:timers/promises';
import type { Document, LineCounter } from 'yaml';
import { type Fields, isFields } from '../../cluster/project/fields.ts';
import { ManifestError, type Place } from './manifest-error.ts';

export interface ManifestDocument {
  readonly object: Fields;
  /** `web.yaml:12`, or `all.yaml:1 items[3]` inside a list: for messages. */
  readonly where: string;
}

/** How long parsing goes on before anything else gets a turn, in milliseconds. */
const TURN = 20;

/**
 * The API objects of a manifest, in their order. Documents that are no objects (empty ones, say) are skipped.
 * @param file as messages name it
 * @throws {ManifestError} for text that does not parse; then none of it is used
 */
export async function parseManifest(text: string, file: string): Promise<ManifestDocument[]> {
  const json = parseJson(text);
  if (json !== undefined) return [...opened(json, file)];
  const documents: ManifestDocument[] = [];
  for await (const { value, line } of parseYaml(text, file)) {
    documents.push(...opened(value, `${file}:${line}`));
  }
  return documents;
}

/** JSON is YAML too, but this is many times as fast; what it cannot read the YAML parser can name the place of. */
function parseJson(text: string): unknown {
  if (!/^\uFEFF?\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

async function* parseYaml(text: string, file: string): AsyncGenerator<{ value: unknown; line: number }> {
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  // kubectl reads YAML 1.1, of which manifests use the merge key.
  const composer = new yaml.Composer({ merge: true, lineCounter: lines });
  const tokens = new yaml.Parser(lines.addNewLine).parse(text);
  let turnEnds = performance.now() + TURN;
  for (const document of composer.compose(tokens, true, text.length)) {
    const [error] = document.errors;
    if (error !== undefined) {
      throw new ManifestError(file, error.message, placeOf(error.pos[0], text, lines));
    }
    const start = placeOf(document.contents?.range?.[0] ?? document.range[0], text, lines);
    yield { value: toPlain(document, file, start), line: start.line };
    if (performance.now() > turnEnds) {
      await letOthersRun();
      turnEnds = performance.now() + TURN;
    }
  }
}

function placeOf(offset: number, text: string, lines: LineCounter): Place {
  const { line, col } = lines.linePos(offset);
  const start = lines.lineStarts[line - 1] ?? 0;
  const end = text.indexOf('\n', start);
  return { line, column: col, text: text.slice(start, end < 0 ? undefined : end).trimEnd() };
}

function toPlain(document: Document, file: string, start: Place): unknown {
  try {
    return document.toJS();
  } catch (error) {
    // Aliases without an anchor, or so many that they would fill the memory.
    const reason = error instanceof Error ? error.message : String(error);
    throw new ManifestError(file, `in the document that begins here: ${reason}`, start, { cause: error });
  }
}

/** The object itself, or those a list holds. Items of the API's own lists do not repeat what they are. */
function* opened(value: unknown, where: string): Generator<ManifestDocument> {
  if (!isFields(value)) return;
  const { kind, apiVersion, items } = value;
  if (typeof kind !== 'string' || !kind.endsWith('List') || !Array.isArray(items)) {
    yield { object: value, where };
    return;
  }
  const inherited = kind === 'List' ? {} : { kind: kind.slice(0, -'List'.length), apiVersion };
  for (const [index, item] of items.entries()) {
    if (isFields(item)) yield* opened({ ...inherited, ...item }, `${where} items[${index}]`);
  }
}
