/** What docs/install.md tells people to use: the unit of systemd, and every path and text it names. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { configure } from '../../src/cli/commands/kube-proxy.ts';
import { readConfiguration } from '../../src/config/configuration/read.ts';
import { parseOptions } from '../../src/config/options.ts';
import { VERSION } from '../../src/version.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const unit = read('manifests/systemd/kube-rulesync.service');
const guide = read('docs/install.md');

test('the unit starts the program with flags that it has, first with all rights and then with few', () => {
  const commands = [...unit.matchAll(/^(ExecStart\w*)=(.*)$/gm)].map(([, key, value]) => [key, value]);
  expect(commands).toEqual([
    [
      'ExecStartPre',
      '+/usr/local/bin/kube-rulesync kube-proxy --config=/etc/kube-rulesync/config.conf --init-only',
    ],
    ['ExecStart', '/usr/local/bin/kube-rulesync kube-proxy --config=/etc/kube-rulesync/config.conf'],
  ]);
  const program = new Command();
  configure(program);
  const known = program.options.map(({ long }) => long);
  for (const [, value = ''] of commands) {
    for (const [flag] of value.matchAll(/--[\w-]+/g)) expect(known).toContain(flag);
  }
  expect(unit).toContain('\nCapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW\n');
});

test('its configuration is one that the program takes', async () => {
  const { given, notices } = await readConfiguration(read('manifests/systemd/config.conf'), 'config.conf');
  expect(notices).toEqual([]);
  expect(parseOptions(given)).toMatchObject({
    ok: true,
    options: { proxyMode: 'nftables', kubeconfig: '/etc/kube-rulesync/kubeconfig.conf' },
  });
});

const verifiable = spawnSync('systemd-analyze', ['--version'], { stdio: 'ignore' }).status === 0;
test.skipIf(!verifiable)(
  `systemd understands the unit${verifiable ? '' : ' (skipped: there is no systemd-analyze)'}`,
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'unit-'));
    try {
      const file = join(directory, 'kube-rulesync.service');
      // The program is not installed where the tests run, and systemd looks for it.
      writeFileSync(file, unit.replaceAll('/usr/local/bin/kube-rulesync', '/bin/true'));
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
      // It also says what it finds of the machine's own units.
      const complaints = stderr.split('\n').filter((line) => line.includes('kube-rulesync.service'));
      expect({ status, complaints }).toEqual({ status: 0, complaints: [] });
    } finally {
      rmSync(directory, { recursive: true });
    }
  },
);

test('every file and folder that the guide names is there', () => {
  const paths = [...guide.matchAll(/\b(?:manifests|scripts|test)\/[\w./-]*\w/g)].map(([path]) => path);
  expect(paths.length).toBeGreaterThan(10);
  // `test/packets/*-life.test.ts` ends before its star.
  for (const path of new Set(paths)) expect([path, existsSync(join(ROOT, path))]).toEqual([path, true]);
});

test('what the guide has people replace is in the manifests', () => {
  const replaced = [...guide.matchAll(/-e 's\|([^|]+)\|/g)].map(([, text = '']) => text);
  expect(replaced).toEqual([
    'https://control-plane.example:6443',
    '10.244.0.0/16',
    `kube-rulesync:${VERSION}`,
  ]);
  const config = read('manifests/base/config.yaml');
  expect(config.split('https://control-plane.example:6443')).toHaveLength(2);
  expect(config.split('10.244.0.0/16')).toHaveLength(2);
});

test('its links lead to headings that it has', () => {
  const headings = [...guide.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
  for (const [, anchor] of guide.matchAll(/\]\(#([^)]+)\)/g)) expect(headings).toContain(anchor);
});
