import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLogger, type Logger, type LogSettings, type LogTarget } from './logger.ts';

let directory: string;
let fd: number;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'logger-'));
  fd = openSync(join(directory, 'log'), 'a');
});
afterEach(() => {
  closeSync(fd);
  rmSync(directory, { recursive: true });
});

/** What is in the log as soon as `use` returns, its times blanked out. */
async function logged(
  settings: Partial<LogSettings>,
  target: Partial<LogTarget>,
  use: (log: Logger) => void,
): Promise<string> {
  const log = await createLogger(
    { verbosity: 0, format: '', ...settings },
    { fd, isTTY: false, env: {}, ...target },
  );
  use(log);
  return readFileSync(join(directory, 'log'), 'utf8')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replaceAll(/\d\d:\d\d:\d\d\.\d{3}/g, 'TIME');
}

const one = (log: Logger) => log.info({ family: 'IPv4', services: 3 }, 'Synced');

describe('format', () => {
  test('JSON where there is no terminal', async () => {
    expect(await logged({}, {}, one)).toBe(
      '{"level":"info","time":"TIME","family":"IPv4","services":3,"msg":"Synced"}\n',
    );
  });

  test('JSON on a terminal when asked for', async () => {
    expect(await logged({ format: 'json' }, { isTTY: true }, one)).toBe(
      '{"level":"info","time":"TIME","family":"IPv4","services":3,"msg":"Synced"}\n',
    );
  });

  const READABLE = '[TIME] INFO: Synced {"family":"IPv4","services":3}\n';

  test('text without colour when asked for', async () => {
    expect(await logged({ format: 'text' }, {}, one)).toBe(READABLE);
  });

  test('text in colour on a terminal', async () => {
    const text = await logged({}, { isTTY: true }, one);
    expect(text).toContain('\u001b[32mINFO\u001b[39m');
    expect(stripVTControlCharacters(text)).toBe(READABLE);
  });

  test.for([{ NO_COLOR: '1' }, { TERM: 'dumb' }])('text without colour with %o', async (env) => {
    expect(await logged({}, { isTTY: true, env }, one)).toBe(READABLE);
  });
});

test.for([
  [0, ['i']],
  [2, ['i']],
  [3, ['i']],
  [4, ['d', 'i']],
  [5, ['d', 'i']],
  [6, ['t', 'd', 'i']],
  [10, ['t', 'd', 'i']],
] as const)('verbosity %d shows %o', async ([verbosity, shown]) => {
  const text = await logged({ verbosity }, {}, (log) => {
    log.trace('t');
    log.debug('d');
    log.info('i');
  });
  const messages = text
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { msg: string }).msg);
  expect(messages).toEqual(shown);
});

test('an error is its message', async () => {
  expect(await logged({}, {}, (log) => log.error({ err: new TypeError('no') }, 'Failed'))).toBe(
    '{"level":"error","time":"TIME","err":"no","msg":"Failed"}\n',
  );
});

test('an error has its stack when debugging', async () => {
  const text = await logged({ verbosity: 4 }, {}, (log) => log.error({ err: new TypeError('no') }, 'Failed'));
  expect(JSON.parse(text)).toMatchObject({
    err: { type: 'TypeError', message: 'no', stack: expect.stringContaining('logger.test.ts') },
  });
});
