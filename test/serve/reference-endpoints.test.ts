/** Answers on the wire, held against the list of kube-proxy's: each path, its status codes and headers. */
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Registry } from '../../src/metrics/registry.ts';
import type { HealthState } from '../../src/serve/health-tracker.ts';
import { createHealthzServer } from '../../src/serve/healthz.ts';
import type { Listener } from '../../src/serve/http.ts';
import { createMetricsServer } from '../../src/serve/metrics-server.ts';
import { ServiceHealthServers } from '../../src/serve/service-health.ts';
import { freePort } from '../support/free-port.ts';
import { rawAnswer, rawRequest } from '../support/raw-http.ts';
import { codeIn, referenceMissing, referenceRows } from '../support/reference.ts';

const log = pino({ level: 'silent' });
const where = { host: '127.0.0.1', port: 0, log };

const SERVERS = ['healthz', 'metrics', 'per-service'] as const;
type ServerName = (typeof SERVERS)[number];

/** Whether rules are written in time. */
let well = true;

const state = (): HealthState => ({
  families: {
    IPv4: { lastUpdated: Date.now() - 1500, oldestPending: 0 },
    IPv6: { lastUpdated: Date.now() - 2500, oldestPending: well ? 0 : 1 },
  },
  nodeEligible: true,
  syncPeriod: 30_000,
});

const healthz = createHealthzServer({ ...where, state });
const metrics = createMetricsServer({
  ...where,
  mode: 'ipvs',
  registry: new Registry(),
  version: 'v0.1.0',
  startedAt: Date.now(),
  configs: { 'kubeproxy.config.k8s.io': { kind: 'KubeProxyConfiguration', mode: 'ipvs' } },
  flags: { 'proxy-mode': 'ipvs' },
  readiness: [],
});
const services = new ServiceHealthServers({ family: 'IPv4', proxyHealthy: () => well, log });
const servers: readonly { close(): Promise<void> }[] = [healthz, metrics, services];
let servicePort = 0;

beforeAll(async () => {
  await healthz.start();
  await metrics.start();
  servicePort = await freePort();
  await services.sync(new Map([['shop/web', { port: servicePort, localEndpoints: 3 }]]), ['127.0.0.1']);
});
afterAll(() => Promise.all(servers.map((server) => server.close())));

function portOf(server: ServerName): number {
  const port = (listener: Listener) => listener.address?.port ?? 0;
  return { healthz: port(healthz), metrics: port(metrics), 'per-service': servicePort }[server];
}

interface Listed {
  readonly server: ServerName;
  readonly path: string;
  readonly status: string;
  readonly headers: string;
  readonly body: string;
}

/** Paths that are here. What the row above says, and "same" stands for, is put in. */
function listed(): Listed[] {
  let server: ServerName | undefined;
  let above = '';
  return referenceRows('1.3').flatMap(([title = '', cell = '', status = '', headers = '', body = '']) => {
    server = SERVERS.find((name) => title.startsWith(name)) ?? server;
    above = headers.startsWith('same') ? above : headers;
    const paths = codeIn(cell).filter((path) => path.startsWith('/') && !path.startsWith('/debug/'));
    const all = cell === 'any path' ? ['/any/path?at=all'] : cell === 'other' ? ['/nothing'] : paths;
    const of = server;
    return of === undefined ? [] : all.map((path) => ({ server: of, path, status, headers: above, body }));
  });
}

async function ask(
  server: ServerName,
  line: string,
): Promise<{ status: number; head: string; body: string }> {
  const [head = '', body = ''] = (await rawRequest(portOf(server), line)).split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head, body };
}

/** Those that the list speaks of, in whatever form it does. */
function headersIn(text: string): string[] {
  const of = /text\/plain|application\/json|nosniff|X-Load-Balancing-Endpoint-Weight: <count>/g;
  return [...new Set(text.replace(/unless .*/, '').match(of))];
}

