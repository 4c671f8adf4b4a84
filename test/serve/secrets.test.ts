/** What a kubeconfig keeps secret stays so: in logs however much they say, in what is printed, and in every answer. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { configure } from '../../src/cli/commands/kube-proxy.ts';
import { DaemonServers } from '../../src/cli/daemon-servers.ts';
import { flagTexts } from '../../src/cli/flag-texts.ts';
import { createSource, tapped } from '../../src/cli/source.ts';
import { ProxyMetrics } from '../../src/metrics/proxy-metrics.ts';
import { NodeProxy } from '../../src/proxy.ts';
import { cli, startCli } from '../cli/cli.ts';
import { type ApiServer, startApiServer } from '../support/apiserver/apiserver.ts';
import { kubeconfigText } from '../support/apiserver/kubeconfig.ts';
import { endpointSlice, node, service } from '../support/apiserver/samples.ts';
import { FakeBackend } from '../support/fake-backend.ts';
import { freePort } from '../support/free-port.ts';
import { optionsOf } from '../support/node-under-test.ts';
import { rawRequest } from '../support/raw-http.ts';
import { until } from '../support/until.ts';

// Each start of the program takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const SECRET = 'sEcReT-0123456789';
/** As it is, and as it is in an Authorization header of user name and password. */
const FORMS = [SECRET, SECRET.slice(0, 9), Buffer.from(`me:${SECRET}`).toString('base64')];

const cleanups: (() => Promise<unknown>)[] = [];
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'secrets-'));
  cleanups.push(() => rm(directory, { recursive: true }));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function put(name: string, content: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, content);
  return path;
}

async function serve(token?: string): Promise<ApiServer> {
  const objects = [
    node('node1', '192.0.2.1'),
    service('web', '10.96.0.10'),
    endpointSlice('web-1', 'web', ['10.244.1.5']),
  ];
  const api = await startApiServer({ objects, ...(token === undefined ? {} : { token }) });
  cleanups.push(api.close);
  return api;
}

/** Forwards to wherever it is told, and notes what it was asked with. */
async function forwardProxy(): Promise<{ readonly port: number; readonly heard: string[] }> {
  const heard: string[] = [];
  const server = createServer((_, response) => response.writeHead(502).end());
  server.on('connect', (request, socket) => {
    heard.push(request.headers['proxy-authorization'] ?? '');
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  return { port: (server.address() as AddressInfo).port, heard };
}

const expectNoSecret = (text: string) => {
  for (const form of FORMS) expect(text).not.toContain(form);
};

async function plugin(script: string): Promise<Record<string, unknown>> {
  await chmod(await put('plugin.sh', `#!/bin/sh\n${script}\n`), 0o755);
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: './plugin.sh',
    args: ['--password', SECRET],
    env: [{ name: 'PASSWORD', value: SECRET }],
    interactiveMode: 'Never',
  };
  return { exec };
}

type User = () => Record<string, unknown> | Promise<Record<string, unknown>>;
const USERS: readonly [string, User][] = [
  ['a token', () => ({ token: SECRET })],
  [
    'a token file',
    async () => {
      await put('token', SECRET);
      return { tokenFile: 'token' };
    },
  ],
  [
    'an exec plug-in',
    () =>
      plugin(
        `printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$PASSWORD"`,
      ),
  ],
];

/** Everything a command says at the highest verbosity, in both formats. */
const LOUD = ['--mode=nftables', '-v', '10', '--node-name', 'node1'];

describe.each(USERS)('%s', (_, user) => {
  test('is in no dump, and in no line about its being refused', async () => {
    const api = await serve(SECRET);
    const kubeconfig = await put('config', kubeconfigText(api.url, await user()));
    for (const format of ['text', 'json']) {
      const args = ['dump', ...LOUD, '--kubeconfig', kubeconfig, `--logging-format=${format}`];
      const { code, stdout, stderr } = await cli(args);
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('10.244.1.5') });
      expectNoSecret(`${stdout}${stderr}`);
    }
    api.setToken('another');
    const { code, stdout, stderr } = await cli(['dump', ...LOUD, '--kubeconfig', kubeconfig]);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('HTTP 401'),
    });
    expectNoSecret(stderr);
  });

  test('is in no line of a program that runs, is cut off and is refused', async () => {
    const api = await serve(SECRET);
    const kubeconfig = await put('config', kubeconfigText(api.url, await user()));
    const child = startCli(['run', '--dry-run', ...LOUD, '--oom-score-adj=0', '--kubeconfig', kubeconfig]);
    cleanups.push(async () => {
      child.kill('SIGKILL');
      await child;
    });
    let seen = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        seen += chunk.toString();
      });
    }
    await until(() => seen.includes('10.244.1.5') && api.watches() >= 3);
    api.setToken('another');
    api.cut();
    await until(() => seen.includes('HTTP 401'));
    child.kill('SIGTERM');
    expect((await child).exitCode).toBe(0);
    expectNoSecret(seen);
  });
});

