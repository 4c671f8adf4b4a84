/** What a request asks for (RFC 9112, 3.2): a path, in full or behind the address of a server, escaped or not. */

export interface Target {
  /** As it came; empty when there is nothing behind the address. */
  readonly rawPath: string;
  /** Without escapes, each byte a character: enough to know paths of plain letters by. */
  readonly path: string;
  /** What is behind the question mark. */
  readonly query: string;
}

const TARGET = /^([a-z][a-z\d+.-]*:\/\/[^/?#]*)?([^?]*)(?:\?(.*))?$/is;
const BROKEN_ESCAPE = /%(?![\da-f]{2})/i;

/** Reads `/healthz?verbose` and `http://node:10256/healthz`; `undefined` for what is no path, and for a broken escape. */
export function readTarget(text: string): Target | undefined {
  const [, server, rawPath = '', query = ''] = TARGET.exec(text) ?? [];
  const isPath = rawPath.startsWith('/') || (rawPath === '' && server !== undefined);
  if (!isPath || BROKEN_ESCAPE.test(rawPath)) return undefined;
  const path = rawPath.replaceAll(/%(..)/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return { rawPath, path, query };
}

/** The same path without empty parts, `.` and `..`, as Go's `ServeMux` has it: a slash at the end stays. */
export function cleanPath(rawPath: string): string {
  const parts: string[] = [];
  for (const part of rawPath.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  const clean = `/${parts.join('/')}`;
  return rawPath.endsWith('/') && clean !== '/' ? `${clean}/` : clean;
}

/** Where to ask instead: the target with another path, in which nothing is left to be read in two ways. */
export function locationOf(rawPath: string, query: string): string {
  // Browsers take a backslash for a slash, and two slashes for the start of another server's address.
  const path = rawPath.replaceAll(/[^\w!$%&'()*+,./:;=@~-]/g, encodeURIComponent);
  return query === '' ? path : `${path}?${query}`;
}