const title = "kube-proxy's answers";
describe.skipIf(referenceMissing)(
  referenceMissing ? `${title} (skipped: ${referenceMissing})` : title,
  () => {
    test('the list can be read', () => {
      expect(listed().map(({ server, path }) => `${server} ${path}`)).toEqual([
        'healthz /healthz',
        'healthz /livez',
        'healthz /nothing',
        'metrics /healthz',
        'metrics /healthz/ping',
        'metrics /metrics',
        'metrics /metrics/slis',
        'metrics /proxyMode',
        'metrics /configz',
        'metrics /flagz',
        'metrics /statusz',
        'per-service /any/path?at=all',
      ]);
    });

    test('every status code', async () => {
      for (const { server, path, status } of listed()) {
        const told = [...status.matchAll(/\b[2-5]\d\d\b/g)].map(([code]) => Number(code));
        well = true;
        const codes = [(await ask(server, `GET ${path}`)).status];
        well = false;
        codes.push((await ask(server, `GET ${path}`)).status);
        well = true;
        expect([server, path, [...new Set(codes)]]).toEqual([server, path, told]);
      }
    });

    test('every header', async () => {
      const shown = await Promise.all(
        listed().map(async ({ server, path, headers }) => {
          const { head } = await ask(server, `GET ${path}`);
          return { path, told: headersIn(headers), sent: headersIn(head.replaceAll(': 3', ': <count>')) };
        }),
      );
      // Of Go's own answers, and of metrics, the list says no more than what they are.
      const compared = shown.filter(({ told }) => told.length > 0);
      expect(compared.map(({ path, sent }) => [path, sent])).toEqual(
        compared.map(({ path, told }) => [path, told]),
      );
      expect(compared.length).toBe(9);
    });

    test('the body of a health check, member by member', async () => {
      const [first] = listed();
      const template = codeIn(first?.body ?? '')[0] ?? '';
      // `T` is a time, `bool` is true or false, and IPv6 has what IPv4 has.
      const [, family = ''] = /"IPv4":(\{[^}]*\})/.exec(template) ?? [];
      const pattern = template
        .replace('{…}', family)
        .replaceAll(/[{}]/g, '\\$&')
        .replaceAll(/\bT\b/g, '"\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z"')
        .replaceAll(/\bbool\b/g, '(true|false)');
      expect(family).not.toBe('');
      expect((await ask('healthz', 'GET /healthz')).body).toMatch(new RegExp(`^${pattern}$`));
      const livez = pattern.replace('"nodeEligible":(true|false),', '');
      expect(livez).not.toBe(pattern);
      expect((await ask('healthz', 'GET /livez')).body).toMatch(new RegExp(`^${livez}$`));
    });

    test('the body of the metrics server’s short answers', async () => {
      const bodyOf = (path: string) =>
        codeIn(listed().find((one) => one.path === path && one.server === 'metrics')?.body ?? '');
      const [ok = '', verbose = '', ...lines] = bodyOf('/healthz');
      expect((await ask('metrics', 'GET /healthz')).body).toBe(ok);
      expect((await ask('metrics', `GET /healthz${verbose}`)).body).toBe(`${lines.slice(0, 2).join('\n')}\n`);
      expect(bodyOf('/proxyMode')).toContain((await ask('metrics', 'GET /proxyMode')).body);
      const [configz = ''] = bodyOf('/configz');
      expect(
        (await ask('metrics', 'GET /configz')).body.startsWith(configz.replace(/\{…*.*/, '').slice(0, 25)),
      ).toBe(true);
      expect((await ask('metrics', 'GET /flagz')).body).toContain(`\n${bodyOf('/flagz')[0]}\n`);
    });
  },
);

test.for(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'])(
  '%s is refused by every server, on every path',
  async (method) => {
    const refused = rawAnswer(
      '405 Method Not Allowed',
      ['Content-Type: text/plain; charset=utf-8', 'X-Content-Type-Options: nosniff', 'Allow: GET, HEAD'],
      'method not allowed\n',
    );
    for (const server of SERVERS) {
      for (const path of ['/healthz', '/livez', '/nothing']) {
        expect(await rawRequest(portOf(server), `${method} ${path}`)).toBe(refused);
      }
    }
  },
);

test('a tunnel or another protocol is not to be had, and the next one is answered', async () => {
  for (const server of SERVERS) {
    expect(await rawRequest(portOf(server), 'CONNECT 127.0.0.1:22')).toBe('');
    const upgrade = await rawRequest(portOf(server), 'GET /livez', [
      'Connection: Upgrade',
      'Upgrade: websocket',
    ]);
    expect(upgrade).not.toMatch(/^HTTP\/1\.1 101/);
    expect((await ask(server, 'GET /nothing')).status).toBe(server === 'per-service' ? 200 : 404);
  }
});
