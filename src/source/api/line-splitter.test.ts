import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineSplitter } from './line-splitter.ts';

function lines(chunks: readonly Buffer[]): { lines: string[]; rest: string } {
  const found: string[] = [];
  const splitter = new LineSplitter((line) => found.push(line.toString('utf8')));
  for (const chunk of chunks) splitter.push(chunk);
  return { lines: found, rest: splitter.end().toString('utf8') };
}

test('cuts lines, whatever the chunks', () => {
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue(), { maxLength: 6 }),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
      (values, cuts) => {
        const texts = values.map((value) => JSON.stringify(value));
        const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(''));
        const offsets = [
          0,
          ...cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b),
          bytes.length,
        ];
        const chunks = offsets.slice(1).map((to, index) => bytes.subarray(offsets[index], to));
        expect(lines(chunks)).toEqual({ lines: texts, rest: '' });
      },
    ),
  );
});

test('knows no line ends but the newline', () => {
  const text = '{"a":"one\u2028two\u2029three\u0085four\\r"}';
  expect(lines([Buffer.from(`${text}\n`)])).toEqual({ lines: [text], rest: '' });
});

test('leaves out empty lines and keeps what is not ended', () => {
  expect(lines([Buffer.from('a\n\n\nb\nhal'), Buffer.from('f')])).toEqual({
    lines: ['a', 'b'],
    rest: 'half',
  });
});
