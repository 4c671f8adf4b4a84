/** Every answer of the daemon's servers, as it is on the wire: what kube-proxy 1.36 answers, headers included. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { LANGUAGE_VERSION } from '../../src/metrics/build-info.ts';
import { Counter } from '../../src/metrics/metric.ts';
import { Registry } from '../../src/metrics/registry.ts';
import type { HealthState } from '../../src/serve/health-tracker.ts';
import { createHealthzServer } from '../../src/serve/healthz.ts';
import type { Listener } from '../../src/serve/http.ts';
import { createMetricsServer } from '../../src/serve/metrics-server.ts';
import { ServiceHealthServers } from '../../src/serve/service-health.ts';
import { freePort } from '../support/free-port.ts';
import { rawAnswer, rawRequest } from '../support/raw-http.ts';

const log = pino({ level: 'silent' });
const NOW = Date.parse('2026-03-01T12:34:56.789Z');

let broken: string | undefined;
let server: Listener;
beforeAll(async () => {
  const registry = new Registry();
  const counter = new Counter('x_total', 'X', []);
  counter.add({}, 3);
  registry.register(counter);
  server = createMetricsServer({
    host: '127.0.0.1',
    port: 0,
    log,
    mode: 'ipvs',
    registry,
    version: 'v0.1.0',
    startedAt: NOW - 3_723_000,
    configs: { 'kubeproxy.config.k8s.io': { kind: 'KubeProxyConfiguration', mode: 'ipvs' } },
    flags: { 'proxy-mode': 'ipvs', config: '/etc/x y' },
    readiness: [
      { name: 'rules', run: () => broken },
      { name: 'source', run: () => undefined },
    ],
    now: () => NOW,
    random: () => 0,
  });
  await server.start();
});
afterAll(() => server.close());

function ask(line: string, ...headers: string[]): Promise<string> {
  return rawRequest(server.address?.port ?? 0, line, headers);
}

const TEXT = 'Content-Type: text/plain; charset=utf-8';
const JSON_TYPE = 'Content-Type: application/json';
const NOSNIFF = 'X-Content-Type-Options: nosniff';

describe('the metrics server', () => {
  test.for<[string, string]>([
    ['/healthz', 'ok'],
    ['/healthz/ping', 'ok'],
    ['/healthz?verbose', '[+]ping ok\nhealthz check passed\n'],
    ['/healthz?verbose=true', '[+]ping ok\nhealthz check passed\n'],
    ['/healthz?exclude=ping', 'ok'],
    ['/healthz?verbose&exclude=ping', '[+]ping excluded: ok\nhealthz check passed\n'],
    [
      '/healthz?verbose&exclude=b&exclude=a',
      '[+]ping ok\nwarn: some health checks cannot be excluded: no matches for "a","b"\nhealthz check passed\n',
    ],
    ['/proxyMode', 'ipvs'],
    ['/readyz', 'ok'],
    ['/readyz/source', 'ok'],
    ['/readyz?verbose', '[+]rules ok\n[+]source ok\nreadyz check passed\n'],
  ])('GET %s', async ([path, body]) => {
    expect(await ask(`GET ${path}`)).toBe(rawAnswer('200 OK', [TEXT, NOSNIFF], body));
  });

  test('a check that fails says why', async () => {
    broken = 'not written yet';
    try {
      const all = '[-]rules failed: not written yet\n[+]source ok\nreadyz check failed\n';
      const failed = (body: string) => rawAnswer('503 Service Unavailable', [TEXT, NOSNIFF], body);
      expect(await ask('GET /readyz')).toBe(failed(all));
      expect(await ask('GET /readyz/rules')).toBe(failed('not written yet\n'));
      expect(await ask('GET /readyz?exclude=rules')).toBe(rawAnswer('200 OK', [TEXT, NOSNIFF], 'ok'));
      expect(await ask('GET /healthz')).toBe(rawAnswer('200 OK', [TEXT, NOSNIFF], 'ok'));
    } finally {
      broken = undefined;
    }
  });

  test('/metrics', async () => {
    const type = 'Content-Type: text/plain; version=0.0.4; charset=utf-8';
    const body = '# HELP x_total X\n# TYPE x_total counter\nx_total 3\n';
    expect(await ask('GET /metrics')).toBe(rawAnswer('200 OK', [type], body));
    expect(await ask('HEAD /metrics')).toBe(
      rawAnswer('200 OK', [type], body).slice(0, -Buffer.byteLength(body)),
    );
    expect(await ask('GET /metrics', 'Accept: application/openmetrics-text; version=1.0.0')).toBe(
      rawAnswer(
        '200 OK',
        ['Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8'],
        '# HELP x X\n# TYPE x counter\nx_total 3\n# EOF\n',
      ),
    );
  });

  test('/configz', async () => {
    const body = '{"kubeproxy.config.k8s.io":{"kind":"KubeProxyConfiguration","mode":"ipvs"}}';
    expect(await ask('GET /configz')).toBe(rawAnswer('200 OK', [JSON_TYPE, NOSNIFF], body));
  });

  const WARNING =
    'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';

  test.for([
    '',
    'Accept: */*',
    'Accept: text/plain',
    'Accept: application/json;v=v9;g=config.k8s.io;as=Flagz,*/*',
  ])('/flagz and /statusz as text: %s', async (accept) => {
    const headers = accept === '' ? [] : [accept];
    expect(await ask('GET /flagz', ...headers)).toBe(
      rawAnswer('200 OK', [TEXT], `\nkube-proxy flagz\n${WARNING}\nconfig:/etc/x y\nproxy-mode:ipvs\n`),
    );
    expect(await ask('GET /statusz', ...headers)).toBe(
      rawAnswer(
        '200 OK',
        [TEXT],
        `
kube-proxy statusz
${WARNING}

Started: Sun Mar  1 11:32:53 UTC 2026
Up: 1 hr 02 min 03 sec
Go version: ${LANGUAGE_VERSION}
Binary version: 0.1.0
Emulation version: 1.36
Paths: /configz /flagz /healthz /metrics /proxyMode /readyz /statusz
`,
      ),
    );
  });

  const STATUS = {
    kind: 'Statusz',
    apiVersion: 'config.k8s.io/v1beta1',
    metadata: { name: 'kube-proxy' },
    startTime: '2026-03-01T11:32:53Z',
    uptimeSeconds: 3723,
    goVersion: LANGUAGE_VERSION,
    binaryVersion: '0.1.0',
    emulationVersion: '1.36',
    paths: ['/configz', '/flagz', '/healthz', '/metrics', '/proxyMode', '/readyz', '/statusz'],
  };
  const FLAGS = {
    kind: 'Flagz',
    apiVersion: 'config.k8s.io/v1beta1',
    metadata: { name: 'kube-proxy' },
    flags: { config: '/etc/x y', 'proxy-mode': 'ipvs' },
  };

  test.for([
    ['/statusz', 'Statusz', STATUS],
    ['/flagz', 'Flagz', FLAGS],
  ] as const)('%s as a structure', async ([path, kind, object]) => {
    const structured = `g=config.k8s.io;v=v1beta1;as=${kind}`;
    const accept = `Accept: application/json;v=v1beta1;g=config.k8s.io;as=${kind}`;
    const json = [`Content-Type: application/json;${structured}`];
    expect(await ask(`GET ${path}`, accept)).toBe(rawAnswer('200 OK', json, `${JSON.stringify(object)}\n`));
    const pretty = rawAnswer('200 OK', json, JSON.stringify(object, undefined, 2));
    expect(await ask(`GET ${path}`, accept, 'User-Agent: curl/8.5.0')).toBe(pretty);
    expect(await ask(`GET ${path}?pretty=1`, accept)).toBe(pretty);
    const yaml = await ask(`GET ${path}`, accept.replace('json', 'yaml'));
    const [head, body = ''] = yaml.split('\r\n\r\n');
    expect(head).toContain(`Content-Type: application/yaml;${structured}\r\n`);
    expect(parse(body)).toEqual(object);
    expect(body).toMatch(/^apiVersion: "config\.k8s\.io\/v1beta1"\n/);
  });

  test.for([
    'application/json',
    'application/xml',
    'application/json;v=v1beta1;g=config.k8s.io',
    'application/json;v=v1alpha1;g=config.k8s.io;as=Flagz',
    'text/plain;q=0',
  ])('/flagz for who accepts %s alone', async (accept) => {
    expect(await ask('GET /flagz', `Accept: ${accept}`)).toBe(
      rawAnswer(
        '406 Not Acceptable',
        [JSON_TYPE],
        `{
  "kind": "Status",
  "apiVersion": "v1",
  "metadata": {},
  "status": "Failure",
  "message": "only the following media types are accepted: application/json, application/yaml, text/plain",
  "reason": "NotAcceptable",
  "code": 406
}`,
      ),
    );
  });

  test('/metrics/slis tells what checks have come to', async () => {
    const own = createMetricsServer({
      host: '127.0.0.1',
      port: 0,
      log,
      mode: 'ipvs',
      registry: new Registry(),
      version: 'v0.1.0',
      startedAt: NOW,
      configs: {},
      flags: undefined,
      statusz: false,
      readiness: [{ name: 'rules', run: () => 'broken' }],
    });
    await own.start();
    try {
      const get = (path: string) => rawRequest(own.address?.port ?? 0, `GET ${path}`);
      const type = 'Content-Type: text/plain; version=0.0.4; charset=utf-8';
      expect(await get('/metrics/slis')).toBe(rawAnswer('200 OK', [type], ''));
      await get('/healthz');
      await get('/healthz?exclude=ping');
      await get('/readyz');
      expect(await get('/metrics/slis')).toBe(
        rawAnswer(
          '200 OK',
          [type],
          `# HELP kubernetes_healthcheck [STABLE] The result of each health check, 1 for passed
# TYPE kubernetes_healthcheck gauge
kubernetes_healthcheck{name="ping",type="healthz"} 1
kubernetes_healthcheck{name="rules",type="readyz"} 0
# HELP kubernetes_healthchecks_total [STABLE] The results of all health checks
# TYPE kubernetes_healthchecks_total counter
kubernetes_healthchecks_total{name="ping",status="success",type="healthz"} 1
kubernetes_healthchecks_total{name="rules",status="error",type="readyz"} 1
`,
        ),
      );
      // Feature gates take them away.
      for (const path of ['/flagz', '/statusz']) expect(await get(path)).toMatch(/^HTTP\/1\.1 404 /);
      expect(await get('/configz')).toBe(rawAnswer('200 OK', [JSON_TYPE, NOSNIFF], '{}'));
    } finally {
      await own.close();
    }
  });

  const NOT_FOUND = rawAnswer('404 Not Found', [TEXT, NOSNIFF], '404 page not found\n');
  test.for([
    '/',
    '/nothing',
    '/healthz/',
    '/healthz/log',
    '/metrics/',
    '/debug/pprof/',
    '/livez',
    '//healthz',
  ])('GET %s is not there', async (path) => {
    expect(await ask(`GET ${path}`)).toBe(NOT_FOUND);
  });

  test.for(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])(
    '%s is not allowed anywhere',
    async (method) => {
      const refused = rawAnswer(
        '405 Method Not Allowed',
        [TEXT, NOSNIFF, 'Allow: GET, HEAD'],
        'method not allowed\n',
      );
      for (const path of ['/metrics', '/healthz', '/debug/flags/v', '/nothing']) {
        expect(await ask(`${method} ${path}`)).toBe(refused);
      }
    },
  );

  test.for([
    ['NONSENSE', /^HTTP\/1\.1 400 /],
    ['GET', /^HTTP\/1\.1 400 /],
    ['GET /\u0001', /^HTTP\/1\.1 400 /],
    [`GET /${'x'.repeat(9000)}`, /^HTTP\/1\.1 431 /],
  ] as const)('%s is no request', async ([line, expected]) => {
    expect(await ask(line)).toMatch(expected);
  });
});

