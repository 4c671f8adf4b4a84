/** Writes the pages of docs/ that are made from the program itself, or the parts of them that are. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generatedPages } from '../src/docs/pages.ts';

const ROOT = join(import.meta.dirname, '..');

for (const [path, text] of await generatedPages((page) => readFile(join(ROOT, page), 'utf8'))) {
  await writeFile(join(ROOT, path), text);
}