test('a password, for the server or for a proxy on the way', async () => {
  const api = await serve();
  const direct = await put('config', kubeconfigText(api.url, { username: 'me', password: SECRET }));
  const { code, stdout, stderr } = await cli(['dump', ...LOUD, '--kubeconfig', direct]);
  expect(code).toBe(0);
  expect(api.requests[0]?.headers.authorization).toContain(FORMS[2]);
  expectNoSecret(`${stdout}${stderr}`);

  const proxy = await forwardProxy();
  const cluster = { 'proxy-url': `http://me:${SECRET}@127.0.0.1:${proxy.port}` };
  const server = api.url.replace('http:', 'https:');
  const viaProxy = await put('via-proxy', kubeconfigText(server, { token: SECRET }, cluster));
  const refused = await cli(['dump', ...LOUD, '--kubeconfig', viaProxy]);
  expect(refused.code).toBe(1);
  expect(proxy.heard[0]).toContain(FORMS[2]);
  expectNoSecret(`${refused.stdout}${refused.stderr}`);
});

test('a password in the URL of --master', async () => {
  const api = await serve();
  const withPassword = api.url.replace('http://', `http://me:${SECRET}@`);
  const { code, stdout, stderr } = await cli(['dump', ...LOUD, '--master', withPassword]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('10.244.1.5') });
  expectNoSecret(`${stdout}${stderr}`);

  const written = join(directory, 'written.yaml');
  const writing = await cli([
    'kube-proxy',
    '-v=10',
    `--master=${withPassword}`,
    `--write-config-to=${written}`,
  ]);
  expect(writing.code).toBe(0);
  expectNoSecret(`${writing.stderr}${await readFile(written, 'utf8')}`);

  for (const args of [
    ['dump', ...LOUD, `--master=http://me:${SECRET}@127.0.0.1:1`],
    ['dump', ...LOUD, `--master=http://me:${SECRET}@127.0.0.1 :1`],
    ['dump', ...LOUD, `--master=http://me:/${SECRET}@127.0.0.1`],
    ['dump', ...LOUD, `--master=me:${SECRET}@127.0.0.1 :1`],
    ['dump', `--mastr=http://me:${SECRET}@127.0.0.1`],
    ['kube-proxy', `--mastr=http://me:${SECRET}@127.0.0.1`],
    ['kube-proxy', `http://me:${SECRET}@127.0.0.1`],
  ]) {
    const refused = await cli(args);
    expect([args, refused.code, refused.stdout]).toEqual([args, 1, '']);
    expect(refused.stderr).toContain('error: ');
    expectNoSecret(refused.stderr);
  }
});