describe('the health check', () => {
  const state: HealthState = {
    families: { IPv4: { lastUpdated: NOW - 1000, oldestPending: 0 } },
    nodeEligible: false,
    syncPeriod: 30_000,
  };

  test('/healthz and /livez', async () => {
    const answered: string[] = [];
    const healthz = createHealthzServer({
      host: '127.0.0.1',
      port: 0,
      log,
      state: () => state,
      now: () => NOW,
      answered: (path, status) => answered.push(`${path} ${status}`),
    });
    await healthz.start();
    try {
      const get = (path: string) => rawRequest(healthz.address?.port ?? 0, `GET ${path}`);
      expect(await get('/healthz')).toBe(
        rawAnswer(
          '503 Service Unavailable',
          [JSON_TYPE, NOSNIFF],
          '{"lastUpdated":"2026-03-01T12:34:55.789Z","currentTime":"2026-03-01T12:34:56.789Z","nodeEligible":false,"healthy":true,"status":{"IPv4":{"lastUpdated":"2026-03-01T12:34:55.789Z","healthy":true}}}',
        ),
      );
      expect(await get('/livez')).toBe(
        rawAnswer(
          '200 OK',
          [JSON_TYPE, NOSNIFF],
          '{"lastUpdated":"2026-03-01T12:34:56.789Z","currentTime":"2026-03-01T12:34:56.789Z","healthy":true,"status":{"IPv4":{"lastUpdated":"2026-03-01T12:34:55.789Z","healthy":true}}}',
        ),
      );
      expect(await get('/readyz')).toBe(rawAnswer('404 Not Found', [TEXT, NOSNIFF], '404 page not found\n'));
      expect(answered).toEqual(['/healthz 503', '/livez 200']);
    } finally {
      await healthz.close();
    }
  });
});

