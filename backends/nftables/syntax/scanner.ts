/**
 * Splits nft text into tokens, one at a time and on demand: a listing of a large table is never held as an
 * array of tokens. Newlines are tokens, because they end commands and rules.
 *
 * The rules of what is a word, a number or an address are those of nft's `src/scanner.l`.
 */
import { type NftSyntaxError, syntaxError } from './error.ts';
import { StringPool } from './pool.ts';

export type TokenKind =
  | 'word'
  | 'number'
  | 'duration'
  | 'string'
  | 'address'
  | 'punctuation'
  | 'newline'
  | 'end';

const SPACE = /[ \t\r]*/y;
const WORD = /[A-Za-z_][A-Za-z0-9_./*-]*(?:\\\*)?/y;
const IPV4 = /\d+\.\d+\.\d+\.\d+/y;
const IPV6 = /(?:[0-9A-Fa-f]{0,4}:){2,7}(?:\d+\.\d+\.\d+\.\d+|[0-9A-Fa-f]{1,4})?/y;
const NUMBER = /0[xX][0-9A-Fa-f]+|\d+/y;
const DURATION = /(?:\d+(?:ms|[dhms]))+/y;
const PUNCTUATION = /[!=<>]=|<<|>>|[^\n]/y;

export interface Mark {
  readonly start: number;
  readonly line: number;
}

export class Scanner {
  readonly text: string;
  readonly pool: StringPool;
  /** The token under the cursor. */
  kind: TokenKind = 'newline';
  start = 0;
  end = 0;
  /** Where the token before it ended. */
  previousEnd = 0;
  /** The line it is on, from 1. */
  line = 0;
  /** What the last comment passed over says, e.g. `handle 7`; empty when the last line had none. */
  comment = '';

  constructor(text: string, pool = new StringPool()) {
    this.text = text;
    this.pool = pool;
    this.advance();
  }

  /** The text of the token under the cursor; a string comes without its quotes. */
  get value(): string {
    if (this.kind === 'string') return this.text.slice(this.start + 1, this.end - 1);
    return this.text.slice(this.start, this.end);
  }

  /** Moves to the next token. */
  advance(): void {
    if (this.kind === 'newline') {
      this.comment = '';
      this.line++;
    }
    this.previousEnd = this.end;
    let start = this.#skipSpace(this.end);
    while (this.text.startsWith('\\\n', start)) {
      this.line++;
      start = this.#skipSpace(start + 2);
    }
    if (this.text.charCodeAt(start) === HASH) {
      const newline = this.text.indexOf('\n', start);
      const stop = newline < 0 ? this.text.length : newline;
      this.comment = this.text.slice(start + 1, stop).trim();
      start = stop;
    }
    this.start = start;
    this.#read(start);
  }

  #skipSpace(start: number): number {
    SPACE.lastIndex = start;
    SPACE.test(this.text);
    return SPACE.lastIndex;
  }

  #read(start: number): void {
    const code = this.text.charCodeAt(start);
    if (Number.isNaN(code)) this.#token('end', start);
    else if (code === NEWLINE) this.#token('newline', start + 1);
    else if (code === QUOTE) this.#string(start);
    else this.#readPlain(start, code);
  }

  #readPlain(start: number, code: number): void {
    const digit = code >= ZERO && code <= NINE;
    const addressLike = digit || code === COLON || isHexLetter(code);
    const found =
      (digit && this.#match(IPV4, 'address', start)) ||
      (addressLike && this.#match(IPV6, 'address', start)) ||
      (digit && this.#match(DURATION, 'duration', start)) ||
      (digit && this.#match(NUMBER, 'number', start)) ||
      this.#match(WORD, 'word', start);
    if (!found) this.#match(PUNCTUATION, 'punctuation', start);
  }

  #match(pattern: RegExp, kind: TokenKind, start: number): boolean {
    pattern.lastIndex = start;
    if (!pattern.test(this.text)) return false;
    this.#token(kind, pattern.lastIndex);
    return true;
  }

  #token(kind: TokenKind, end: number): void {
    this.kind = kind;
    this.end = end;
  }

  /** nft strings have no escapes and stay on their line. */
  #string(start: number): void {
    const close = this.text.indexOf('"', start + 1);
    const newline = this.text.indexOf('\n', start);
    if (close < 0 || (newline >= 0 && newline < close)) {
      throw syntaxError(this.text, start, 'a closing quote', 'the end of the line');
    }
    this.#token('string', close + 1);
  }

  /** Whether the token is this word or this punctuation; never a quoted string. */
  is(text: string): boolean {
    if (this.kind === 'string' || this.end - this.start !== text.length) return false;
    return this.text.startsWith(text, this.start);
  }

  /** Moves on if the token is this word or this punctuation. */
  accept(text: string): boolean {
    if (!this.is(text)) return false;
    this.advance();
    return true;
  }

  /** Moves on if the token is this word or this punctuation, and objects if not. */
  expect(text: string): void {
    if (!this.accept(text)) throw this.error(`"${text}"`);
  }

  /** Takes a word, e.g. a name; `what` says what it is for. */
  word(what: string): string {
    if (this.kind !== 'word') throw this.error(what);
    return this.#take();
  }

  /** Takes a quoted string. */
  string(what: string): string {
    if (this.kind !== 'string') throw this.error(what);
    return this.#take();
  }

  /** Takes a whole number, decimal or hexadecimal. */
  number(what: string): number {
    if (this.kind !== 'number') throw this.error(what);
    const value = Number(this.value);
    this.advance();
    return value;
  }

  #take(): string {
    const value = this.pool.own(this.value);
    this.advance();
    return value;
  }

  skipNewlines(): void {
    while (this.kind === 'newline') this.advance();
  }

  /** Whether a command, a rule or a declaration may end here. */
  get atEnd(): boolean {
    return this.kind === 'newline' || this.kind === 'end' || this.is(';') || this.is('}');
  }

  /** Where the cursor is, for `rewind`. */
  mark(): Mark {
    return { start: this.start, line: this.line };
  }

  /** Goes back to a token that was under the cursor before. */
  rewind({ start, line }: Mark): void {
    this.kind = 'newline';
    this.end = start;
    this.line = line - 1;
    this.advance();
  }

  /** Passes over everything up to the end of the command or rule, and over the braces on the way. */
  skipToEnd(): void {
    let depth = 0;
    while (this.kind !== 'end' && (depth > 0 || !this.atEnd)) {
      if (this.is('{')) depth++;
      if (this.is('}')) depth--;
      this.advance();
    }
  }

  /** An error about the token under the cursor. */
  error(expected: string): NftSyntaxError {
    return syntaxError(this.text, this.start, expected, this.#described());
  }

  #described(): string {
    if (this.kind === 'newline') return 'the end of the line';
    if (this.kind === 'end') return 'the end of the text';
    return this.kind === 'string' ? this.text.slice(this.start, this.end) : `"${this.value}"`;
  }
}

const NEWLINE = 10;
const QUOTE = 34;
const HASH = 35;
const ZERO = 48;
const NINE = 57;
const COLON = 58;

function isHexLetter(code: number): boolean {
  return (code >= 97 && code <= 102) || (code >= 65 && code <= 70);
}
