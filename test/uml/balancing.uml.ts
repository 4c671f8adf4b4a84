/** The kernel's schedulers, with real connections. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createIpvsBackend } from '../../backends/ipvs/backend.ts';
import { KNOWN_SCHEDULERS } from '../../backends/ipvs/settings.ts';
import type { Outcome } from '../support/probe/protocol.ts';
import type { ApiObject } from '../support/scenarios.ts';
import { service, slice, UmlNode } from './node.ts';

const ENDPOINTS = ['10.244.1.2', '10.244.1.3', '10.244.2.2'];
const OBJECTS = [service('web', { clusterIP: '10.96.50.1' }), slice('web', ENDPOINTS)];
const WEB = { address: '10.96.50.1', port: 80, protocol: 'tcp' } as const;

function byBackend(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) {
    const name = outcome.ok ? outcome.backend : outcome.failure;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

describe('schedulers', () => {
  let at: UmlNode;
  beforeAll(async () => {
    at = await UmlNode.create();
  });
  afterAll(() => at.close());

  it('rr: 300 connections to three endpoints are 100 each', async () => {
    await at.program(OBJECTS, { scheduler: 'rr' });
    const outcomes: Outcome[] = [];
    for (let round = 0; round < 10; round += 1) {
      outcomes.push(...(await at.net.agent('client1').tries({ ...WEB, count: 30, deadlineMs: 10_000 })));
    }
    expect(byBackend(outcomes)).toEqual({
      '10.244.1.2:8080': 100,
      '10.244.1.3:8080': 100,
      '10.244.2.2:8080': 100,
    });
  });

  it('wrr: connections follow the weights', async () => {
    await at.program(OBJECTS, { scheduler: 'wrr' });
    await at.feed(
      ['ipvsadm', '-R'],
      ['-e -t 10.96.50.1:80 -r 10.244.1.2:8080 -m -w 3', '-e -t 10.96.50.1:80 -r 10.244.1.3:8080 -m -w 2'],
    );
    const outcomes = await at.net
      .agent('client1')
      .tries({ ...WEB, count: 60, inTurn: true, deadlineMs: 10_000 });
    expect(byBackend(outcomes)).toEqual({
      '10.244.1.2:8080': 30,
      '10.244.1.3:8080': 20,
      '10.244.2.2:8080': 10,
    });
  });

  it.each(['sh', 'mh'])('%s: a client stays with its endpoint, and clients differ', async (scheduler) => {
    // All on the other node: a pod’s answer to its neighbour would not come back this way.
    const endpoints = ['10.244.2.2', '10.244.2.3', '10.244.2.4'];
    await at.program([service('web', { clusterIP: '10.96.50.1' }), slice('web', endpoints)], { scheduler });
    const chosen = new Set<string>();
    for (const source of [
      '10.244.1.4',
      '10.244.1.5',
      '10.244.1.6',
      '10.244.1.7',
      '10.244.1.8',
      '10.244.1.9',
    ]) {
      const outcomes = await at.net
        .agent('pods1')
        .tries({ ...WEB, source, count: 6, inTurn: true, deadlineMs: 10_000 });
      const backends = Object.keys(byBackend(outcomes));
      // With mh the client’s port counts, so that each of its connections is one.
      if (scheduler === 'sh') expect(backends).toHaveLength(1);
      for (const backend of backends) chosen.add(backend);
    }
    // Some of those before still drain: nobody is sent to them, and nobody refused.
    expect((await at.servers('-t 10.96.50.1:80')).some((line) => line.endsWith(' -w 0'))).toBe(true);
    for (const backend of chosen) expect(backend).toMatch(/^10\.244\.2\.[234]:8080$/);
    expect(chosen.size).toBeGreaterThan(1);
  });

  it('lc: new connections go where the fewest are open', async () => {
    await at.program(OBJECTS, { scheduler: 'lc' });
    const agent = at.net.agent('client1');
    const connect = async () => {
      const connection = await agent.connect(WEB);
      return {
        connection,
        backend: connection.first.ok ? connection.first.backend : connection.first.failure,
      };
    };
    const open: Awaited<ReturnType<typeof connect>>[] = [];
    for (let n = 0; n < 9; n += 1) open.push(await connect());
    const count = (backend: string): number => open.filter((one) => one.backend === backend).length;
    for (const address of ENDPOINTS) expect(count(`${address}:8080`)).toBe(3);
    const busy = open.filter((one) => one.backend !== '10.244.1.3:8080');
    for (const one of open) if (!busy.includes(one)) await one.connection.close();
    // Closing takes a moment to reach the kernel's table: both sides have said so before the next one opens.
    for (const one of busy) expect((await one.connection.exchange()).ok).toBe(true);
    const next = [await connect(), await connect(), await connect()];
    expect(next.map((one) => one.backend)).toEqual(['10.244.1.3:8080', '10.244.1.3:8080', '10.244.1.3:8080']);
    for (const one of [...busy, ...next]) await one.connection.close();
  });

  it('a Service may have its own by annotation, and change it', async () => {
    const scheduled = (scheduler: string): ApiObject => {
      const object = service('web', { clusterIP: '10.96.50.1' });
      const annotations = { 'kube-rulesync.io/ipvs-scheduler': scheduler };
      return { ...object, metadata: { ...object.metadata, annotations } };
    };
    const proxy = at.proxy([scheduled('lc'), slice('web', ENDPOINTS)], { scheduler: 'sh' });
    await proxy.start();
    expect(await at.servers('-A -t 10.96.')).toEqual([
      '-A -t 10.96.0.1:443 -s sh -b sh-fallback',
      '-A -t 10.96.50.1:80 -s lc',
    ]);
    await proxy.tell(scheduled('mh'));
    expect(await at.servers('-A -t 10.96.50.1:80')).toEqual([
      '-A -t 10.96.50.1:80 -s mh -b mh-fallback,mh-port',
    ]);
    await proxy.tell(scheduled('rr'));
    const outcomes = await at.net
      .agent('client1')
      .tries({ ...WEB, count: 30, inTurn: true, deadlineMs: 10_000 });
    expect(byBackend(outcomes)).toEqual({
      '10.244.1.2:8080': 10,
      '10.244.1.3:8080': 10,
      '10.244.2.2:8080': 10,
    });
    await proxy.stop();
  });

  it.each(KNOWN_SCHEDULERS)('the kernel has %s, and takes it', async (scheduler) => {
    const backend = createIpvsBackend({
      family: 'IPv4',
      runner: at.runner,
      variant: 'legacy',
      ipvs: { scheduler },
    });
    expect(await backend.probe()).toMatchObject({ usable: true, missing: [] });
  });

  it('says which module is missing for a scheduler the kernel does not have', async () => {
    const backend = createIpvsBackend({
      family: 'IPv4',
      runner: at.runner,
      variant: 'legacy',
      ipvs: { scheduler: 'twos' },
    });
    expect(await backend.probe()).toMatchObject({
      usable: false,
      missing: ['The kernel does not have the IPVS scheduler "twos"; load it with: modprobe ip_vs_twos'],
    });
  });
});
