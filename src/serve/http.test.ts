import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import pino from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { joinHostPort, Listener, type ListenerOptions } from './http.ts';

const toClose: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of toClose.splice(0)) await one.close();
});

const lines: string[] = [];
const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(line) });

function listener(options: Partial<ListenerOptions> = {}): Listener {
  const created = new Listener({
    name: 'test',
    host: '127.0.0.1',
    port: 0,
    answer: (path) => ({ status: 200, headers: { 'X-Path': path }, body: 'héllo' }),
    log,
    ...options,
  });
  toClose.push(created);
  return created;
}

async function started(options: Partial<ListenerOptions> = {}): Promise<AddressInfo> {
  const created = listener(options);
  await created.start();
  return created.address ?? expect.unreachable('it listens');
}

/** Sends this text, and gives what comes back until the server ends the connection. */
async function exchange(port: number, request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const reply = text(socket);
  socket.write(request);
  return (await reply).replace(/^Date: .*\r\n/m, '');
}

test('answers GET, without the query, and says how long the body is', async () => {
  const { port } = await started();
  const reply = await exchange(port, 'GET /a/b?c=d HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect(reply).toBe(
    'HTTP/1.1 200 OK\r\nX-Path: /a/b\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhéllo',
  );
});

test('answers HEAD with the same headers', async () => {
  const { port } = await started();
  const reply = await exchange(port, 'HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect(reply).toBe('HTTP/1.1 200 OK\r\nX-Path: /\r\nContent-Length: 6\r\nConnection: close\r\n\r\n');
});

test.for(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('%s is not allowed', async (method) => {
  const { port } = await started();
  const response = await fetch(`http://127.0.0.1:${port}/`, { method });
  expect([response.status, response.headers.get('allow'), await response.text()]).toEqual([
    405,
    'GET, HEAD',
    'method not allowed\n',
  ]);
});

test('does not wait for a body', async () => {
  const { port } = await started();
  const reply = await exchange(port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n');
  expect(reply).toMatch(/^HTTP\/1\.1 405 .*Connection: close/s);
});

test('refuses headers without end', async () => {
  const { port } = await started();
  const reply = await exchange(port, `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(9000)}\r\n\r\n`);
  expect(reply).toMatch(/^HTTP\/1\.1 431 /);
});

test('closing ends open connections', async () => {
  const created = listener();
  await created.start();
  const socket = connect(created.address?.port ?? 0, '127.0.0.1');
  await once(socket, 'connect');
  const ended = once(socket, 'close');
  await created.close();
  await ended;
  expect(created.address).toBeUndefined();
});

/** A port that something else has. */
async function taken(): Promise<{ port: number; server: Server }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  toClose.push(server);
  return { port: (server.address() as AddressInfo).port, server };
}

test('a taken port is logged and tried again until it is free, which is logged too', async () => {
  lines.length = 0;
  const { port, server } = await taken();
  const created = listener({ port, retryMs: 10 });
  await created.start();
  expect(created.address).toBeUndefined();
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
    level: 50,
    attempts: 1,
    msg: 'The test server cannot listen; it will be tried again',
    retryInMs: 10,
    err: {
      message: `test server on 127.0.0.1:${port}: listen EADDRINUSE: address already in use 127.0.0.1:${port}`,
    },
  });
  // Told again, but not each time.
  await vi.waitFor(() => expect(lines).toHaveLength(2), 10_000);
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({ level: 50, attempts: 13 });
  server.close();
  await vi.waitFor(() => expect(created.address?.port).toBe(port), 10_000);
  const last = JSON.parse(lines.at(-1) ?? '') as { attempts: number };
  expect(last).toMatchObject({ level: 30, msg: 'The test server listens now', address: { port } });
  expect(last.attempts).toBeGreaterThan(13);
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
});

test('a taken port is an error when that is to be fatal', async () => {
  const { port } = await taken();
  await expect(listener({ port }).start(true)).rejects.toThrow(
    `test server on 127.0.0.1:${port}: listen EADDRINUSE: address already in use 127.0.0.1:${port}`,
  );
});

test('closing ends the attempts', async () => {
  const { port } = await taken();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const created = listener({ port });
    await created.start();
    expect(vi.getTimerCount()).toBe(1);
    await created.close();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

async function hasIPv6(): Promise<boolean> {
  const probe = createTcpServer();
  const works = await new Promise<boolean>((resolve) => {
    probe.once('error', () => resolve(false));
    probe.listen(0, '::1', () => resolve(true));
  });
  probe.close();
  return works;
}

test('an unspecified address means both families, or one', async ({ skip }) => {
  if (!(await hasIPv6())) skip('this machine has no IPv6');
  const both = await started({ host: '0.0.0.0' });
  expect((await fetch(`http://[::1]:${both.port}/`)).status).toBe(200);
  expect((await fetch(`http://127.0.0.1:${both.port}/`)).status).toBe(200);
  const four = await started({ host: '0.0.0.0', oneFamily: true });
  // The same port is free in the other family.
  const six = await started({ host: '::', port: four.port, oneFamily: true });
  expect([four.family, six.family, six.port]).toEqual(['IPv4', 'IPv6', four.port]);
});

test('joins hosts and ports', () => {
  expect([joinHostPort('10.0.0.1', 80), joinHostPort('::1', 80)]).toEqual(['10.0.0.1:80', '[::1]:80']);
});
