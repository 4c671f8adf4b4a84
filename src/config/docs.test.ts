import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { flagsMarkdown } from './docs.ts';
import { FIELDS, FLAGS } from './flags.ts';

const ROOT = resolve(import.meta.dirname, '../..');

test('docs/flags.md is as `node scripts/docs.ts` writes it', () => {
  expect(readFileSync(resolve(ROOT, 'docs/flags.md'), 'utf8')).toBe(flagsMarkdown());
});

const REFERENCE = resolve(ROOT, '../shared/reference/kube-proxy-1.36.md');

/** Lines of a section's tables. */
function tableOf(section: string): string[] {
  const text = readFileSync(REFERENCE, 'utf8');
  const start = text.indexOf(`### ${section} `);
  return text
    .slice(start, text.indexOf('\n### ', start))
    .split('\n')
    .filter((line) => line.startsWith('| `'));
}

describe.skipIf(!existsSync(REFERENCE))('nothing of kube-proxy 1.36 is forgotten (needs ../shared)', () => {
  test('no flag', () => {
    const lines = tableOf('1.1').filter((line) => !line.includes('winkernel'));
    const cells = lines.concat(
      // The last row of flags for Linux begins with more than one name.
      readFileSync(REFERENCE, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('| `-v`')),
    );
    const known = new Set([
      ...Array.from(FLAGS.values(), ({ flag }) => flag),
      ...['config', 'write-config-to', 'cleanup', 'init-only', 'version'],
    ]);
    const unknown = new Set<string>();
    for (const line of cells) {
      const [, cell = ''] = line.split('|');
      const [first = '', ...others] = Array.from(
        cell.matchAll(/`-{1,2}([a-z-]+)`/g),
        ([, name = '']) => name,
      );
      for (const name of [first, ...others]) {
        // `--ipvs-tcp-timeout` / `-tcpfin-timeout`: the end of a name that begins as the first one does.
        const isKnown =
          known.has(name) || [...known].some((flag) => flag.endsWith(`-${name.replace(/^-/, '')}`));
        if (!isKnown) unknown.add(name);
      }
    }
    expect(cells.length).toBeGreaterThan(30);
    expect([...unknown]).toEqual([]);
  });

  test('no field', () => {
    const fields = tableOf('1.2').flatMap((line) => {
      const [, cell = ''] = line.split('|');
      return Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = '']) => name).flatMap(expand);
    });
    const known = Array.from(FIELDS.values(), ({ field }) => field);
    const unknown = fields.filter(
      (field) => !known.some((one) => one === field || one.endsWith(`.${field}`) || one.startsWith(field)),
    );
    expect(fields.length).toBeGreaterThan(50);
    expect(unknown).toEqual([]);
  });
});

/** `a.{b, c.d.*}` as `a.b` and `a.c.d.`. */
function expand(name: string): string[] {
  const braces = /^(.*)\{(.*)\}$/.exec(name);
  const names = braces ? (braces[2] ?? '').split(',').map((one) => `${braces[1]}${one.trim()}`) : [name];
  return names.map((one) => one.replace(/\*$/, ''));
}
