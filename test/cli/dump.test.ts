import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test, vi } from 'vitest';
import { cli, cliCommand } from './cli.ts';

// Each start of the program takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const FIXTURES = join(import.meta.dirname, '../fixtures/cli');
const MANIFESTS = join(FIXTURES, 'web');
const FLAGS = [
  '--mode=nftables',
  '--node-name',
  'worker-1',
  '--cluster-cidr',
  '10.244.0.0/16,fd00:10:244::/56',
];

test('prints the rules, and says what it left out', async () => {
  const { code, stdout, stderr } = await cli(['dump', '--manifests', MANIFESTS, ...FLAGS]);
  expect(code).toBe(0);
  expect(stderr.replaceAll(/^\[[\d:.]+\] /gm, '')).toBe(
    'WARN: Service default/web: spec.loadBalancerSourceRanges[1]: "not-a-cidr" is not a CIDR; ignored\n',
  );
  await expect(stdout).toMatchFileSnapshot(join(FIXTURES, 'web.nft'));
});

test('reads standard input, and gives the same for the same objects', async () => {
  const directory = await cli(['dump', '--manifests', MANIFESTS, ...FLAGS]);
  const input = await readFile(join(MANIFESTS, 'objects.yaml'), 'utf8');
  const piped = await cli(['dump', '--manifests', '-', ...FLAGS], { input });
  expect(piped.stdout).toBe(directory.stdout);
  const reversed = input.split(/^---$/m).toReversed().join('---\n');
  expect((await cli(['dump', '--manifests', '-', ...FLAGS], { input: reversed })).stdout).toBe(
    directory.stdout,
  );
});

test('what does not parse fails, names the place and prints no rules', async () => {
  const { code, stdout, stderr } = await cli(['dump', '--manifests', '-'], { input: 'kind: [Service\n' });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^error: standard input:/m);
  expect(stderr).not.toMatch(/^ +at /m);
});

test('a reader that has enough ends it quietly', async () => {
  const [file, ...args] = cliCommand([
    'dump',
    '--manifests',
    MANIFESTS,
    ...FLAGS,
    '--logging-format',
    'json',
  ]);
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const stderr = text(child.stderr);
  const [code] = (await once(child, 'close')) as [number];
  expect(code).toBe(0);
  expect((await stderr).trim().split('\n')).toHaveLength(1);
});

test('says so in one line when its output cannot be written', async () => {
  const [file, ...args] = cliCommand([
    'dump',
    '--manifests',
    MANIFESTS,
    ...FLAGS,
    '--logging-format',
    'json',
  ]);
  const full = await open('/dev/full', 'w');
  const child = spawn(file, args, { stdio: ['ignore', full.fd, 'pipe'] });
  const stderr = child.stderr === null ? '' : text(child.stderr);
  const [code] = (await once(child, 'close')) as [number];
  await full.close();
  expect(code).toBe(1);
  expect((await stderr).trim().split('\n').slice(1)).toEqual([
    'error: standard output: ENOSPC: no space left on device, write',
  ]);
});
