/**
 * The kinds of value an option can have. Each reads text, as flags give it, or the value itself, as a
 * configuration file gives it, and carries one sentence that says what is allowed.
 */
import { z } from 'zod';
import { canonicalCidr, canonicalIP } from '../net/ip.ts';
import { parseDuration } from './duration.ts';

/** An address to listen on: a canonical address and a port from 1 to 65535. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** A field whose `read` gives `undefined` for what is wrong; `allowed` follows the flag and the value in errors. */
function field<T>(allowed: string, read: (input: unknown) => T | undefined) {
  return z.unknown().transform((input, context): T => {
    const value = read(input);
    if (value !== undefined) return value;
    context.issues.push({ code: 'custom', message: allowed, input });
    return z.NEVER;
  });
}

/** Any text; blanks around it do not count. */
export function text() {
  return field('must be text', (input) => (typeof input === 'string' ? input.trim() : undefined));
}

const TRUE = ['1', 't', 'T', 'true', 'TRUE', 'True'];
const FALSE = ['0', 'f', 'F', 'false', 'FALSE', 'False'];

/** True or false, in the spellings Go's `strconv.ParseBool` takes. */
export function bool() {
  return field('must be true or false', (input) => {
    if (typeof input === 'boolean') return input;
    if (typeof input !== 'string') return undefined;
    if (TRUE.includes(input)) return true;
    return FALSE.includes(input) ? false : undefined;
  });
}

/** A whole decimal number within the bounds. */
export function integer(min: number, max: number) {
  const allowed =
    max === Number.MAX_SAFE_INTEGER
      ? `must be a whole number, ${min} or more`
      : `must be a whole number from ${min} to ${max}`;
  return field(allowed, (input) => {
    const value = typeof input === 'string' && /^[+-]?\d+$/.test(input) ? Number(input) : input;
    return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
      ? (value as number)
      : undefined;
  });
}

/** A Go duration in milliseconds: above zero, or zero and above. */
export function duration(bound: 'positive' | 'zero or more') {
  const limit = bound === 'positive' ? 'greater than 0' : '0 or more';
  return field(`must be a duration such as 30s, 1m30s, 1h or 100ms, ${limit}`, (input) => {
    const value = typeof input === 'string' ? parseDuration(input) : undefined;
    if (value === undefined || value < 0) return undefined;
    return value === 0 && bound === 'positive' ? undefined : value;
  });
}

/** One of a few words. The empty text stands for the first, as in kube-proxy's configuration. */
export function oneOf<const T extends string>(words: readonly [T, ...T[]]) {
  const named = words.filter((word) => word !== '');
  return field(`must be ${named.join(' or ')}`, (input): T | undefined =>
    input === '' ? words[0] : words.find((word) => word === input),
  );
}

/** A list, its text separated by commas; a flag given several times adds up. Blanks and empty texts are dropped. */
export function list() {
  return field('must be a list separated by commas', (input) => {
    const texts = Array.isArray(input) ? input : [input];
    if (!texts.every((item) => typeof item === 'string')) return undefined;
    return texts
      .flatMap((item) => item.split(','))
      .map((item) => item.trim())
      .filter((item) => item !== '');
  });
}

/** An IP address, in canonical form. */
export function ip() {
  return field('must be an IP address', (input) =>
    typeof input === 'string' ? canonicalIP(input.trim()) : undefined,
  );
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

/**
 * `ip:port`, `[ip]:port`, or an address alone, whose port is the server's default one.
 * The empty text, and port 0, mean that nothing listens: `null`.
 */
export function hostPort() {
  return field(
    'must be an IP address and a port, such as 0.0.0.0:10256 or [::]:10256, or empty to switch it off',
    (input): HostAndMaybePort | null | undefined => {
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
  );
}
