/** Elements of sets and maps, in whatever place they are written. */
import type { Element, ElementNote } from './ast.ts';
import { durationText, parseDuration } from './duration.ts';
import type { Scanner } from './scanner.ts';
import { canonicalAddress, canonicalPrefix, canonicalRange } from './types.ts';

/** Takes one element: its key, what that leads to in a map, and what is noted about it. */
export type ElementSink = (key: string, value: string | undefined, note: ElementNote | undefined) => void;

/** Parses `{ 10.0.0.1 . tcp . 80 comment "x" : goto y, … }`, which may go over several lines. */
export function parseElements(scanner: Scanner): Element[] {
  const elements: Element[] = [];
  readElements(scanner, (key, value, note) => {
    elements.push({
      key,
      ...(value === undefined ? {} : { value }),
      ...(note === undefined ? {} : { note }),
    });
  });
  return elements;
}

/** As `parseElements`, one after the other into `sink`: a listing may have hundreds of thousands. */
export function readElements(scanner: Scanner, sink: ElementSink): void {
  scanner.expect('{');
  scanner.skipNewlines();
  while (!scanner.is('}')) {
    const key = parseKey(scanner);
    const note = scanner.kind === 'word' ? parseNote(scanner) : undefined;
    sink(key, scanner.accept(':') ? parseMapping(scanner) : undefined, note);
    scanner.skipNewlines();
    if (!scanner.accept(',')) break;
    scanner.skipNewlines();
  }
  scanner.expect('}');
}

/** Parses constants joined by dots to canonical text, `10.0.0.1 . tcp . 80`. */
export function parseKey(scanner: Scanner): string {
  const first = parseConstant(scanner);
  if (!scanner.is('.')) return scanner.pool.own(first);
  const parts = [first];
  while (scanner.accept('.')) parts.push(parseConstant(scanner));
  return parts.join(' . ');
}

/** Parses one value, range or prefix; the type is not known, so what it looks like decides. */
export function parseConstant(scanner: Scanner): string {
  if (scanner.kind === 'address' || scanner.kind === 'number') return parseOrdered(scanner);
  if (scanner.kind === 'string') return scanner.string('a name');
  if (scanner.accept('*')) return '*';
  return scanner.word('a value');
}

function parseOrdered(scanner: Scanner): string {
  const start = scanner.mark();
  const first = parsePlain(scanner);
  let text: string | undefined = first;
  let what = '';
  if (scanner.accept('/')) {
    what = 'a prefix such as 10.0.0.0/8';
    text = canonicalPrefix(first, scanner.number('a prefix length'));
  } else if (scanner.accept('-')) {
    what = 'a range from a lower to a higher value';
    text = canonicalRange(first, parsePlain(scanner));
  }
  if (text !== undefined) return text;
  scanner.rewind(start);
  throw scanner.error(what);
}

function parsePlain(scanner: Scanner): string {
  const text = scanner.kind === 'number' ? String(Number(scanner.value)) : canonicalAddress(scanner.value);
  if (text === undefined) throw scanner.error('an address');
  scanner.advance();
  return text;
}

function parseNote(scanner: Scanner): ElementNote | undefined {
  let comment: string | undefined;
  let timeout: number | undefined;
  let expires: number | undefined;
  for (;;) {
    if (scanner.accept('comment')) comment = parseComment(scanner);
    else if (scanner.accept('timeout')) timeout = parseTime(scanner);
    else if (scanner.accept('expires')) expires = parseTime(scanner);
    else if (scanner.is('counter')) skipCounter(scanner);
    else break;
  }
  if (comment === undefined && timeout === undefined && expires === undefined) return undefined;
  return {
    ...(comment === undefined ? {} : { comment }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(expires === undefined ? {} : { expires }),
  };
}

/** nft refuses longer ones: `comment too long, 128 characters maximum allowed`; it counts bytes. */
const MAX_COMMENT_BYTES = 128;

/** Takes the string after `comment`. */
export function parseComment(scanner: Scanner): string {
  if (scanner.kind === 'string' && Buffer.byteLength(scanner.value) > MAX_COMMENT_BYTES) {
    throw scanner.error(`a comment of at most ${MAX_COMMENT_BYTES} bytes`);
  }
  return scanner.string('a comment in quotes');
}

/** Takes a time to milliseconds: `5m`, `4m59s880ms`, or a number of seconds. */
export function parseTime(scanner: Scanner): number {
  if (scanner.kind === 'number') return scanner.number('a time') * 1000;
  if (scanner.kind !== 'duration') throw scanner.error('a time such as 5m or 10800s');
  const milliseconds = parseDuration(scanner.value);
  scanner.advance();
  return milliseconds;
}

/** Passes over `counter` and its readings: they are no part of what a rule says. */
export function skipCounter(scanner: Scanner): void {
  scanner.expect('counter');
  if (!scanner.accept('packets')) return;
  scanner.number('a number of packets');
  scanner.expect('bytes');
  scanner.number('a number of bytes');
}

function parseMapping(scanner: Scanner): string {
  return parseVerdict(scanner) ?? parseKey(scanner);
}

const PLAIN_VERDICTS: ReadonlySet<string> = new Set(['accept', 'drop', 'continue', 'return']);

/** Parses a verdict to canonical text, `goto pick-3`; `undefined` when the next word is none. */
export function parseVerdict(scanner: Scanner): string | undefined {
  if (scanner.kind !== 'word') return undefined;
  const name = scanner.value;
  if (PLAIN_VERDICTS.has(name)) {
    scanner.advance();
    return scanner.pool.own(name);
  }
  if (name !== 'goto' && name !== 'jump') return undefined;
  scanner.advance();
  return scanner.pool.own(`${name} ${scanner.word('a chain name')}`);
}

/** The verdict's chain; `undefined` for a verdict that goes nowhere, and for data. */
export function verdictTarget(verdict: string): string | undefined {
  return verdict.startsWith('goto ') || verdict.startsWith('jump ') ? verdict.slice(5) : undefined;
}

/** What stands between key and value: ` timeout 3h expires 1h59m comment "x"`, or nothing. */
export function noteText(note: ElementNote | undefined): string {
  if (note === undefined) return '';
  const { comment, timeout, expires } = note;
  return [
    timeout === undefined ? '' : ` timeout ${durationText(timeout)}`,
    expires === undefined ? '' : ` expires ${durationText(expires)}`,
    comment === undefined ? '' : ` comment "${comment}"`,
  ].join('');
}

/** An element as nft would print it; names of interfaces are without their quotes. */
export function elementText({ key, value, note }: Element): string {
  return `${key}${noteText(note)}${value === undefined ? '' : ` : ${value}`}`;
}
