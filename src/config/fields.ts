/**
 * The kinds of value an option can have. Each reads text, as flags give it, or the value itself, as a configuration
 * file gives it, writes it as such a file has it, and carries one sentence that says what is allowed.
 */
import { z } from 'zod';
import { canonicalCidr, canonicalIP } from '../net/ip.ts';
import { formatDuration, parseDuration } from './duration.ts';
import { parseGoInteger } from './integer.ts';

/** An address to listen on: a canonical address and a port from 1 to 65535. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** How a configuration file writes a value; `any` for what `read` looks at itself. */
export type FileType = 'text' | 'duration' | 'boolean' | 'number' | 'list' | 'mapping' | 'mappings' | 'any';

interface Kind<T> {
  /** Follows the name and the value in errors. */
  readonly allowed: string;
  readonly inFile: FileType;
  /** `undefined` for what is wrong. */
  readonly read: (input: unknown) => T | undefined;
  /** Default: the value as it is. */
  readonly write?: (value: T) => unknown;
  /** See `KindOfField`. Default: whatever `read` takes. */
  readonly isOfType?: (input: unknown) => boolean;
}

export interface KindOfField {
  readonly allowed: string;
  readonly inFile: FileType;
  /**
   * Whether a flag could have this value at all, as kube-proxy asks of every flag on the command line. Whether it is
   * allowed is asked where it counts: `--oom-score-adj=2000` is a number.
   */
  readonly isOfType: (input: unknown) => boolean;
}

/** What is known of a field beside how to read it. */
export const kinds = z.registry<KindOfField>();

/** A field: `z.decode` reads it, `z.encode` writes it as a configuration file has it. */
export function field<T>({
  allowed,
  inFile,
  read,
  write,
  isOfType = (input) => read(input) !== undefined,
}: Kind<T>) {
  const schema = z.codec(z.unknown(), z.custom<T>(), {
    decode(input, context): T {
      const value = read(input);
      if (value !== undefined) return value;
      context.issues.push({ code: 'custom', message: allowed, input });
      return z.NEVER;
    },
    encode: (value) => (write ? write(value) : value),
  });
  kinds.add(schema, { allowed, inFile, isOfType });
  return schema;
}

/** Any text; blanks around it do not count. */
export function text() {
  return field({
    allowed: 'must be text',
    inFile: 'text',
    read: (input) => (typeof input === 'string' ? input.trim() : undefined),
  });
}

function isText(input: unknown): boolean {
  return typeof input === 'string';
}

/** Text of a form; the empty text too. */
export function textLike(form: RegExp, allowed: string) {
  return field({
    allowed,
    inFile: 'text',
    read: (input) => (typeof input === 'string' && (input === '' || form.test(input)) ? input : undefined),
    isOfType: isText,
  });
}

/** A number of bytes as text, perhaps with a unit (`resource.Quantity`); in a file it may be a number. */
export function bytes() {
  return field({
    allowed: 'must be a number of bytes, such as 0, 4096 or 64Ki',
    inFile: 'any',
    read(input) {
      const quantity = typeof input === 'number' ? `${input}` : input;
      return typeof quantity === 'string' && /^\d+(k|[KMGTPE]i?)?$/.test(quantity) ? quantity : undefined;
    },
  });
}

const TRUE = ['1', 't', 'T', 'true', 'TRUE', 'True'];
const FALSE = ['0', 'f', 'F', 'false', 'FALSE', 'False'];

/** True or false, in the spellings Go's `strconv.ParseBool` takes. */
export function parseBool(input: unknown): boolean | undefined {
  if (typeof input === 'boolean') return input;
  if (typeof input !== 'string') return undefined;
  if (TRUE.includes(input)) return true;
  return FALSE.includes(input) ? false : undefined;
}

export function bool() {
  return field({ allowed: 'must be true or false', inFile: 'boolean', read: parseBool });
}

/** The largest number of Go's `int32`, which kube-proxy keeps its numbers in. */
export const INT32_MAX = 2 ** 31 - 1;

/** A whole number within the bounds, as text the way Go's flags write one: `016` is 14. */
export function integer(min: number, max: number) {
  return integerOf(parseGoInteger, min, max);
}

/** The same, whose text is decimal in any case: `016` is 16. */
export function decimalInteger(min: number, max: number) {
  return integerOf((text) => (/^[+-]?\d+$/.test(text) ? Number(text) : undefined), min, max);
}

function integerOf(parse: (text: string) => number | undefined, min: number, max: number) {
  const within = (input: unknown, from: number, to: number): number | undefined => {
    const value = typeof input === 'string' ? parse(input) : input;
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= from && value <= to
      ? value
      : undefined;
  };
  return field({
    allowed: `must be a whole number from ${min} to ${max}`,
    inFile: 'number',
    read: (input) => within(input, min, max),
    isOfType: (input) => within(input, -INT32_MAX - 1, INT32_MAX) !== undefined,
  });
}

/** Any number. */
export function decimal() {
  return field({
    allowed: 'must be a number',
    inFile: 'number',
    read(input) {
      const value = typeof input === 'string' && /\d/.test(input) ? Number(input) : input;
      return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
    },
  });
}

