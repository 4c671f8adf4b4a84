/** Servers that many, or slow, or silent clients cannot take from others. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { Connections } from '../../src/serve/connections.ts';
import { Listener, type ListenerOptions } from '../../src/serve/http.ts';
import { ServiceHealthServers } from '../../src/serve/service-health.ts';
import { freePort } from '../support/free-port.ts';
import { bareMetricsServer } from '../support/metrics-server.ts';
import { rawAnswer, rawRequest } from '../support/raw-http.ts';
import { until } from '../support/until.ts';

const log = pino({ level: 'silent' });
const sockets: Socket[] = [];
const toClose: { close(): Promise<void> }[] = [];
let server: Listener;
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const one of toClose.splice(0)) await one.close();
});

async function start(options: Partial<ListenerOptions> = {}): Promise<number> {
  server = new Listener({
    name: 'test',
    host: '127.0.0.1',
    port: 0,
    answer: () => ({ status: 200, headers: {}, body: 'ok' }),
    log,
    ...options,
  });
  toClose.push(server);
  await server.start();
  return server.address?.port ?? 0;
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  // Being closed by the server is what may happen to it.
  socket.on('error', () => {});
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

const OK = rawAnswer('200 OK', [], 'ok');

/** However long it takes, none is closed for being silent. */
const PATIENT = { requestMs: 600_000, idleMs: 600_000 };

test('2,000 silent connections keep nobody out, and few of them stay', async () => {
  const port = await start({ limits: PATIENT });
  for (let batch = 0; batch < 20; batch += 1) {
    await Promise.all(Array.from({ length: 100 }, () => open(port)));
    expect(await rawRequest(port, 'GET /')).toBe(OK);
  }
  await until(() => server.connections <= 256);
  expect(server.connections).toBeGreaterThan(250);
  expect(await rawRequest(port, 'GET /')).toBe(OK);
});

async function startMetrics(): Promise<number> {
  const metrics = bareMetricsServer({ limits: PATIENT });
  toClose.push(metrics);
  await metrics.start();
  return metrics.address?.port ?? 0;
}

async function startServiceHealth(): Promise<number> {
  const options = { family: 'IPv4', proxyHealthy: () => true, log, limits: PATIENT } as const;
  const services = new ServiceHealthServers(options);
  toClose.push(services);
  const port = await freePort();
  await services.sync(new Map([['shop/web', { port, localEndpoints: 1 }]]), ['127.0.0.1']);
  return port;
}

test.for([
  ['the metrics server', startMetrics],
  ['the health check of a Service', startServiceHealth],
] as const)('1,000 connections to %s keep nobody out, and few of them stay', async ([, startServer]) => {
  const port = await startServer();
  const answer = await rawRequest(port, 'GET /healthz');
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  for (let batch = 0; batch < 10; batch += 1) {
    const batchOf = Array.from({ length: 100 }, () => open(port));
    for (const [index, socket] of (await Promise.all(batchOf)).entries()) {
      socket.resume();
      if (index % 2 === 0) socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nX-Half: ');
    }
    expect(await rawRequest(port, 'GET /healthz')).toBe(answer);
  }
  const kept = () => sockets.filter((socket) => !socket.closed).length;
  await until(() => kept() <= 256);
  expect([sockets.length, kept() > 250]).toEqual([1000, true]);
});

test('2,000 requests at once are all answered', async () => {
  const port = await start();
  const answers: string[] = [];
  for (let batch = 0; batch < 10; batch += 1) {
    answers.push(...(await Promise.all(Array.from({ length: 200 }, () => rawRequest(port, 'GET /')))));
  }
  expect(answers.length).toBe(2000);
  expect(new Set(answers)).toEqual(new Set([OK]));
  await until(() => server.connections === 0);
});

test('whoever asked last stays longest', async () => {
  const port = await start({ limits: { connections: 2 } });
  const first = await open(port);
  const second = await open(port);
  const closed: string[] = [];
  first.on('close', () => closed.push('first'));
  second.on('close', () => closed.push('second'));
  first.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(first, 'data');
  await open(port);
  await until(() => closed.length > 0);
  expect(closed).toEqual(['second']);
});

test('all servers together have a limit too, which takes the quietest of any', async () => {
  const all = new Connections(2);
  const other = new Listener({
    name: 'other',
    host: '127.0.0.1',
    port: 0,
    answer: () => ({ status: 200, headers: {}, body: 'ok' }),
    log,
    all,
  });
  await other.start();
  try {
    const port = await start({ all });
    const [first, second] = [await open(other.address?.port ?? 0), await open(port)];
    await until(() => all.size === 2);
    const third = await open(port);
    await until(() => first.destroyed);
    expect([second.destroyed, third.destroyed, other.connections, server.connections]).toEqual([
      false,
      false,
      0,
      2,
    ]);
  } finally {
    await other.close();
  }
});

test('a client that does not take its answer is cut off, and one that does is not', async () => {
  // More than the buffers of a connection hold.
  const body = 'x'.repeat(24 * 1024 * 1024);
  const answer = () => ({ status: 200, headers: {}, body });
  const slow = await open(await start({ answer, limits: { answerMs: 200 } }));
  slow.pause();
  slow.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => server.connections === 1);
  await until(() => server.connections === 0);
  await server.close();
  const whole = await rawRequest(await start({ answer, limits: { answerMs: 60_000 } }), 'GET /');
  expect(whole.length).toBe(rawAnswer('200 OK', [], body).length);
});

test.for([
  ['nothing', ''],
  ['half a line', 'GET /'],
  ['headers without an end', 'GET / HTTP/1.1\r\nHost: x\r\nX: '],
] as const)('a client that sends %s is cut off', async ([, text]) => {
  const port = await start({ limits: { requestMs: 100, idleMs: 1000 } });
  const slow = await open(port);
  slow.resume();
  slow.write(text);
  await until(() => server.connections === 1);
  await until(() => server.connections === 0);
});

test('a client that sends a byte now and then is cut off too', async () => {
  const port = await start({ limits: { requestMs: 200, idleMs: 60_000 } });
  const slow = await open(port);
  slow.resume();
  const drip = setInterval(() => slow.write('x'), 20);
  slow.write('GET / HTTP/1.1\r\nHost: x\r\nX: ');
  try {
    await until(() => slow.closed);
  } finally {
    clearInterval(drip);
  }
  expect(server.connections).toBe(0);
});

test('an answer that fails is 500, and the next one is given', async () => {
  let fail = true;
  const port = await start({
    answer: async () => {
      if (fail) throw new Error('broken');
      return { status: 200, headers: {}, body: 'ok' };
    },
  });
  expect(await rawRequest(port, 'GET /')).toBe(
    rawAnswer(
      '500 Internal Server Error',
      ['Content-Type: text/plain; charset=utf-8', 'X-Content-Type-Options: nosniff'],
      'internal server error\n',
    ),
  );
  fail = false;
  expect(await rawRequest(port, 'GET /')).toBe(OK);
});