test('a plug-in that fails, or says something else', async () => {
  for (const script of ['exit 7', 'echo "{}"', 'printf %s "$PASSWORD"']) {
    const user = await plugin(script);
    const kubeconfig = await put('config', kubeconfigText('http://127.0.0.1:1', user));
    const { code, stdout, stderr } = await cli(['dump', ...LOUD, '--kubeconfig', kubeconfig]);
    expect([script, code, stdout]).toEqual([script, 1, '']);
    expect(stderr).toContain('error: ');
    expectNoSecret(stderr);
  }
});

test('a kubeconfig that is no YAML on the very line', async () => {
  const whole = kubeconfigText('http://127.0.0.1:1', { token: SECRET });
  const broken = whole.replace(`token: ${SECRET}`, `token: "${SECRET}" oops`);
  expect(broken).not.toBe(whole);
  for (const text of [broken, `users: [{token: ${SECRET}}`, `token: "${SECRET}`]) {
    const kubeconfig = await put('config', text);
    const { code, stdout, stderr } = await cli(['dump', ...LOUD, '--kubeconfig', kubeconfig]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: kubeconfig \S+: line \d+, column \d+: is no YAML \(/m);
    expectNoSecret(stderr);
  }
});

test('no answer of a server, no Event and no line of the log has it', async () => {
  const api = await serve(SECRET);
  const kubeconfig = await put('config', kubeconfigText(api.url, { token: SECRET }));
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });
  const metricsPort = await freePort();
  const options = optionsOf({
    kubeconfig,
    proxyMode: 'nftables',
    minSyncPeriod: '0s',
    healthzBindAddress: '',
    metricsBindAddress: `127.0.0.1:${metricsPort}`,
  });
  const kubeProxy = new Command();
  configure(kubeProxy);
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    `--master=${api.url.replace('http://', `http://me:${SECRET}@`)}`,
  ];
  kubeProxy.action(() => undefined).parse(flags, { from: 'user' });
  const runner = { run: () => Promise.reject(new Error('there are no tools')) };
  const metrics = new ProxyMetrics({ mode: 'nftables', version: 'v0.1.0', featureGates: [], runner });
  const source = await createSource(options, 'node1', true, log, metrics.hooks);
  const servers = new DaemonServers({
    options,
    flags: flagTexts(kubeProxy),
    nodeName: 'node1',
    families: ['IPv4'],
    requiredKinds: ['Service', 'EndpointSlice', 'Node'],
    nodeAddresses: () => ['127.0.0.1'],
    metrics,
    transport: source.transport,
    log,
  });
  const proxy = new NodeProxy({
    options,
    nodeName: 'node1',
    source: tapped(source, servers.tap),
    backends: [new FakeBackend('nftables', 'IPv4')],
    nodeAddresses: () => ['127.0.0.1'],
    log,
    observers: servers.observers,
    requiredKinds: ['Service', 'EndpointSlice', 'Node'],
  });
  const over = new AbortController();
  await servers.start(proxy);
  const running = proxy.run(over.signal);
  cleanups.push(async () => {
    over.abort();
    metrics.close();
    await Promise.all([running, servers.close()]);
  });
  await until(async () => (await rawRequest(metricsPort, 'GET /readyz')).includes('200 OK'));
  await until(() => api.requests.some(({ method, status }) => method === 'POST' && status === 201));
  const list = await fetch(`${api.url}/apis/events.k8s.io/v1/events`, {
    headers: { authorization: `Bearer ${SECRET}` },
  });
  const events = await list.text();
  expect(events).toContain('"Starting"');
  api.setToken('another');
  api.cut();
  await until(() => lines.join('').includes('HTTP 401'));
  const told = await Promise.all(
    ['/metrics', '/metrics/slis', '/configz', '/flagz', '/statusz', '/readyz?verbose', '/healthz'].map(
      (path) => rawRequest(metricsPort, `GET ${path}`),
    ),
  );
  expect(told.join('')).toContain(kubeconfig);
  expect(told.join('')).toContain(api.url);
  expectNoSecret([...told, ...lines, events].join(''));
});
