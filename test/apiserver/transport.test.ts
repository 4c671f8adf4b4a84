/** Requests over connections that are kept, also when the server closes them at the wrong moment. */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createTransport } from '../../src/source/api/transport.ts';
import { startApiServer } from '../support/apiserver/apiserver.ts';

const quiet = { info: () => {}, warn: () => {}, debug: () => {} };
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function transportTo(server: string, exchanges: string[] = []) {
  const transport = createTransport({
    credentials: { server, origin: 'test', access: async () => ({ tls: {}, headers: {} }), forget() {} },
    userAgent: 'kube-rulesync/test',
    hooks: { requestDone: (code, verb) => exchanges.push(`${code} ${verb}`) },
    log: quiet,
  });
  cleanups.push(async () => transport.close());
  return transport;
}

const request = { what: 'get version', path: '/version', responseMs: 10_000 };
const signal = new AbortController().signal;

test('a kept connection that the server has closed is replaced without a failure', async () => {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    let requests = 0;
    socket.on('data', () => {
      requests += 1;
      // Each connection serves one request; the second one is met with a reset.
      if (requests > 1) socket.resetAndDestroy();
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
    });
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const exchanges: string[] = [];
  const transport = transportTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, exchanges);
  for (let round = 0; round < 2; round++) {
    const response = await transport.send({ ...request, signal });
    expect(Buffer.concat(await response.toArray()).toString()).toBe('{}');
  }
  expect(connections).toBe(2);
  expect(exchanges).toEqual(['200 GET', '200 GET']);
});

test('objects can be posted, and a refusal is an error with its reason', async () => {
  const api = await startApiServer();
  cleanups.push(api.close);
  const transport = transportTo(api.url);
  const post = () =>
    transport.send({
      what: 'create event',
      method: 'POST',
      path: '/api/v1/namespaces/default/events',
      body: { metadata: { name: 'web.1' }, reason: 'Bad', note: 'ü' },
      signal,
      responseMs: 10_000,
    });
  const response = await post();
  expect(response.statusCode).toBe(201);
  response.resume();
  expect(api.get({ kind: 'Event', name: 'web.1' })).toMatchObject({ reason: 'Bad', note: 'ü' });
  await expect(post()).rejects.toMatchObject({
    reason: 'rejected',
    status: 409,
    message: 'create event: HTTP 409: events "web.1" already exists',
  });
});

test('a request that was cancelled before it began is not sent', async () => {
  const api = await startApiServer();
  cleanups.push(api.close);
  await expect(transportTo(api.url).send({ ...request, signal: AbortSignal.abort() })).rejects.toThrow(
    'get version: cancelled',
  );
  expect(api.requests).toEqual([]);
});

test.each([
  ['in HTML', 'Content-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>'],
  ['and never ends', 'Content-Type: application/json\r\nContent-Length: 600\r\n\r\n{"kind":"Status",'],
])('a refusal that explains itself %s still says what it can', async (_how, rest) => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', () => socket.write(`HTTP/1.1 502 Bad Gateway\r\n${rest}`));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const transport = transportTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await expect(transport.send({ ...request, responseMs: 300, signal })).rejects.toMatchObject({
    reason: 'server',
    message: 'get version: HTTP 502',
  });
});
