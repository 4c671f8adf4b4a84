import { describe, expect, it, test } from 'vitest';
import { NftSyntaxError } from './error.ts';
import { Scanner } from './scanner.ts';

function tokens(text: string): string[] {
  const scanner = new Scanner(text);
  const found: string[] = [];
  while (scanner.kind !== 'end') {
    found.push(`${scanner.kind} ${scanner.kind === 'newline' ? '' : scanner.value}`.trim());
    scanner.advance();
  }
  return found;
}

describe('Scanner', () => {
  test.for<[name: string, text: string, expected: string[]]>([
    [
      'words with slashes, dots and dashes',
      'goto service-2QRH-default/kubernetes/tcp/https__10.0.0.1/80',
      ['word goto', 'word service-2QRH-default/kubernetes/tcp/https__10.0.0.1/80'],
    ],
    ['a name cut short with dots', 'goto abc...,', ['word goto', 'word abc...', 'punctuation ,']],
    [
      'a concatenation',
      '10.0.0.1 . tcp . 80',
      ['address 10.0.0.1', 'punctuation .', 'word tcp', 'punctuation .', 'number 80'],
    ],
    ['a prefix', '10.0.0.0/8', ['address 10.0.0.0', 'punctuation /', 'number 8']],
    ['a range', '10.0.0.1-10.0.0.4', ['address 10.0.0.1', 'punctuation -', 'address 10.0.0.4']],
    [
      'IPv6 addresses',
      'fd00:10:96::/112 ::1 :: 1:2:3:4:5:6:7:8 ::ffff:10.0.0.1',
      [
        'address fd00:10:96::',
        'punctuation /',
        'number 112',
        'address ::1',
        'address ::',
        'address 1:2:3:4:5:6:7:8',
        'address ::ffff:10.0.0.1',
      ],
    ],
    [
      'address and port',
      '10.0.0.1:80 [fd00::1]:80',
      [
        'address 10.0.0.1',
        'punctuation :',
        'number 80',
        'punctuation [',
        'address fd00::1',
        'punctuation ]',
        'punctuation :',
        'number 80',
      ],
    ],
    [
      'words that begin like hexadecimal',
      'add fib dead:',
      ['word add', 'word fib', 'word dead', 'punctuation :'],
    ],
    ['a map element without blanks', '80:drop', ['number 80', 'punctuation :', 'word drop']],
    [
      'numbers and times',
      '0x4000 5m 4m59s880ms 10800s',
      ['number 0x4000', 'duration 5m', 'duration 4m59s880ms', 'duration 10800s'],
    ],
    [
      'operators of two characters',
      'a != b==c<=1',
      ['word a', 'punctuation !=', 'word b', 'punctuation ==', 'word c', 'punctuation <=', 'number 1'],
    ],
    ['names and strings', '@set "cni*" cni*', ['punctuation @', 'word set', 'string cni*', 'word cni*']],
    [
      'comments and newlines',
      'a # b "c\nd;\\\ne',
      ['word a', 'newline', 'word d', 'punctuation ;', 'word e'],
    ],
  ])('%s', ([, text, expected]) => {
    expect(tokens(text)).toEqual(expected);
  });

  it('counts lines, over continued ones too', () => {
    const scanner = new Scanner('a\n\nb \\\n c\nd');
    const lines: Record<string, number> = {};
    while (scanner.kind !== 'end') {
      if (scanner.kind === 'word') lines[scanner.value] = scanner.line;
      scanner.advance();
    }
    expect(lines).toEqual({ a: 1, b: 3, c: 4, d: 5 });
  });

  it('goes back to where it was', () => {
    const scanner = new Scanner('a\nb c');
    scanner.advance();
    scanner.advance();
    const mark = scanner.mark();
    scanner.advance();
    scanner.rewind(mark);
    expect([scanner.value, scanner.line]).toEqual(['b', 2]);
  });

  it('keeps what the comment of the line says', () => {
    const scanner = new Scanner('drop # handle 7\nnext');
    scanner.advance();
    expect([scanner.kind, scanner.comment]).toEqual(['newline', 'handle 7']);
    scanner.advance();
    expect([scanner.value, scanner.comment]).toEqual(['next', '']);
  });

  it('names the line, the column and what is missing', () => {
    const scanner = new Scanner('add\n  table "x"');
    scanner.advance();
    scanner.advance();
    scanner.advance();
    const error = catching(() => scanner.word('a table name'));
    expect(error).toMatchObject({ line: 2, column: 9, expected: 'a table name', found: '"x"' });
    expect(error.message).toBe('line 2, column 9: expected a table name, found "x"');
  });

  it('wants strings closed on their line', () => {
    expect(catching(() => tokens('comment "a\nb"')).message).toBe(
      'line 1, column 9: expected a closing quote, found the end of the line',
    );
  });
});

function catching(attempt: () => unknown): NftSyntaxError {
  try {
    attempt();
  } catch (error) {
    if (error instanceof NftSyntaxError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
