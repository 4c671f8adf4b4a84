import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ServiceHealthServers, serviceHealthAnswer } from './service-health.ts';

test.for([
  [2, true, 200],
  [0, true, 503],
  [2, false, 503],
] as const)('%d local endpoints, healthy %o: %d', ([localEndpoints, healthy, status]) => {
  expect(serviceHealthAnswer('default/web', localEndpoints, healthy)).toEqual({
    status,
    headers: {
      'Content-Type': 'application/json',
      'X-Content-Type-Options': 'nosniff',
      'X-Load-Balancing-Endpoint-Weight': `${localEndpoints}`,
    },
    body: `{
	"service": {
		"namespace": "default",
		"name": "web"
	},
	"localEndpoints": ${localEndpoints},
	"serviceProxyHealthy": ${healthy}
}`,
  });
});

let healthy: boolean;
let servers: ServiceHealthServers;
beforeEach(() => {
  healthy = true;
  const log = pino({ level: 'silent' });
  servers = new ServiceHealthServers({ family: 'IPv4', proxyHealthy: () => healthy, log, retryMs: 10 });
});
afterEach(() => servers.close());

/** Ports that are free at this moment, all different. */
async function freePorts(count: number): Promise<number[]> {
  const probes = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(probes.map((probe) => once(probe, 'listening')));
  const ports = probes.map((probe) => (probe.address() as AddressInfo).port);
  await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))));
  return ports;
}

async function ask(port: number, path = '/', host = '127.0.0.1') {
  const response = await fetch(`http://${host}:${port}${path}`);
  const body = (await response.json()) as { service: { name: string }; localEndpoints: number };
  return [response.status, body.service.name, body.localEndpoints];
}

test('one listener for each Service and address, on any path', async () => {
  const [a = 0, b = 0] = await freePorts(2);
  const desired = new Map([
    ['default/a', { port: a, localEndpoints: 1 }],
    ['default/b', { port: b, localEndpoints: 0 }],
  ]);
  await servers.sync(desired, ['127.0.0.1', '127.0.0.2']);
  expect(servers.addresses).toEqual(
    [`127.0.0.1:${a}`, `127.0.0.1:${b}`, `127.0.0.2:${a}`, `127.0.0.2:${b}`].sort(),
  );
  expect(await ask(a)).toEqual([200, 'a', 1]);
  expect(await ask(a, '/what/ever', '127.0.0.2')).toEqual([200, 'a', 1]);
  expect(await ask(b)).toEqual([503, 'b', 0]);
  healthy = false;
  expect(await ask(a)).toEqual([503, 'a', 1]);
});

test('answers follow the endpoints, ports follow the Services', async () => {
  const [a = 0, b = 0] = await freePorts(2);
  await servers.sync(new Map([['default/a', { port: a, localEndpoints: 1 }]]), 'any');
  expect(servers.addresses).toEqual([`0.0.0.0:${a}`]);
  await servers.sync(new Map([['default/a', { port: a, localEndpoints: 0 }]]), 'any');
  expect(await ask(a)).toEqual([503, 'a', 0]);
  // The port goes to another Service, and the first gets a new one, in one go.
  const swapped = new Map([
    ['default/b', { port: a, localEndpoints: 2 }],
    ['default/a', { port: b, localEndpoints: 3 }],
  ]);
  await servers.sync(swapped, 'any');
  expect([await ask(a), await ask(b)]).toEqual([
    [200, 'b', 2],
    [200, 'a', 3],
  ]);
  await servers.sync(new Map(), 'any');
  expect(servers.addresses).toEqual([]);
  await expect(fetch(`http://127.0.0.1:${a}/`)).rejects.toThrow('fetch failed');
});

test('of calls that overlap the last one counts', async () => {
  const [a = 0, b = 0] = await freePorts(2);
  const first = servers.sync(new Map([['default/a', { port: a, localEndpoints: 1 }]]), 'any');
  const second = servers.sync(new Map([['default/b', { port: b, localEndpoints: 1 }]]), 'any');
  await Promise.all([first, second]);
  expect(servers.addresses).toEqual([`0.0.0.0:${b}`]);
});

test('a taken port holds up no other and is opened when it is free', async () => {
  const [a = 0, b = 0] = await freePorts(2);
  const other = createServer().listen(a, '127.0.0.1');
  await once(other, 'listening');
  const desired = new Map([
    ['default/a', { port: a, localEndpoints: 1 }],
    ['default/b', { port: b, localEndpoints: 1 }],
  ]);
  await servers.sync(desired, ['127.0.0.1']);
  expect(servers.addresses).toEqual([`127.0.0.1:${b}`]);
  other.close();
  await vi.waitFor(async () => expect(await ask(a)).toEqual([200, 'a', 1]), 10_000);
});
