/** The program itself, killed at any moment and started again: the rules stay right, and nobody is refused. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createNetwork, type Network } from '../support/network/network.ts';
import { nftablesSupported } from '../support/network/supported.ts';
import { type ApiObject, loadScenario, runScenario, scenarioObjects } from '../support/scenarios.ts';
import { until } from '../support/until.ts';

const supported = nftablesSupported();
const MAIN = new URL('../../src/cli/main.ts', import.meta.url).pathname;

/** When each life ends, milliseconds after its start: before, during and after its first transaction. */
const LIVES = [50, 300, 500, 700, 900, 1100, 1400, 2000];

describe.skipIf(!supported.ok)(
  supported.ok ? 'killed with SIGKILL' : `killed with SIGKILL (skipped: ${supported.reason})`,
  () => {
    let net: Network;
    let manifests: string;
    const children = new Set<ChildProcess>();

    beforeEach(async () => {
      net = await createNetwork();
      manifests = await mkdtemp(join(tmpdir(), 'rulesync-killed-'));
    });
    afterEach(async () => {
      for (const child of children) child.kill('SIGKILL');
      await net.close();
      await rm(manifests, { recursive: true });
    });

    function start(): ChildProcess {
      const child = spawn(
        'ip',
        [
          ...[
            ...net.prefix('node1').slice(1),
            process.execPath,
            MAIN,
            'run',
            '--mode',
            'nftables',
            '--manifests',
            manifests,
          ],
          ...['--hostname-override', 'node1', '--cluster-cidr', '10.244.0.0/16,fd00:244::/32'],
          ...['--conntrack-max-per-core', '0', '--healthz-port', '0', '--iptables-min-sync-period', '10ms'],
          // Chains that a life emptied are deleted one sync period later.
          ...['--iptables-sync-period', '1s'],
        ],
        { stdio: 'ignore' },
      );
      children.add(child);
      return child;
    }

    async function kill(child: ChildProcess): Promise<void> {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
      children.delete(child);
    }

    const write = (objects: readonly ApiObject[]) =>
      writeFile(
        join(manifests, 'all.json'),
        JSON.stringify({ kind: 'List', apiVersion: 'v1', items: objects }),
      );

    async function ruleset(): Promise<string> {
      return (await net.exec('node1', ['nft', 'list', 'ruleset'])).stdout;
    }

    it('leaves rules that are right, and takes up where it was', async () => {
      const scenario = loadScenario('clusterip');
      const objects = scenarioObjects(scenario);
      await write(objects);
      const first = start();
      // A transaction each: one family's may be there before the other's.
      await until(async () => {
        const rules = await ruleset();
        return rules.includes('10.96.33.226 . tcp . 80') && rules.includes('table ip6 kube-proxy');
      });
      await kill(first);
      const before = await ruleset();

      const target = { address: '10.96.33.226', port: 80, protocol: 'tcp' } as const;
      const load = await net.agent('client1').load({ ...target, perSecond: 100 });
      await until(async () => (await load.report()).answered > 20);
      for (const [life, lasts] of LIVES.entries()) {
        // Every life has something to write: two endpoints of three, then all of them again.
        await write(objects.map((object) => (life % 2 === 0 ? withoutOneEndpoint(object) : object)));
        const child = start();
        await pause(lasts);
        await kill(child);
      }
      await write(objects);
      const last = start();
      await until(async () => (await ruleset()) === before);
      const { failures } = await load.stop();
      expect(failures).toEqual({});
      expect(await runScenario(net, scenario, 'nftables')).toEqual([]);
      await kill(last);
    });
  },
);

function withoutOneEndpoint(object: ApiObject): ApiObject {
  const { endpoints } = object as ApiObject & { endpoints?: readonly object[] };
  return endpoints && endpoints.length > 1 ? { ...object, endpoints: endpoints.slice(1) } : object;
}
