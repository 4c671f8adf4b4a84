import pino from 'pino';
import { expect, test } from 'vitest';
import { applySettings } from './system.ts';

/** Applies settings to files kept here, and gives what they hold then and what was logged. */
async function apply(files: Record<string, string>, dryRun = false) {
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(line) });
  const held = new Map(Object.entries(files));
  const plain = { value: 5, onlyRaise: false, largerServes: false, essential: true };
  const settings = [
    { ...plain, path: '/same' },
    { ...plain, path: '/other' },
    { ...plain, path: '/larger', onlyRaise: true },
    { ...plain, path: '/smaller', onlyRaise: true },
    { ...plain, path: '/limit', largerServes: true },
  ];
  const failed = await applySettings(settings, {
    log,
    dryRun,
    files: {
      async read(path) {
        return (
          held.get(path)?.replace('read-only ', '') ??
          Promise.reject(new Error(`ENOENT: no such file, open '${path}'`))
        );
      },
      async write(path, text) {
        if (held.get(path)?.startsWith('read-only')) throw new Error('EROFS: read-only file system');
        held.set(path, text);
      },
    },
  });
  const messages = lines.map((line) => {
    const { path, msg } = JSON.parse(line) as { path: string; msg: string };
    return `${path}: ${msg}`;
  });
  return { files: Object.fromEntries(held), messages, failed: failed.map(({ path }) => path) };
}

const BEFORE = { '/same': '5\n', '/other': '9\n', '/larger': '6\n', '/smaller': '4\n', '/limit': '9\n' };

test('what differs is written', async () => {
  expect(await apply(BEFORE)).toEqual({
    files: { '/same': '5\n', '/other': '5', '/larger': '6\n', '/smaller': '5', '/limit': '5' },
    messages: ['/other: Changed a setting', '/smaller: Changed a setting', '/limit: Changed a setting'],
    failed: [],
  });
});

test('a dry run says so and writes nothing', async () => {
  expect(await apply(BEFORE, true)).toEqual({
    files: BEFORE,
    messages: [
      '/other: Would change a setting',
      '/smaller: Would change a setting',
      '/limit: Would change a setting',
    ],
    failed: [],
  });
});

const FAILED = 'A setting could not be changed; traffic does not depend on it';

test('what cannot be read or written is logged, and the rest is done', async () => {
  const files = { '/other': 'read-only 9', '/smaller': '4' };
  expect(await apply(files)).toEqual({
    files: { '/other': 'read-only 9', '/smaller': '5' },
    messages: [
      `/same: ${FAILED}`,
      `/other: ${FAILED}`,
      `/larger: ${FAILED}`,
      '/smaller: Changed a setting',
      `/limit: ${FAILED}`,
    ],
    failed: ['/same', '/other', '/larger', '/limit'],
  });
});

test.for([
  ['read-only 9', []],
  ['read-only 4', ['/limit']],
  ['read-only 5', []],
] as const)('a limit of %o that should be 5: what fails is %o', async ([limit, failed]) => {
  const result = await apply({ ...BEFORE, '/limit': limit });
  expect(result.failed).toEqual(failed);
  expect(result.files['/limit']).toBe(limit);
});
