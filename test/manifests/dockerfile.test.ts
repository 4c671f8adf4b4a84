/** The Dockerfile, held against hadolint's rules as far as they can be read off it. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** Without comments, and each on one line. */
const instructions: readonly Instruction[] = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  .split('\n')
  .filter((line) => !/^\s*#/.test(line))
  .join('\n')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line) => {
    const [name = '', ...words] = line.trim().split(/\s+/);
    return { name, text: words.join(' ') };
  });

function all(name: string): string[] {
  return instructions.filter((one) => one.name === name).map(({ text }) => text);
}

test('both stages start from one base, pinned by digest (DL3006, DL3007)', () => {
  expect(all('ARG')).toEqual([
    expect.stringMatching(/^BASE=docker\.io\/library\/debian:trixie-slim@sha256:[0-9a-f]{64}$/),
  ]);
  // hadolint-friendly `${…}` of Dockerfiles, no template of ours.
  expect(all('FROM')).toEqual([`$${'{BASE}'} AS build`, `$${'{BASE}'}`]);
});

test('packages are pinned, come alone, and leave no lists (DL3008, DL3009, DL3014, DL3015)', () => {
  const installs = all('RUN').filter((text) => text.includes('apt-get install'));
  expect(installs).toHaveLength(2);
  for (const text of installs) {
    const [, packages = ''] =
      /^apt-get update && apt-get install -y --no-install-recommends ([^&]+) && rm -rf \/var\/lib\/apt\/lists\/\*/.exec(
        text,
      ) ?? [];
    const names = packages.split(' ');
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) expect(name).toMatch(/^[a-z0-9-]+=[\d:.*-]+$/);
  }
  expect(installs[1]).toContain(' nftables=1.1.* ');
});

test('npm takes exactly what package-lock.json says (DL3016)', () => {
  expect(
    all('RUN').filter((text) => /\bnpm\b.*\b(ci|install)\b/.test(text) && !text.includes('apt-get')),
  ).toEqual(['npm ci --ignore-scripts --no-audit --no-fund']);
});

test('the build is not run by root, and nothing is with sudo (DL3002, DL3004, DL3046)', () => {
  const stage = instructions.slice(
    0,
    instructions.findLastIndex(({ name }) => name === 'FROM'),
  );
  const user = stage.findIndex(({ name }) => name === 'USER');
  expect(stage[user]).toEqual({ name: 'USER', text: 'build' });
  expect(stage.slice(user).every(({ name, text }) => name !== 'USER' || text === 'build')).toBe(true);
  expect(stage.slice(0, user).filter(({ name }) => name === 'RUN')).toHaveLength(1);
  for (const text of all('RUN')) expect(text).not.toMatch(/\bsudo\b|\bcd\b|apt-get (dist-)?upgrade|\|/);
  expect(all('RUN').join()).toContain('useradd --no-log-init ');
});

test('no two RUN follow one another, no ADD, one ENTRYPOINT in JSON (DL3020, DL3025, DL3059, DL4004)', () => {
  const names = instructions.map(({ name }) => name);
  expect(names.filter((name, index) => name === 'RUN' && names[index - 1] === 'RUN')).toEqual([]);
  expect([...new Set(names)].sort()).toEqual(
    ['ARG', 'COPY', 'ENTRYPOINT', 'FROM', 'LABEL', 'RUN', 'USER', 'WORKDIR'].sort(),
  );
  expect(all('ENTRYPOINT')).toEqual(['["/usr/local/bin/kube-rulesync"]']);
  expect(all('WORKDIR')).toEqual(['/home/build']);
});

test('what is copied is there, and is let through by .dockerignore', () => {
  const ignore = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
  expect(ignore.find((line) => line !== '' && !line.startsWith('#'))).toBe('*');
  const sources = all('COPY')
    .filter((text) => !text.startsWith('--from='))
    .flatMap((text) => text.split(' ').slice(1, -1));
  expect(sources).toEqual([
    'package.json',
    'package-lock.json',
    'LICENSE',
    'scripts/build.ts',
    'backends',
    'src',
  ]);
  for (const source of sources) {
    expect(existsSync(join(ROOT, source))).toBe(true);
    expect(ignore).toContain(`!${source}`);
  }
});
