/**
 * Clients that keep their UDP port, through the real rules and the kernel's connection tracking: each goes on with
 * what its first packet met until the flow is deleted. Every endpoint goes on answering when the API has taken it
 * away, so that a flow that was left behind shows itself by its answers.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TOOL_ENVIRONMENT } from '../support/network/namespaces.ts';
import { createNetwork, type Network } from '../support/network/network.ts';
import { nftablesSupported, type Supported } from '../support/network/supported.ts';
import type { Host } from '../support/network/topology.ts';
import type { Connection } from '../support/probe/agent-process.ts';
import type { ApiObject } from '../support/scenarios.ts';
import { dnsService, dnsSlice, FAMILIES, strangersFlow } from '../support/udp-objects.ts';
import { UdpClient, UdpProxy } from '../support/udp-proxy.ts';
import { until } from '../support/until.ts';

const supported = conntrackSupported();

describe.skipIf(!supported.ok)(
  supported.ok ? 'UDP flows' : `UDP flows (skipped: ${supported.reason})`,
  () => {
    let net: Network;
    let running: UdpProxy | undefined;
    const open: Connection[] = [];
    beforeAll(async () => {
      net = await createNetwork();
    });
    afterAll(() => net.close());
    afterEach(async () => {
      await running?.stop();
      running = undefined;
      await Promise.all(open.splice(0).map((connection) => connection.close()));
      await net.exec('node1', ['nft', 'flush', 'ruleset']);
      await net.exec('node1', ['conntrack', '-F']);
    });

    function start(...objects: ApiObject[]): UdpProxy {
      running = new UdpProxy(net, objects);
      return running;
    }

    /** A client with a port of its own, which has sent its first packet. */
    async function dial(host: Host, address: string, port: number, sourcePort = 40_000): Promise<UdpClient> {
      const connection = await net
        .agent(host)
        .connect({ address, port, protocol: 'udp', sourcePort, deadlineMs: 1_000 });
      open.push(connection);
      return new UdpClient(connection);
    }

    /** The lines of the kernel's table that have all these words, the kernel's own number for each flow included. */
    async function flows(flag: string, ...words: string[]): Promise<string[]> {
      const { stdout } = await net.exec('node1', ['conntrack', '-L', '-p', 'udp', '-f', flag, '-o', 'id']);
      return stdout.split('\n').filter((line) => words.every((word) => line.split(' ').includes(word)));
    }

    async function idOf(flag: string, ...words: string[]): Promise<string> {
      const [line, ...more] = await flows(flag, ...words);
      expect({ words, more }).toEqual({ words, more: [] });
      return /\bid=(\d+)/.exec(line ?? '')?.[1] ?? `no flow with ${words.join(' ')}`;
    }

    /** The tool opens its input by name, which a pipe to it has none of. */
    async function inject(commands: readonly string[]): Promise<void> {
      const folder = await mkdtemp(join(tmpdir(), 'flows-'));
      await writeFile(join(folder, 'flows'), commands.join(''));
      await net.exec('node1', ['conntrack', '-R', join(folder, 'flows')]);
      await rm(folder, { recursive: true });
    }

    describe.for(FAMILIES)('in $family', (family) => {
      const { clusterIP, otherIP, balancer, node, pods, backend, flag } = family;
      const [gone, stays, other] = pods;

      it('leave an endpoint that is gone, whatever address they came by', async () => {
        const run = start(dnsService(family), dnsSlice(family, [gone]));
        await run.synced();
        const clients = await Promise.all([
          dial('client1', clusterIP, 53),
          dial('ext', clusterIP, 53, 40_001),
          dial('ext', balancer, 53, 40_002),
          dial('ext', node, 30_053, 40_003),
          dial('node1', clusterIP, 53, 40_004),
        ]);
        for (const client of clients) expect(client.last).toMatchObject({ backend: backend(gone) });
        run.apply(dnsSlice(family, [stays]));
        for (const client of clients) await client.untilAnsweredBy(backend(stays));
      });

      it('are refused when the last endpoint is gone', async () => {
        const run = start(dnsService(family), dnsSlice(family, [gone, other]));
        await run.synced();
        const clients = await Promise.all([dial('client1', clusterIP, 53), dial('ext', node, 30_053)]);
        for (const client of clients) expect(client.last).toMatchObject({ ok: true });
        run.apply(dnsSlice(family, []));
        for (const client of clients) await client.untilFailed('refused');
      });

      it('that began before there was a Service meet it', async () => {
        const run = start();
        await run.synced();
        const client = await dial('ext', balancer, 53);
        expect(client.last).toEqual({ ok: false, failure: 'timeout' });
        expect(await flows(flag, `src=${balancer}`, 'sport=53', 'dport=40000')).toHaveLength(1);
        run.apply(dnsService(family), dnsSlice(family, [stays]));
        await client.untilAnsweredBy(backend(stays));
      });

      it('that nobody could answer are answered once there is an endpoint', async () => {
        const run = start();
        await run.synced();
        const client = await dial('ext', balancer, 53);
        run.apply(dnsService(family));
        await client.untilFailed('refused');
        run.apply(dnsSlice(family, [stays]));
        await client.untilAnsweredBy(backend(stays));
      });

      it('end with their Service', async () => {
        const run = start(dnsService(family), dnsSlice(family, [stays]));
        await run.synced();
        const clients = await Promise.all([dial('client1', clusterIP, 53), dial('ext', balancer, 53)]);
        for (const client of clients) expect(client.last).toMatchObject({ backend: backend(stays) });
        run.delete(dnsService(family));
        for (const client of clients) await client.untilFailed('timeout');
      });

      it('stay with an endpoint that is terminating and still serves', async () => {
        const beside = { name: 'beside', clusterIP: otherIP };
        const run = start(
          dnsService(family),
          dnsSlice(family, [stays]),
          dnsService(family, beside),
          dnsSlice(family, [gone], beside),
        );
        await run.synced();
        const client = await dial('client1', clusterIP, 53);
        const before = await idOf(flag, 'sport=40000', `src=${stays}`);
        const control = await dial('client1', otherIP, 53, 40_001);
        run.apply(dnsSlice(family, [other], { terminating: [stays] }), dnsSlice(family, [other], beside));
        await control.untilAnsweredBy(backend(other));
        expect(await idOf(flag, 'sport=40000', `src=${stays}`)).toBe(before);
        expect(await client.ask()).toMatchObject({ backend: backend(stays) });
        expect((await dial('client1', clusterIP, 53, 40_002)).last).toMatchObject({
          backend: backend(other),
        });
      });

      it('of others are left alone, and so is TCP', async () => {
        // The balancer's address is both Services', each with a port of its own.
        const second = { name: 'second', clusterIP: otherIP, port: 54, balancer: true };
        const run = start(
          dnsService(family),
          dnsSlice(family, [gone]),
          dnsService(family, second),
          dnsSlice(family, [gone], second),
        );
        await run.synced();
        const tcp = await net.agent('client1').connect({ address: clusterIP, port: 53, protocol: 'tcp' });
        open.push(tcp);
        expect(tcp.first).toMatchObject({ backend: backend(gone) });
        const strangers: [Host, string, number][] = [
          ['client1', otherIP, 54],
          ['ext', balancer, 54],
          ['ext', balancer, 55],
          ['client1', gone, 8053],
          ['ext', gone, 8053],
          ['ext', other, 30_053],
          ['ext', node, 5_353],
        ];
        const ids = () =>
          Promise.all(
            strangers.map((_, at) => idOf(flag, `sport=${41_000 + at}`, `dst=${strangers[at]?.[1]}`)),
          );
        await Promise.all(
          strangers.map(([host, address, port], at) => dial(host, address, port, 41_000 + at)),
        );
        const before = await ids();
        const ours = await Promise.all([dial('client1', clusterIP, 53), dial('ext', balancer, 53)]);
        for (const client of ours) expect(client.last).toMatchObject({ backend: backend(gone) });
        run.apply(dnsSlice(family, [stays]));
        for (const client of ours) await client.untilAnsweredBy(backend(stays));
        expect(await ids()).toEqual(before);
        expect(await tcp.exchange()).toMatchObject({ backend: backend(gone) });
      });

      it('go by the thousands with one deletion', async () => {
        const run = start(dnsService(family), dnsSlice(family, [gone, stays]));
        await run.synced();
        await inject([
          ...Array.from({ length: 2_000 }, (_, number) => strangersFlow(family, number, gone)),
          ...Array.from({ length: 100 }, (_, number) => strangersFlow(family, 2_000 + number, stays)),
        ]);
        expect(await flows(flag, `src=${gone}`, 'dport=5000')).toHaveLength(2_000);
        run.commands.length = 0;
        run.apply(dnsSlice(family, [stays]));
        await until(async () => (await flows(flag, `src=${gone}`, 'dport=5000')).length === 0);
        expect(await flows(flag, `src=${stays}`, 'dport=5000')).toHaveLength(100);
        expect(run.commands.filter((command) => command.startsWith('conntrack -D'))).toHaveLength(1);
      });

      it('are found however often writing the rules failed before', async () => {
        const run = start(dnsService(family), dnsSlice(family, [gone]));
        await run.synced();
        const client = await dial('client1', clusterIP, 53);
        run.broken = true;
        run.apply(dnsSlice(family, [stays]));
        await until(() => run.failures >= 2);
        expect(await client.ask()).toMatchObject({ backend: backend(gone) });
        run.broken = false;
        await client.untilAnsweredBy(backend(stays));
      });
    });
  },
);

/** `nftablesSupported`, and the tool is there. */
function conntrackSupported(): Supported {
  const { error, status, stderr } = spawnSync('conntrack', ['-C'], {
    encoding: 'utf8',
    env: TOOL_ENVIRONMENT,
  });
  if (error) return { ok: false, reason: 'conntrack: not installed' };
  if (status !== 0) return { ok: false, reason: `conntrack -C: ${stderr.trim()}` };
  return nftablesSupported();
}
