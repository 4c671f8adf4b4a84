/** Writes the pages of docs/ that are made from the program itself. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { flagsMarkdown } from '../src/config/docs.ts';

await writeFile(join(import.meta.dirname, '../docs/flags.md'), flagsMarkdown());
