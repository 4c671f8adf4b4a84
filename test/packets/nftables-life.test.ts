/**
 * A node's life under nftables mode: taking over from kube-proxy and giving back to it, being killed and started
 * again, clients that stay with their endpoints, all with real connections going on.
 */

import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createNftablesBackend } from '../../backends/nftables/backend.ts';
import { ToolError } from '../../src/node/runner.ts';
import type { Backend } from '../../src/reconcile/backend.ts';
import { changeEndpoints, spoiledService, underConnections } from '../support/life.ts';
import { createNetwork, type Network } from '../support/network/network.ts';
import { nftablesSupported } from '../support/network/supported.ts';
import { scenarioOptions } from '../support/node-under-test.ts';
import { RunningProxy } from '../support/running.ts';
import {
  type ApiObject,
  loadScenario,
  runScenario,
  type Scenario,
  scenarioObjects,
} from '../support/scenarios.ts';
import { until } from '../support/until.ts';

const supported = nftablesSupported();
// Short periods, so that tests need not wait for what would come anyway.
const OPTIONS = { ...scenarioOptions(loadScenario('clusterip')), minSyncPeriod: '100ms', syncPeriod: '1s' };

const CLUSTER_IP: Readonly<Record<string, string>> = {
  affinity: '10.96.40.14',
  clusterip: '10.96.33.226',
};

/** Affinity sets are listed with their clients' remaining time, which no script takes. */
function loadable(dump: string): string {
  return dump.replace(/(flags dynamic,timeout[^}]*?)elements = \{[^}]*\}/g, '$1');
}

