import { CommanderError } from 'commander';
import { expect, test } from 'vitest';
import { CliError, errorText } from './exit.ts';

test('each line of an error says that it is one', () => {
  expect(errorText(new CliError('first\nsecond'), true)).toBe('error: first\nerror: second\n');
});

test('a stack is for those who asked for detail', () => {
  const error = new TypeError('unexpected');
  expect(errorText(error, false)).toBe('error: unexpected\n');
  expect(errorText(error, true)).toBe(`error: unexpected\n${error.stack}\n`);
});

test('what commander has told is not told again', () => {
  expect(errorText(new CommanderError(1, 'commander.unknownOption', 'error: unknown option'), true)).toBe('');
});

test('anything else that was thrown is told too', () => {
  expect(errorText('text', false)).toBe('error: text\n');
});

test('what others wrote is no command for a terminal', () => {
  expect(errorText(new CliError('\u001b[31m/m\u0007.yaml:1: a\tb\nnext'), false)).toBe(
    'error: \uFFFD[31m/m\uFFFD.yaml:1: a\tb\nerror: next\n',
  );
});
