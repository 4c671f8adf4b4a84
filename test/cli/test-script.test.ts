import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

// Each run of vitest takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const SCRIPT = resolve(import.meta.dirname, '../../scripts/test.ts');

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'test-script-'));
});
afterEach(() => rm(root, { recursive: true }));

/** Runs the script on these test files, outside of this repository and of this vitest's environment. */
async function run(files: Readonly<Record<string, string>>, ...args: string[]) {
  for (const [name, text] of Object.entries(files)) await writeFile(join(root, name), text);
  const env = { PATH: process.env.PATH ?? '', HOME: root, NO_COLOR: '1' };
  const argv = [SCRIPT, '--root', root, '--globals', ...args];
  const result = await execa(process.execPath, argv, { cwd: root, env, extendEnv: false, reject: false });
  const lines = result.stdout.trimEnd().split('\n');
  return {
    code: result.exitCode,
    last: lines.at(-1),
    skips: lines.filter((line) => line.startsWith('skipped ')),
    output: result.stdout,
  };
}

test('passes are counted', async () => {
  const { code, last, skips } = await run({ 'a.test.js': `test('a', () => {}); test('b', () => {});` });
  expect({ code, last, skips }).toEqual({ code: 0, last: '2 passed, 0 failed', skips: [] });
});

test('a failure is counted and makes the exit code 1', async () => {
  const { code, last } = await run({
    'a.test.js': `test('a', () => {}); test('b', () => { expect(1).toBe(2) });`,
  });
  expect({ code, last }).toEqual({ code: 1, last: '1 passed, 1 failed' });
});

test('a file that does not load is a failure', async () => {
  const { code, last } = await run({
    'a.test.js': `test('a', () => {});`,
    'b.test.js': `import './not-there.js'; test('b', () => {});`,
    'c.test.js': `throw new Error('no');`,
  });
  expect({ code, last }).toEqual({ code: 1, last: '1 passed, 2 failed' });
});

test('a suite whose hook fails is a failure, though its tests are only skipped', async () => {
  const { code, last } = await run({
    'a.test.js': `describe('s', () => { beforeAll(() => { throw new Error('no') }); test('a', () => {}); });`,
  });
  expect({ code, last }).toEqual({ code: 1, last: '0 passed, 1 failed, 1 skipped' });
});

test('an error outside of any test is a failure', async () => {
  const { code, last } = await run({
    'a.test.js': `test('a', async () => {
      setTimeout(() => { throw new Error('late') }, 0);
      await new Promise((done) => setTimeout(done, 50));
    });`,
  });
  expect({ code, last }).toEqual({ code: 1, last: '1 passed, 1 failed' });
});

test('skips are counted and their reasons said', async () => {
  const { code, last, skips } = await run({
    'a.test.js': `
      test('a', () => {});
      test('b', ({ skip }) => skip('needs root'));
      describe.skip('packets (no nft here)', () => { test('c', () => {}); test('d', () => {}); });
      test.skip('e', () => {});
    `,
  });
  expect({ code, last, skips }).toEqual({
    code: 0,
    last: '1 passed, 0 failed, 4 skipped',
    skips: [
      'skipped 1 of a.test.js: needs root',
      'skipped 2 of a.test.js: packets (no nft here)',
      'skipped 1 of a.test.js: e',
    ],
  });
});

test('that no test ran is an error', async () => {
  const none = await run({});
  expect([none.code, none.last]).toEqual([1, '0 passed, 0 failed']);
  const skipped = await run({ 'a.test.js': `test.skip('a', () => {});` });
  expect([skipped.code, skipped.last]).toEqual([1, '0 passed, 0 failed, 1 skipped']);
});

test('arguments go to vitest', async () => {
  const files = {
    'a.test.js': `test('a', () => {});`,
    'b.test.js': `test('b', () => {}); test('c', () => {});`,
  };
  const { code, last } = await run(files, 'b.test', '-t', 'c');
  expect({ code, last }).toEqual({ code: 0, last: '1 passed, 0 failed, 1 skipped' });
});
