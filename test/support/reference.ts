/** What is written of kube-proxy 1.36, beside the repository: read, so that no list of it is copied. */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
const REFERENCE = resolve(ROOT, '../shared/reference/kube-proxy-1.36.md');

/** Why it cannot be read; `undefined` when it can. */
export const referenceMissing: string | undefined = existsSync(REFERENCE)
  ? undefined
  : 'the reference of kube-proxy, ../shared, is not there';

export function referenceText(): string {
  return readFileSync(REFERENCE, 'utf8');
}

/** Cells of the rows of a section's tables, without their heads. Throws when there is no such section. */
export function referenceRows(section: string): string[][] {
  const text = referenceText();
  const start = text.indexOf(`\n### ${section} `);
  if (start < 0) throw new Error(`there is no section ${section} in the reference`);
  const next = text.indexOf('\n##', start + 1);
  return tableRows(text.slice(start, next < 0 ? undefined : next));
}

/** Cells of the rows of every table in a page of this repository. */
export function pageRows(path: string): string[][] {
  return tableRows(readFileSync(resolve(ROOT, path), 'utf8'));
}

/** What is set as code in a cell: `a` and `b` of `` `a` / `b` ``. */
export function codeIn(cell: string): string[] {
  return Array.from(cell.matchAll(/`([^`]+)`/g), ([, text = '']) => text);
}

function tableRows(text: string): string[][] {
  const lines = text.split('\n');
  return lines.flatMap((line, index) => {
    const isHead = lines[index + 1]?.startsWith('|---') ?? false;
    if (!line.startsWith('| ') || isHead) return [];
    return [
      line
        .slice(2, line.lastIndexOf('|'))
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    ];
  });
}