describe.skipIf(!supported.ok)(
  supported.ok ? 'nftables mode on a node' : `nftables mode on a node (skipped: ${supported.reason})`,
  () => {
    let net: Network;
    beforeEach(async () => {
      net = await createNetwork();
    });
    afterEach(() => net.close());

    const start = (objects: readonly ApiObject[]): RunningProxy =>
      new RunningProxy(net, createBackend, objects, OPTIONS);

    async function ruleset(): Promise<string> {
      return (await net.exec('node1', ['nft', 'list', 'ruleset'])).stdout;
    }

    /** Empty while nft has no such table. */
    async function tableOf(family: string): Promise<string> {
      return (await net.exec('node1', ['nft', 'list', 'ruleset', family])).stdout;
    }

    const under = (scenario: Scenario, host: 'client1' | 'ext', work: () => Promise<void>) =>
      underConnections(net, host, CLUSTER_IP[scenario.name] ?? '', work);

    it('takes over from kube-proxy in one step, affinity and all, refusing nobody', async () => {
      const scenario = loadScenario('affinity');
      await net.exec('node1', ['nft', '-f', '-'], loadable(scenario.kubeProxyDump.nftables.ip));
      await net.exec('node1', ['nft', '-f', '-'], loadable(scenario.kubeProxyDump.nftables.ip6));
      const target = { address: '10.96.40.14', port: 80, protocol: 'tcp' } as const;
      const [before] = await net.agent('client1').tries(target);
      const failures = await under(scenario, 'ext', async () => {
        const running = start(scenarioObjects(scenario));
        await running.synced();
        await running.stop();
      });
      expect(failures).toEqual({});
      const after = await net.agent('client1').tries({ ...target, count: 8, inTurn: true });
      expect(new Set(after.map((outcome) => outcome.ok && outcome.backend))).toEqual(
        new Set([before?.ok && before.backend]),
      );
      expect(await runScenario(net, scenario, 'nftables')).toEqual([]);
      expect(await ruleset()).toContain('chain endpoint-MNUWM55U-default/aff/tcp/http__10.244.1.2/8080');
      // kube-proxy's chain for the Service without affinity is not ours: it is emptied, then deleted.
      expect(await ruleset()).not.toContain('numgen random mod 1 map { 0 : 172.30.0.1 . 6443 }');
    });

    it('gives back to kube-proxy, whose own commands go through on our table', async (context) => {
      const commands = kubeProxyCommands();
      if (commands === undefined) {
        context.skip('the recorded commands are not beside this checkout (../shared)');
        return;
      }
      const running = start(scenarioObjects(loadScenario('clusterip')));
      await running.synced();
      await running.stop();
      for (const { argv } of commands) {
        if (argv.includes('--check') || argv.includes('-f')) continue;
        // What it reads back before it writes: it has to understand our table.
        await net.exec('node1', argv).catch(ignoreMissing);
      }
      for (const { argv, stdin } of commands) {
        if (argv.includes('--check') || !argv.includes('-f')) continue;
        await net.exec('node1', argv, stdin.includes('service-ips') ? forget(stdin) + stdin : stdin);
      }
      // svc-7 of its 1,000 Services: 10.97.0.7 leads to its own endpoints, and ours has no say left.
      const listing = await ruleset();
      expect(listing).toMatch(/10\.97\.0\.7 \. tcp \. 80 : goto service-/);
      expect(listing).not.toMatch(/: goto pick-/);
    });

    it('changes nothing when it is started again, and refuses nobody however it was ended', async () => {
      const scenario = loadScenario('clusterip');
      const first = start(scenarioObjects(scenario));
      await first.synced();
      await first.stop();
      const before = await ruleset();
      const failures = await under(scenario, 'client1', async () => {
        for (let round = 0; round < 3; round++) {
          const again = start(scenarioObjects(scenario));
          await again.synced();
          await again.stop();
        }
      });
      expect(failures).toEqual({});
      expect(await ruleset()).toBe(before);
    });

    it('follows endpoints that come and go under constant connections, refusing nobody', async () => {
      const scenario = loadScenario('clusterip');
      const running = start(scenarioObjects(scenario));
      await running.synced();
      const failures = await under(scenario, 'client1', () => changeEndpoints(running, scenario));
      expect(failures).toEqual({});
      await running.stop();
    });

    it('keeps clients with their endpoints over a restart, and lets go of an endpoint that is gone', async () => {
      const scenario = loadScenario('affinity');
      const objects = scenarioObjects(scenario);
      const target = { address: '10.96.40.14', port: 80, protocol: 'tcp' } as const;
      const backendsOf = async (): Promise<string[]> => {
        const outcomes = await net.agent('client1').tries({ ...target, count: 8, inTurn: true });
        return [...new Set(outcomes.map((outcome) => (outcome.ok ? outcome.backend : outcome.failure)))];
      };
      const first = start(objects);
      await first.synced();
      const [stuckTo = '', ...others] = await backendsOf();
      expect(others).toEqual([]);
      await first.stop();
      const again = start(objects);
      await again.synced();
      expect(await backendsOf()).toEqual([stuckTo]);
      const slice = objects.find(
        ({ kind, metadata }) => kind === 'EndpointSlice' && metadata.name !== 'kubernetes',
      ) as ApiObject & { endpoints: readonly { readonly addresses: readonly string[] }[] };
      const left = slice.endpoints.filter(({ addresses }) => !stuckTo.startsWith(`${addresses[0]}:`));
      expect(left.length).toBe(slice.endpoints.length - 1);
      await again.syncedAfter(() => again.node.source.apply({ ...slice, endpoints: left }));
      const after = await backendsOf();
      expect(after).toHaveLength(1);
      expect(after).not.toContain(stuckTo);
      expect(after[0]).toMatch(/^10\.244\./);
      await again.stop();
    });

    it('follows its Node: another pod CIDR and another address count at once', async () => {
      const scenario = loadScenario('nodeport-cluster');
      const objects = scenarioObjects(scenario);
      const running = new RunningProxy(net, createBackend, objects, {
        ...OPTIONS,
        detectLocalMode: 'NodeCIDR',
      });
      await running.synced();
      const seen = async (): Promise<unknown[]> => {
        const target = { address: '10.96.40.3', port: 80, protocol: 'tcp', count: 4 } as const;
        const outcomes = await net.agent('client1').tries(target);
        return [...new Set(outcomes.map((one) => (one.ok ? one.client : one.failure)))];
      };
      const asked = async (address: string): Promise<string> => {
        const [outcome] = await net.agent('ext').tries({ address, port: 30003, protocol: 'tcp' });
        return outcome?.ok ? 'answered' : String(outcome?.failure);
      };
      expect(await seen()).toEqual(['10.244.1.100']);
      expect(await asked('172.30.0.11')).toBe('answered');

      // The client is of none of this node's networks any more: it is masqueraded like any stranger.
      const node = objects.find(({ kind }) => kind === 'Node') as ApiObject;
      const changed = (cidrs: string[], address: string): ApiObject => ({
        ...node,
        spec: { podCIDR: cidrs[0], podCIDRs: cidrs },
        status: { addresses: [{ type: 'InternalIP', address }] },
      });
      await running.syncedAfter(() =>
        running.node.source.apply(changed(['10.244.9.0/24', 'fd00:244:9::/64'], '172.30.0.11')),
      );
      expect(await seen()).not.toContain('10.244.1.100');

      await net.exec('node1', ['ip', 'address', 'add', '172.30.0.21/24', 'dev', 'eth0']);
      expect(await asked('172.30.0.21')).toBe('refused');
      await running.syncedAfter(() =>
        running.node.source.apply(changed(['10.244.1.0/24', 'fd00:244:1::/64'], '172.30.0.21')),
      );
      expect(await seen()).toEqual(['10.244.1.100']);
      expect(await asked('172.30.0.21')).toBe('answered');
      expect(await asked('172.30.0.11')).toBe('refused');
      await running.stop();
    });

    it('puts the table back when somebody flushes the ruleset', async () => {
      const scenario = loadScenario('nodeport-local');
      const running = start(scenarioObjects(scenario));
      await running.synced();
      // The families are put back side by side, and nft lists tables in the order in which they were made.
      const tables = () => Promise.all(['ip', 'ip6'].map(tableOf));
      const before = await tables();
      await net.exec('node1', ['nft', 'flush', 'ruleset']);
      await until(async () => isDeepStrictEqual(await tables(), before), 60_000);
      expect(running.drifted).toContain('table ip kube-proxy');
      await running.stop();
    });

    it('programs the others when one Service is refused, and that one when it is mended', async () => {
      const scenario = loadScenario('clusterip');
      const bad = spoiledService(70_000);
      const running = start(scenarioObjects(scenario));
      await running.synced();
      running.node.proxy.cluster.upsert(bad);
      await until(() => running.setAside.includes('default/bad'));
      expect(await runScenario(net, scenario, 'nftables')).toEqual([]);
      expect(await ruleset()).not.toContain('default/bad');
      running.node.proxy.cluster.upsert(spoiledService(8081));
      await until(async () => (await ruleset()).includes('default/bad'));
      expect(running.readmitted).toEqual(['default/bad', 'default/bad']);
      await running.stop();
    });
  },
);

