/** Paths that are not written as they are listed: in full, with escapes, with parts that mean nothing. */
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HealthState } from '../../src/serve/health-tracker.ts';
import { createHealthzServer } from '../../src/serve/healthz.ts';
import { ServiceHealthServers } from '../../src/serve/service-health.ts';
import { freePort } from '../support/free-port.ts';
import { bareMetricsServer } from '../support/metrics-server.ts';
import { rawAnswer, rawRequest } from '../support/raw-http.ts';

const log = pino({ level: 'silent' });
const where = { host: '127.0.0.1', port: 0, log };
const state: HealthState = {
  families: { IPv4: { lastUpdated: 1, oldestPending: 0 } },
  nodeEligible: true,
  syncPeriod: 30_000,
};
const answered: string[] = [];

const healthz = createHealthzServer({
  ...where,
  state: () => state,
  now: () => 1000,
  answered: (path, status) => answered.push(`${path} ${status}`),
});
const metrics = bareMetricsServer();
const services = new ServiceHealthServers({ family: 'IPv4', proxyHealthy: () => true, log });
const ports = { healthz: 0, metrics: 0, service: 0 };
const SERVERS = ['healthz', 'metrics', 'service'] as const;

beforeAll(async () => {
  await healthz.start();
  await metrics.start();
  const port = await freePort();
  await services.sync(new Map([['shop/web', { port, localEndpoints: 1 }]]), ['127.0.0.1']);
  Object.assign(ports, { healthz: healthz.address?.port, metrics: metrics.address?.port, service: port });
});
afterAll(() => Promise.all([healthz, metrics, services].map((server) => server.close())));

const TEXT = ['Content-Type: text/plain; charset=utf-8', 'X-Content-Type-Options: nosniff'];
const NOT_FOUND = rawAnswer('404 Not Found', TEXT, '404 page not found\n');

const ask = (server: (typeof SERVERS)[number], line: string) => rawRequest(ports[server], line);

test.for([
  'http://test/healthz',
  'http://other:80/healthz',
  'HTTPS://user@[::1]:10256/healthz',
  '/%68ealthz',
  'http://test/%68%65%61%6C%74%68%7a',
])('%s is /healthz', async (target) => {
  for (const server of ['healthz', 'metrics'] as const) {
    const answer = await ask(server, 'GET /healthz');
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(await ask(server, `GET ${target}`)).toBe(answer);
  }
});

test('the query stays what it is', async () => {
  const verbose = rawAnswer('200 OK', TEXT, '[+]ping ok\nhealthz check passed\n');
  for (const target of ['http://test/healthz?verbose', '/healthz%2Fping?verbose', '/%68ealthz?%zz&verbose']) {
    const expected = target.includes('ping') ? rawAnswer('200 OK', TEXT, 'ok') : verbose;
    expect(await ask('metrics', `GET ${target}`)).toBe(expected);
  }
});

test('what is counted is the path that was meant', async () => {
  answered.length = 0;
  for (const target of ['http://test/livez', '/%6civez', '//livez', '/%zz'])
    await ask('healthz', `GET ${target}`);
  expect(answered).toEqual(['/livez 200', '/livez 200']);
});

test.for<[string, string]>([
  ['//healthz', '/healthz'],
  ['/./healthz', '/healthz'],
  ['/a/../healthz', '/healthz'],
  ['/healthz/.', '/healthz'],
  ['//healthz/', '/healthz/'],
  ['//nothing', '/nothing'],
  ['//healthz?a=%2f&b', '/healthz?a=%2f&b'],
  ['http://test//healthz', '/healthz'],
  ['http://test', '/'],
  // No address of another server comes of it.
  ['//\\evil.example', '/%5Cevil.example'],
  ['//http://evil.example', '/http:/evil.example'],
])('the health check says where %s is', async ([target, location]) => {
  const headers = ['Content-Type: text/html; charset=utf-8', `Location: ${location}`];
  const body = `<a href="${location.replaceAll('&', '&amp;')}">Temporary Redirect</a>.\n\n`;
  const answer = rawAnswer('307 Temporary Redirect', headers, body);
  expect(await ask('healthz', `GET ${target}`)).toBe(answer);
  expect(await ask('healthz', `HEAD ${target}`)).toBe(answer.slice(0, -body.length));
});

test('what it says can be followed', async () => {
  const response = await fetch(`http://127.0.0.1:${ports.healthz}//livez`);
  expect([response.status, response.redirected, new URL(response.url).pathname]).toEqual([
    200,
    true,
    '/livez',
  ]);
});

test('no markup of a client comes back as such', async () => {
  expect(await ask('healthz', `GET //?"'<script>`)).toContain(
    '<a href="/?&#34;&#39;&lt;script&gt;">Temporary Redirect</a>',
  );
});

test.for(['//healthz', '/./healthz', '/metrics/../healthz', 'http://test', '/%2Fhealthz'])(
  'to the metrics server %s is another path, and to the port of a Service it is any',
  async (target) => {
    expect(await ask('metrics', `GET ${target}`)).toBe(NOT_FOUND);
    expect(await ask('service', `GET ${target}`)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  },
);

test.for([
  '/healthz%2F',
  '/%2Fhealthz',
  '/a%2F..%2Fhealthz',
  '/HEALTHZ',
  '/healthz%00',
  '/http://test/healthz',
])('GET %s is not there', async (target) => {
  expect(await ask('metrics', `GET ${target}`)).toBe(NOT_FOUND);
  if (!target.includes('//')) expect(await ask('healthz', `GET ${target}`)).toBe(NOT_FOUND);
});

const UNREADABLE =
  'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: 15\r\n\r\n400 Bad Request';
test.for(['/%', '/healthz%', '/%6', '/%zz', '/healthz%2', 'http://test/%g1', '*'])(
  'no server reads GET %s',
  async (target) => {
    for (const server of SERVERS) expect(await ask(server, `GET ${target}`)).toBe(UNREADABLE);
  },
);
