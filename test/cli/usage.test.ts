import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test, vi } from 'vitest';
import { MODES } from '../../backends/registry.ts';
import { VERSION } from '../../src/version.ts';
import { startApiServer } from '../support/apiserver/apiserver.ts';
import { cli, cliCommand } from './cli.ts';

// Each start of the program takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const HELP = `Usage: kube-rulesync [options] [command]

Does kube-proxy's job: watches Services and EndpointSlices and programs this
node's kernel.

Options:
  --version       print the version of this program
  -h, --help      print this help

Commands:
  run             program this node, and keep it up to date
  dump            print the rules for a node, and change nothing
  cleanup         remove the rules of every mode
  kube-proxy      the same as run, with kube-proxy's flags and defaults
  version         print the version of this program and of the tools it uses
  help [command]  print the help of a command

Examples:
  kube-rulesync run --kubeconfig /etc/kube-rulesync/kubeconfig --cluster-cidr 10.244.0.0/16
  kube-rulesync dump --manifests ./manifests --node-name worker-1
  kube-rulesync run --help

`;

test.for([['--help'], ['-h'], ['help']])('%o', async (args) => {
  expect(await cli(args)).toEqual({ code: 0, stdout: HELP, stderr: '' });
});

test('no command is an error that shows the help', async () => {
  expect(await cli([])).toEqual({ code: 1, stdout: '', stderr: HELP });
});

test('each command has help with examples', async () => {
  for (const [command, line] of [
    ['run', '  -v, --v <level>               log verbosity: 0 to 3 for information, from 4'],
    ['dump', '  --masquerade-all              masquerade all traffic to cluster IPs'],
    ['cleanup', '  --ipvs-exclude-cidrs <cidr,...>'],
    ['version', '  -o, --output <format>'],
  ] as const) {
    const direct = await cli([command, '--help']);
    expect(direct).toMatchObject({ code: 0, stderr: '' });
    expect(direct.stdout).toMatch(new RegExp(`^Usage: kube-rulesync ${command} \\[options\\]\n`));
    expect(direct.stdout).toContain(`\n${line}`);
    expect(direct.stdout).toMatch(new RegExp(`\nExamples:\n(.*\n)*  kube-rulesync ${command}`));
    expect(await cli(['help', command])).toEqual(direct);
  }
});

test('version', async () => {
  expect(await cli(['version'])).toEqual({ code: 0, stdout: 'kube-rulesync v0.1.0\n', stderr: '' });
  expect(await cli(['--version'])).toEqual({ code: 0, stdout: 'kube-rulesync v0.1.0\n', stderr: '' });
  const manifest = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
  expect(VERSION).toBe(`v${manifest.version}`);
});

test('version -o json', async () => {
  const { code, stdout, stderr } = await cli(['version', '-o', 'json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const version = /^\d+\.\d+/;
  const tool = expect.toSatisfy((value) => value === null || version.test(String(value)));
  expect(JSON.parse(stdout)).toEqual({
    version: 'v0.1.0',
    node: process.version,
    kernel: expect.stringMatching(version),
    tools: { nft: tool, iptables: tool, ipset: tool, ipvsadm: tool, conntrack: tool },
  });
});

const NODE_NAME =
  'must be the name of a Node: parts of letters, digits and -, separated by dots, each with a letter or digit at both ends; at most 253 characters';

test.for<[string[], string]>([
  [['rnu'], "error: unknown command 'rnu'\n(Did you mean run?)\n"],
  [['help', 'rnu'], "error: unknown command 'rnu'\n(Did you mean run?)\n"],
  [['run', '--manifest', 'x'], "error: unknown option '--manifest'\n(Did you mean --manifests?)\n"],
  [['dump', '--oom-score-adj=1'], "error: unknown option '--oom-score-adj=1'\n"],
  [['run', '--kubeconfig'], "error: option '--kubeconfig <path>' argument missing\n"],
  [['run', 'fast'], "error: too many arguments for 'run'. Expected 0 arguments but got 1: fast.\n"],
  [
    ['version', '-o', 'xml'],
    "error: option '-o, --output <format>' argument 'xml' is invalid. Allowed choices are text, json.\n",
  ],
  [['run', '--mode', 'userspace'], `error: --mode "userspace": must be ${MODES.join(' or ')}\n`],
  [['run', '--proxy-mode=userspace'], `error: --proxy-mode "userspace": must be ${MODES.join(' or ')}\n`],
  [['run', '-v=high'], 'error: -v "high": must be a whole number from 0 to 2147483647\n'],
  [['run', '--v=high'], 'error: --v "high": must be a whole number from 0 to 2147483647\n'],
  // The one that counts is the last.
  [['run', '--v=1', '-v', 'high'], 'error: -v "high": must be a whole number from 0 to 2147483647\n'],
  [['dump', '--node-name', 'N 1'], `error: --node-name "N 1": ${NODE_NAME}\n`],
  [['dump', '--hostname-override=a_b'], `error: --hostname-override "a_b": ${NODE_NAME}\n`],
  [
    ['run', '--iptables_masquerade_bit=32', '--oom-score-adj', '-1001'],
    'error: --iptables-masquerade-bit "32": must be a whole number from 0 to 31\nerror: --oom-score-adj "-1001": must be a whole number from -1000 to 1000\n',
  ],
  [
    ['run', '--nodeport-addresses', '10.0.0.0/8', '--nodeport-addresses', 'primary'],
    'error: --nodeport-addresses "10.0.0.0/8,primary": must be CIDRs separated by commas, or the word primary alone\n',
  ],
  [
    ['dump', '--manifests', 'x', '--master', 'http://127.0.0.1:1'],
    'error: --manifests "x": must not be given together with --kubeconfig or --master\n',
  ],
  [['dump', '--manifests', '/not/there'], 'error: /not/there: there is no such file or directory\n'],
  [
    ['run', '--manifests', '/not/there', '--dry-run'],
    'error: /not/there: there is no such file or directory\n',
  ],
])('%o fails with a reason', async ([args, stderr]) => {
  const result = await cli(args);
  expect({ ...result, stderr: withoutLogs(result.stderr) }).toEqual({ code: 1, stdout: '', stderr });
});

/** Leaves out lines of the log, which are JSON where there is no terminal. */
function withoutLogs(stderr: string): string {
  return stderr
    .split('\n')
    .filter((line) => !line.startsWith('{'))
    .join('\n');
}

describe('dump, from an API server', () => {
  test('that is not there, ends at once', async () => {
    expect(await cli(['dump', '--master', 'http://127.0.0.1:1'])).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^error: watch \w+: http:\/\/127\.0\.0\.1:1: connect ECONNREFUSED 127\.0\.0\.1:1\n$/,
      ) as string,
    });
  });

  test('that is something else, ends at once', async () => {
    const server = createServer((_, response) => response.writeHead(404).end('not here'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const requests: (string | undefined)[] = [];
    server.on('request', ({ url: path }) => requests.push(path?.replace(/\?.*/, '')));
    try {
      const { code, stdout, stderr } = await cli(['dump', '--master', url]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(
        /^error: http:\/\/127\.0\.0\.1:\d+: watch \w+: HTTP 404; is this a Kubernetes API server, and does it serve \/\S+\?\n$/,
      );
      // Each resource was asked for once at most.
      expect(new Set(requests).size).toBe(requests.length);
    } finally {
      server.close();
    }
  });

  test('that is busy at first, waits for it', async () => {
    const server = await startApiServer({
      objects: [{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-1' } }],
    });
    try {
      server.fail({ status: 503, count: 2, resource: 'services' });
      const args = ['dump', '--mode=nftables', '--master', server.url, '--node-name', 'worker-1'];
      const { code, stdout, stderr } = await cli(args);
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringContaining('WARN: failed; will try again') as string,
      });
      expect(stdout).toMatch(/^add table ip kube-proxy/);
    } finally {
      await server.close();
    }
  });
});

test('nothing is in colour where there is no terminal', async () => {
  const { stderr } = await cli(['dump', '--master', 'http://127.0.0.1:1'], { env: { NO_COLOR: '1' } });
  expect(stderr).not.toContain('\u001b');
});

test('a reader that has enough ends the program quietly', async () => {
  const [file, ...args] = cliCommand(['run', '--help']);
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const stderr = text(child.stderr);
  const [code] = (await once(child, 'close')) as [number];
  expect({ code, stderr: await stderr }).toEqual({ code: 0, stderr: '' });
});
