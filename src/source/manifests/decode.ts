/** The bytes of a manifest as text. */
import { constants } from 'node:buffer';
import { ManifestError, placeIn } from './manifest-error.ts';

/** More than this fits in no string, in bytes. */
export const MAX_BYTES = constants.MAX_STRING_LENGTH;

/**
 * UTF-8, or UTF-16 where a byte order mark says so, as YAML has it (1.2, 5.2): PowerShell writes what kubectl
 * prints in that form. The mark is left out.
 * @param file as messages name it
 * @throws {ManifestError} for what is no text, or too much of it
 */
export function decodeManifest(bytes: Uint8Array, file: string): string {
  if (bytes.length > MAX_BYTES) throw tooLarge(file);
  const encoding = utf16Of(bytes) ?? 'utf-8';
  const text = decoded(bytes, encoding);
  if (text === undefined) throw undecodable(bytes, file, encoding);
  // Tab, line feed, carriage return and the next line of old are all that YAML lets through (1.2, 5.1).
  const control = /[^\P{Cc}\t\n\r\u0085]/u.exec(text);
  if (control === null) return text;
  const code = control[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  throw new ManifestError(
    file,
    `the control character U+${code} is in no manifest; is this text at all?`,
    placeIn(text, control.index),
  );
}

/** The error for a file that is too large to be a manifest. */
export function tooLarge(file: string): ManifestError {
  return new ManifestError(file, `is too large: a manifest has at most ${MAX_BYTES >> 20} MiB`);
}

function utf16Of([first, second]: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

function decoded(bytes: Uint8Array, encoding: string): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function undecodable(bytes: Uint8Array, file: string, encoding: string): ManifestError {
  const reason = `is no ${encoding.slice(0, 6).toUpperCase()} text`;
  if (encoding !== 'utf-8') return new ManifestError(file, reason);
  // No character of UTF-8 goes over the end of a line, so that each line can be tried by itself.
  let start = 0;
  for (let line = 1; start < bytes.length; line += 1) {
    const feed = bytes.indexOf(0x0a, start);
    const end = feed < 0 ? bytes.length : feed;
    const part = bytes.subarray(start, end);
    if (decoded(part, encoding) === undefined) {
      const text = new TextDecoder(encoding).decode(part);
      return new ManifestError(file, reason, { line, column: text.indexOf('\uFFFD') + 1, text });
    }
    start = end + 1;
  }
  return new ManifestError(file, reason);
}
