import { describe, expect, test } from 'vitest';
import * as yaml from 'yaml';
import { goYamlSchema } from './go-yaml.ts';

function read(text: string): unknown {
  const document = yaml.parseDocument(text, { schema: goYamlSchema(yaml) });
  expect(document.errors).toEqual([]);
  return document.toJS();
}

/** What go-yaml makes of a value, by `resolve.go` and `decode_test.go` of go.yaml.in/yaml/v2. */
test.for<[string, unknown]>([
  // Booleans
  ['y', true],
  ['Y', true],
  ['yes', true],
  ['Yes', true],
  ['YES', true],
  ['on', true],
  ['On', true],
  ['ON', true],
  ['true', true],
  ['True', true],
  ['TRUE', true],
  ['n', false],
  ['N', false],
  ['no', false],
  ['No', false],
  ['NO', false],
  ['off', false],
  ['Off', false],
  ['OFF', false],
  ['false', false],
  ['yEs', 'yEs'],
  ['oN', 'oN'],
  ['tRUE', 'tRUE'],
  ['"yes"', 'yes'],
  ["'on'", 'on'],
  ['!!str yes', 'yes'],
  ['yes, please', 'yes, please'],
  // Nothing
  ['', null],
  ['~', null],
  ['null', null],
  ['Null', null],
  ['NULL', null],
  ['nULL', 'nULL'],
  ['""', ''],
  // Whole numbers
  ['0', 0],
  ['-0', 0],
  ['14', 14],
  ['+14', 14],
  ['-14', -14],
  ['016', 14],
  ['-016', -14],
  ['0_16', 14],
  ['02472256', 685_230],
  ['0o16', 14],
  ['0O16', 14],
  ['0x1F', 31],
  ['0X1f', 31],
  ['0x_0A_74_AE', 685_230],
  ['-0x10', -16],
  ['0b1010_0111_0100_1010_1110', 685_230],
  ['-0b101010', -42],
  ['685_230', 685_230],
  ['+685_230', 685_230],
  ['08', 8],
  ['019', 19],
  ['0x', '0x'],
  ['0b2', '0b2'],
  ['0o8', '0o8'],
  ['_1', '_1'],
  ['"-"', '-'],
  ['"016"', '016'],
  ['!!str 016', '016'],
  ['50cent_of_dollar', '50cent_of_dollar'],
  ['-b_c', '-b_c'],
  ['+b_c', '+b_c'],
  // Other numbers
  ['0.1', 0.1],
  ['.1', 0.1],
  ['-.1', -0.1],
  ['1.', 1],
  ['01.5', 1.5],
  ['685_230.15', 685_230.15],
  ['6.8523e+5', 685_230],
  ['685.230_15e+03', 685_230.15],
  ['123456e1', 1_234_560],
  ['123456E1', 1_234_560],
  ['1e999', '1e999'],
  ['.Inf', Number.POSITIVE_INFINITY],
  ['-.inf', Number.NEGATIVE_INFINITY],
  ['.NaN', Number.NaN],
  ['!!float 0', 0],
  ['!!int "016"', 14],
  ['.', '.'],
  ['1.2.3.4', '1.2.3.4'],
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['1.5s', '1.5s'],
  // To the base of 60
  ['1:1', '1:1'],
  ['12:30:00', '12:30:00'],
  ['190:20:30.15', '190:20:30.15'],
  // Times
  ['2015-01-01', '2015-01-01'],
  ['2015-02-24T18:19:39Z', '2015-02-24T18:19:39Z'],
  ['2015-02-24 18:19:39', '2015-02-24 18:19:39'],
  ['!!timestamp "2015-01-01"', '2015-01-01'],
  ['!!timestamp 2015-01-01', '2015-01-01'],
])('%s', ([text, expected]) => {
  expect(read(`a: ${text}\n`)).toEqual({ a: expected });
});

describe('mappings', () => {
  test('keys are values too, and texts in the end', () => {
    expect(read('yes: 1\n016: 2\nnull: 3\n"on": 4\n')).toEqual({ true: 1, 14: 2, '': 3, on: 4 });
  });

  test('the merge key', () => {
    expect(read('a: &a {k: 1, l: 2}\nb: {<<: *a, l: 3}\nc: {<<: [*a, {m: 4}]}\n"<<": text\n')).toEqual({
      a: { k: 1, l: 2 },
      b: { k: 1, l: 3 },
      c: { k: 1, l: 2, m: 4 },
      '<<': 'text',
    });
  });

  test('a document that names a version of YAML is read the same way', () => {
    for (const version of ['1.1', '1.2']) {
      expect(read(`%YAML ${version}\n---\na: [yes, 016, 12:30:00, 2015-01-01]\n`)).toEqual({
        a: [true, 14, '12:30:00', '2015-01-01'],
      });
    }
  });
});

test('texts that go on without end take no longer for it', () => {
  for (const text of [`0${'_'.repeat(200_000)}x`, `1${'_'.repeat(200_000)}x`, `-${'_'.repeat(200_000)}x`]) {
    const start = performance.now();
    expect(read(`a: ${text}`)).toEqual({ a: text });
    expect(performance.now() - start).toBeLessThan(2000);
  }
});
