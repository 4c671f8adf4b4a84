import { mkdtemp, rename, rm, unlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MountedConfigMap } from '../../test/support/config-map.ts';
import { until } from '../../test/support/until.ts';
import { configFileChanged, readConfigFile } from './config-file.ts';

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'config-file-'));
  path = join(directory, 'config.conf');
  await writeFile(path, 'before');
});
afterEach(() => rm(directory, { recursive: true }));

/** Watches a file from now on. */
async function watch(file: string, rescanMs = 3_600_000) {
  const over = new AbortController();
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line) => lines.push(line) });
  const changed = configFileChanged(await readConfigFile(file), over.signal, { log, rescanMs });
  return { changed, stop: () => over.abort(), lines };
}

describe('a file that says something else is noticed', () => {
  test('written over', async () => {
    const { changed } = await watch(path);
    await writeFile(path, 'after');
    expect(await changed).toBe(true);
  });

  test('replaced', async () => {
    const { changed } = await watch(path);
    await writeFile(join(directory, 'new'), 'after');
    await rename(join(directory, 'new'), path);
    expect(await changed).toBe(true);
  });

  test('changed before anybody watched', async () => {
    const file = await readConfigFile(path);
    await writeFile(path, 'after');
    const log = pino({ level: 'silent' });
    expect(await configFileChanged(file, AbortSignal.timeout(60_000), { log })).toBe(true);
  });

  test('in a ConfigMap', async () => {
    const map = await MountedConfigMap.create({ 'config.conf': 'before', 'kubeconfig.conf': 'same' });
    const { changed } = await watch(map.path('config.conf'));
    await map.update({ 'config.conf': 'after', 'kubeconfig.conf': 'same' });
    expect(await changed).toBe(true);
    await map.remove();
  });

  test('without a notice, when it is looked at again', async () => {
    const { changed, lines } = await watch(path, 20);
    await rm(directory, { recursive: true });
    await until(() => lines.length > 0);
    expect(lines[0]).toContain('The configuration file is gone; what it said stays in force');
    directory = await mkdtemp(join(tmpdir(), 'config-file-'));
    await rename(directory, join(path, '..'));
    directory = join(path, '..');
    await writeFile(path, 'after');
    expect(await changed).toBe(true);
  });
});

describe('a file that says the same is no change', () => {
  test('touched, written and replaced with the same text, gone for a moment', async () => {
    const { changed, stop, lines } = await watch(path, 20);
    await utimes(path, new Date(), new Date());
    await writeFile(path, 'before');
    await writeFile(join(directory, 'new'), 'before');
    await rename(join(directory, 'new'), path);
    await unlink(path);
    await until(() => lines.length > 0);
    await writeFile(path, 'before');
    await writeFile(join(directory, 'another'), 'file');
    stop();
    expect(await changed).toBe(false);
  });

  test('a ConfigMap of which another key changed', async () => {
    const map = await MountedConfigMap.create({ 'config.conf': 'before', 'kubeconfig.conf': 'before' });
    const { changed } = await watch(map.path('config.conf'));
    await map.update({ 'config.conf': 'before', 'kubeconfig.conf': 'after' });
    // It still watches what is there now.
    await map.update({ 'config.conf': 'after', 'kubeconfig.conf': 'after' });
    expect(await changed).toBe(true);
    await map.remove();
  });
});

test('a file that is not there is an error', async () => {
  await expect(readConfigFile('/not/there')).rejects.toThrow('--config "/not/there": there is no such file');
  await expect(readConfigFile('/')).rejects.toThrow('--config "/": cannot be read (EISDIR)');
});
