import { describe, expect, it, test } from 'vitest';
import { decodeManifest } from './decode.ts';

function failure(bytes: Uint8Array): string {
  try {
    decodeManifest(bytes, 'web.yaml');
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  return expect.unreachable('it is no text');
}

const TEXT = 'größer: "日本"\r\n\tx: 😀\n';

describe('decodeManifest', () => {
  test.for([
    ['UTF-8', Buffer.from(TEXT)],
    ['UTF-8 with a byte order mark', Buffer.from(`\uFEFF${TEXT}`)],
    ['UTF-16, low byte first', Buffer.from(`\uFEFF${TEXT}`, 'utf16le')],
    ['UTF-16, high byte first', Buffer.from(`\uFEFF${TEXT}`, 'utf16le').swap16()],
  ] as const)('reads %s', ([, bytes]) => {
    expect(decodeManifest(bytes, 'web.yaml')).toBe(TEXT);
  });

  it('reads nothing as nothing', () => {
    expect(decodeManifest(new Uint8Array(), 'web.yaml')).toBe('');
  });

  test.for([
    [
      Buffer.from('a: 1\nb: gr\xf6\xdf\n', 'latin1'),
      '2:6: is no UTF-8 text\n  2 | b: gr\uFFFD\uFFFD\n    |      ^',
    ],
    // A character that stands for an unreadable one is a character.
    [Buffer.from('a: \xef\xbf\xbd\nb: \xff', 'latin1'), '2:4: is no UTF-8 text\n  2 | b: \uFFFD\n    |    ^'],
    [
      Buffer.from('a: 1\nELF\0\x01'),
      '2:4: the control character U+0000 is in no manifest; is this text at all?\n  2 | ELF\uFFFD\uFFFD\n    |    ^',
    ],
    [
      Buffer.from('a: \x1b[31m\n'),
      '1:4: the control character U+001B is in no manifest; is this text at all?\n  1 | a: \uFFFD[31m\n    |    ^',
    ],
  ] as const)('names the place in %j', ([bytes, message]) => {
    expect(failure(bytes)).toBe(`web.yaml:${message}`);
  });

  it('refuses half a character of UTF-16', () => {
    expect(failure(Buffer.from('fffe61', 'hex'))).toBe('web.yaml: is no UTF-16 text');
  });
});
