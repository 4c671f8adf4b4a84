import pino from 'pino';
import { expect, test } from 'vitest';
import { applySettings } from './system.ts';

/** Applies settings to files kept here, and gives what they hold then and what was logged. */
async function apply(files: Record<string, string>, dryRun = false) {
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(line) });
  const held = new Map(Object.entries(files));
  const settings = [
    { path: '/same', value: 5, onlyRaise: false },
    { path: '/other', value: 5, onlyRaise: false },
    { path: '/larger', value: 5, onlyRaise: true },
    { path: '/smaller', value: 5, onlyRaise: true },
  ];
  await applySettings(settings, {
    log,
    dryRun,
    files: {
      async read(path) {
        return held.get(path) ?? Promise.reject(new Error(`ENOENT: no such file, open '${path}'`));
      },
      async write(path, text) {
        if (path === '/other' && held.get(path) === '1000') throw new Error('EROFS: read-only file system');
        held.set(path, text);
      },
    },
  });
  const messages = lines.map((line) => {
    const { path, msg } = JSON.parse(line) as { path: string; msg: string };
    return `${path}: ${msg}`;
  });
  return { files: Object.fromEntries(held), messages };
}

const BEFORE = { '/same': '5\n', '/other': '9\n', '/larger': '6\n', '/smaller': '4\n' };

test('what differs is written', async () => {
  expect(await apply(BEFORE)).toEqual({
    files: { '/same': '5\n', '/other': '5', '/larger': '6\n', '/smaller': '5' },
    messages: ['/other: Changed a setting', '/smaller: Changed a setting'],
  });
});

test('a dry run says so and writes nothing', async () => {
  expect(await apply(BEFORE, true)).toEqual({
    files: BEFORE,
    messages: ['/other: Would change a setting', '/smaller: Would change a setting'],
  });
});

test('what cannot be read or written is logged, and the rest is done', async () => {
  const failed = 'A setting could not be changed; traffic does not depend on it';
  expect(await apply({ '/other': '1000', '/smaller': '4' })).toEqual({
    files: { '/other': '1000', '/smaller': '5' },
    messages: [`/same: ${failed}`, `/other: ${failed}`, `/larger: ${failed}`, '/smaller: Changed a setting'],
  });
});
