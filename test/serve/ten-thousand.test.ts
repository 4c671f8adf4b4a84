/** 10,000 connections to the health check: idle ones, and ones that stop in the middle of a request. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { afterEach, expect, test } from 'vitest';
import { softLimit } from '../../src/metrics/process.ts';
import { rawAnswer, rawRequest } from '../support/raw-http.ts';
import { until } from '../support/until.ts';

const SERVERS = resolve(import.meta.dirname, '../support/serve-process.ts');
const CONNECTIONS = 10_000;
const BATCH = 500;
/** File descriptors that the process with the servers may have: what is a common limit, and few for this. */
const SERVER_FDS = 1024;
/** What the manifests give a probe: `timeoutSeconds`. */
const PROBE_MS = 3000;

const filesMayBeOpen = () => softLimit(readFileSync('/proc/self/limits', 'latin1'), 'Max open files');

/** Why so many connections cannot be opened from here; `undefined` when they can. */
function tooFewFiles(): string | undefined {
  const wanted = CONNECTIONS + 1000;
  if (filesMayBeOpen() >= wanted) return undefined;
  const { status } = spawnSync('prlimit', [`--pid=${process.pid}`, `--nofile=${wanted}:${wanted}`]);
  return status === 0 && filesMayBeOpen() >= wanted
    ? undefined
    : `only ${filesMayBeOpen()} files may be open here, and that cannot be raised`;
}

const missing =
  spawnSync('prlimit', ['--version']).status === 0 ? tooFewFiles() : 'there is no prlimit (util-linux)';

const sockets: Socket[] = [];
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

interface Served {
  readonly healthz: number;
  readonly tools: number;
  readonly pid: number;
}

async function serve(): Promise<Served> {
  const child = execa('prlimit', [`--nofile=${SERVER_FDS}:${SERVER_FDS}`, process.execPath, SERVERS]);
  cleanups.push(async () => {
    child.stdin.end();
    await child;
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return JSON.parse(line) as Served;
}

async function open(port: number, sent: string): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  // Being closed by the server is what may happen to it.
  socket.on('error', () => {});
  sockets.push(socket);
  await once(socket, 'connect');
  if (sent !== '') socket.write(sent);
}

/** A probe as kubelet makes it: a connection of its own, and so much time. */
async function probe(port: number, path: string): Promise<string> {
  const answer = rawRequest(port, `GET ${path}`);
  const late = sleep(PROBE_MS, undefined, { ref: false }).then(() => {
    throw new Error(`no answer within ${PROBE_MS} ms`);
  });
  return Promise.race([answer, late]);
}

const openFiles = ({ pid }: Served) => readdirSync(`/proc/${pid}/fd`).length;
const residentBytes = ({ pid }: Served) =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

const WELL = /^HTTP\/1\.1 200 OK\r\n.*"healthy":true/s;

const name = 'probes are answered, tools can be run, and neither memory nor file descriptors grow';
test.skipIf(missing)(missing ? `${name} (skipped: ${missing})` : name, { timeout: 120_000 }, async () => {
  const served = await serve();
  expect(await probe(served.healthz, '/livez')).toMatch(WELL);
  const before = residentBytes(served);
  let files = 0;
  for (let opened = 0; opened < CONNECTIONS; opened += BATCH) {
    await Promise.all(
      Array.from({ length: BATCH }, (_, index) =>
        open(served.healthz, index % 2 === 0 ? '' : 'GET /livez HTTP/1.1\r\nHost: x\r\nX-Half: '),
      ),
    );
    expect(await probe(served.healthz, '/livez')).toMatch(WELL);
    expect(await probe(served.tools, '/')).toBe(rawAnswer('200 OK', [], 'it runs'));
    files = Math.max(files, openFiles(served));
  }
  expect(sockets).toHaveLength(CONNECTIONS);
  // 256 connections of each server, and what Node.js has open itself.
  expect(files).toBeLessThan(700);
  expect(residentBytes(served) - before).toBeLessThan(128 * 1024 * 1024);
  // None is kept for long: a request has five seconds.
  await until(() => openFiles(served) < 100);
  expect(await probe(served.healthz, '/healthz')).toMatch(WELL);
});