export const DURATION_ALLOWED = 'must be a duration such as 30s, 1m30s, 1h or 100ms';

/** A Go duration in milliseconds. `any`: whether it may be below zero is asked where it is used. */
export function duration(bound: 'positive' | 'zero or more' | 'any') {
  const limit = { positive: ', greater than 0', 'zero or more': ', 0 or more', any: '' }[bound];
  return field({
    allowed: `${DURATION_ALLOWED}${limit}`,
    inFile: 'duration',
    read(input) {
      const value = typeof input === 'string' ? parseDuration(input) : undefined;
      if (value === undefined || (value < 0 && bound !== 'any')) return undefined;
      return value === 0 && bound === 'positive' ? undefined : value;
    },
    write: formatDuration,
    isOfType: (input) => typeof input === 'string' && parseDuration(input) !== undefined,
  });
}

/** A duration in milliseconds, which a file may also give as a whole number of nanoseconds (`TimeOrMetaDuration`). */
export function durationOrNanoseconds() {
  return field({
    allowed: `${DURATION_ALLOWED}, or a whole number of nanoseconds`,
    inFile: 'any',
    read: (input) =>
      Number.isSafeInteger(input)
        ? (input as number) / 1e6
        : typeof input === 'string'
          ? parseDuration(input)
          : undefined,
    write: formatDuration,
  });
}

/** One of a few words. The empty text stands for the first, as in kube-proxy's configuration. */
export function oneOf<const T extends string>(words: readonly [T, ...T[]]) {
  const named = words.filter((word) => word !== '');
  return field({
    allowed: `must be ${named.join(' or ')}`,
    inFile: 'text',
    read: (input): T | undefined => (input === '' ? words[0] : words.find((word) => word === input)),
    isOfType: isText,
  });
}

/**
 * The parts of a text between its commas, without the blanks around them; none of the empty text. An empty part stays
 * one: a list of addresses must not become shorter, and so say less, because a template left a part out.
 */
export function commaSeparated(text: string): string[] {
  return text === '' ? [] : text.split(',').map((part) => part.trim());
}

const LIST_ALLOWED = 'must be a list separated by commas';

/** A list, as text separated by commas. What is a list already stays as it is: no text in it is two. */
export function list() {
  return field<readonly string[]>({
    allowed: LIST_ALLOWED,
    inFile: 'list',
    read(input) {
      if (typeof input === 'string') return commaSeparated(input);
      return Array.isArray(input) && input.every((item) => typeof item === 'string') ? input : undefined;
    },
    write: (values) => (values.length > 0 ? values : null),
  });
}

/** A list that a file, too, has as one text separated by commas. */
export function commaList() {
  return field<readonly string[]>({
    allowed: LIST_ALLOWED,
    inFile: 'text',
    read: (input) => (typeof input === 'string' ? commaSeparated(input) : undefined),
    write: (values) => values.join(','),
  });
}

/** An IP address, in canonical form. The empty text names none, as the unspecified address does. */
export function ip() {
  return field({
    allowed: 'must be an IP address',
    inFile: 'text',
    read(input) {
      if (typeof input !== 'string') return undefined;
      return input === '' ? '0.0.0.0' : canonicalIP(input.trim());
    },
  });
}

/** CIDRs in canonical form, or `undefined` when one of them is none. */
export function canonicalCidrs(texts: readonly string[]): string[] | undefined {
  const cidrs = texts.map(canonicalCidr);
  return cidrs.every((cidr) => cidr !== undefined) ? cidrs : undefined;
}

/** What `hostPort` read: an address to listen on, its port perhaps left to the server's default. */
export interface HostAndMaybePort {
  readonly host: string;
  readonly port: number | undefined;
}

/** `192.0.2.1:80`, `[2001:db8::1]:80`. */
export function formatHostPort({ host, port }: HostAndMaybePort): string {
  const bracketed = host.includes(':') ? `[${host}]` : host;
  return port === undefined ? bracketed : `${bracketed}:${port}`;
}

/** Where nothing listens, as a file can say it: the empty text means the default there. */
const NOWHERE = '0.0.0.0:0';

/**
 * `ip:port`, `[ip]:port`, or an address alone, whose port is the server's default one.
 * The empty text, and port 0, mean that nothing listens: `null`.
 */
export function hostPort() {
  return field<HostAndMaybePort | null>({
    allowed: 'must be an IP address and a port, such as 0.0.0.0:10256 or [::]:10256; port 0 switches it off',
    inFile: 'text',
    read(input) {
      if (typeof input !== 'string') return undefined;
      const trimmed = input.trim();
      if (trimmed === '') return null;
      const alone = canonicalIP(trimmed.replace(/^\[(.*)\]$/, '$1'));
      if (alone !== undefined) return { host: alone, port: undefined };
      const parts = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(trimmed);
      const host = canonicalIP(parts?.[1] ?? parts?.[2] ?? '');
      const port = Number(parts?.[3]);
      if (host === undefined || !(port <= 65_535)) return undefined;
      return port === 0 ? null : { host, port };
    },
    write: (value) => (value === null ? NOWHERE : formatHostPort(value)),
  });
}
