import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const FIXTURES = join(ROOT, 'test/fixtures/cli');

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'build-'));
  await execa(process.execPath, [join(ROOT, 'scripts/build.ts'), join(directory, 'dist')]);
}, 120_000);
afterAll(() => rm(directory, { recursive: true }));

/** Runs what was built where there are no packages to fall back on. */
async function built(...args: string[]) {
  const { exitCode, stdout, stderr } = await execa(
    process.execPath,
    [join(directory, 'dist/kube-rulesync.js'), ...args],
    {
      cwd: directory,
      env: { PATH: process.env.PATH ?? '' },
      extendEnv: false,
      reject: false,
      stripFinalNewline: false,
    },
  );
  return { code: exitCode, stdout, stderr };
}

test('the command can be executed', async () => {
  const file = join(directory, 'dist/kube-rulesync.js');
  expect((await stat(file)).mode & 0o111).toBe(0o111);
  expect(await readFile(file, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  expect(await built('version')).toEqual({ code: 0, stdout: 'kube-rulesync v0.1.0\n', stderr: '' });
}, 120_000);

test('it reads manifests and prints the same rules as from source', async () => {
  const { code, stdout } = await built(
    'dump',
    '--manifests',
    join(FIXTURES, 'web'),
    '--mode=nftables',
    '--node-name=worker-1',
    '--cluster-cidr=10.244.0.0/16,fd00:10:244::/56',
  );
  expect(code).toBe(0);
  expect(stdout).toBe(await readFile(join(FIXTURES, 'web.nft'), 'utf8'));
}, 120_000);

test('it reads a kubeconfig and asks that server', async () => {
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'here', user: 'me' } }],
    clusters: [{ name: 'here', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'me', user: { token: 'secret' } }],
  };
  await writeFile(join(directory, 'kubeconfig'), JSON.stringify(kubeconfig));
  const { code, stdout, stderr } = await built('dump', '--kubeconfig', 'kubeconfig');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^error: .*https:\/\/127\.0\.0\.1:1: connect ECONNREFUSED 127\.0\.0\.1:1$/m);
}, 120_000);