function createBackend(
  family: 'IPv4' | 'IPv6',
  runner: Parameters<typeof createNftablesBackend>[0]['runner'],
): Backend {
  return createNftablesBackend({ family, runner });
}

/**
 * The recording began on an empty table. On ours kube-proxy first deletes, in the same transaction, the elements
 * it read back and has no use for.
 */
function forget(script: string): string {
  const family = script.includes('ip6 kube-proxy') ? 'ip6' : 'ip';
  const sets = ['set cluster-ips', 'set nodeport-ips', 'set hairpin-connections'];
  const maps = [
    'service-ips',
    'service-nodeports',
    'no-endpoint-services',
    'no-endpoint-nodeports',
    'firewall-ips',
  ];
  const names = [...sets, ...maps.map((name) => `map ${name}`)];
  return names.map((name) => `flush ${name.replace(' ', ` ${family} kube-proxy `)}\n`).join('');
}

/** kube-proxy asks for what may not be there, and expects to be told so. */
function ignoreMissing(error: unknown): void {
  if (!(error instanceof ToolError) || !/No such file or directory/.test(error.stderr)) throw error;
}

interface RecordedCommand {
  readonly phase: string;
  readonly argv: [string, ...string[]];
  readonly exit: number;
  readonly stdin: string;
}

function kubeProxyCommands(): RecordedCommand[] | undefined {
  const folder = new URL('../../../shared/reference/scale/nftables-1000x3/', import.meta.url);
  try {
    const commands = JSON.parse(readFileSync(new URL('commands.json', folder), 'utf8')) as (Omit<
      RecordedCommand,
      'stdin'
    > & { stdin?: string; stdinFile?: string })[];
    return commands
      .filter(({ phase, argv }) => phase === 'first' && argv[0] === 'nft')
      .map(({ stdin, stdinFile, ...rest }) => ({
        ...rest,
        stdin: stdinFile ? gunzipSync(readFileSync(new URL(stdinFile, folder))).toString() : (stdin ?? ''),
      }));
  } catch {
    return undefined;
  }
}
