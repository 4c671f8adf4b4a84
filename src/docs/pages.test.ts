import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { generatedPages } from './pages.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFile(resolve(ROOT, path), 'utf8');

test.for(['docs/flags.md', 'docs/endpoints.md', 'docs/metrics.md'])(
  '%s is as `node scripts/docs.ts` writes it',
  async (path) => {
    expect(await read(path)).toBe((await generatedPages(read)).get(path));
  },
);

test('no other page has parts that nobody makes', async () => {
  const pages = await generatedPages(read);
  expect([...pages.keys()]).toEqual(['docs/flags.md', 'docs/endpoints.md', 'docs/metrics.md']);
});