describe('the health check of a Service', () => {
  test.for([
    [2, true, '200 OK'],
    [0, true, '503 Service Unavailable'],
    [1, false, '503 Service Unavailable'],
  ] as const)('with %d endpoints, the proxy healthy: %s', async ([localEndpoints, healthy, status]) => {
    const servers = new ServiceHealthServers({ family: 'IPv4', proxyHealthy: () => healthy, log });
    const port = await freePort();
    await servers.sync(new Map([['shop/web', { port, localEndpoints }]]), ['127.0.0.1']);
    try {
      expect(await rawRequest(port, 'GET /any/path?at=all')).toBe(
        rawAnswer(
          status,
          [JSON_TYPE, NOSNIFF, `X-Load-Balancing-Endpoint-Weight: ${localEndpoints}`],
          `{\n\t"service": {\n\t\t"namespace": "shop",\n\t\t"name": "web"\n\t},\n\t"localEndpoints": ${localEndpoints},\n\t"serviceProxyHealthy": ${healthy}\n}`,
        ),
      );
    } finally {
      await servers.close();
    }
  });

  test('a port that is taken is told of once', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    const failures: string[] = [];
    const servers = new ServiceHealthServers({
      family: 'IPv4',
      proxyHealthy: () => true,
      log,
      retryMs: 5,
      failed: (service, at, error) => failures.push(`${service} ${at} ${error.message}`),
    });
    try {
      await servers.sync(new Map([['shop/web', { port, localEndpoints: 1 }]]), ['127.0.0.1']);
      await servers.sync(new Map([['shop/web', { port, localEndpoints: 2 }]]), ['127.0.0.1']);
      const message = `shop/web health check server on 127.0.0.1:${port}: listen EADDRINUSE: address already in use 127.0.0.1:${port}`;
      expect(failures).toEqual([`shop/web ${port} ${message}`]);
    } finally {
      await servers.close();
      await new Promise((resolve) => taken.close(resolve));
    }
  });
});
