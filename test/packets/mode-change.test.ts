/** From one mode to another and back, under connections from a pod and from outside: none is refused or lost. */
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBackend } from '../../backends/registry.ts';
import { ModeChange } from '../../src/cli/mode-change.ts';
import type { Backend, ProxyMode } from '../../src/reconcile/backend.ts';
import { createNetwork, type Network } from '../support/network/network.ts';
import { nftablesSupported } from '../support/network/supported.ts';
import { createNodeUnderTest, scenarioOptions } from '../support/node-under-test.ts';
import { loadScenario, runScenario, scenarioObjects } from '../support/scenarios.ts';
import { until } from '../support/until.ts';

const supported = nftablesSupported();

describe.skipIf(!supported.ok)(
  supported.ok ? 'a change of mode' : `a change of mode (skipped: ${supported.reason})`,
  () => {
    let net: Network;
    beforeEach(async () => {
      net = await createNetwork();
    });
    afterEach(() => net.close());

    /** A proxy of this mode that starts, takes over, and ends as a signal would end it. */
    async function takeOver(mode: ProxyMode): Promise<void> {
      const runner = net.runner('node1');
      const backends = new Map<string, Backend>();
      for (const family of ['IPv4', 'IPv6'] as const) {
        backends.set(family, await createBackend(mode, { family, runner }));
      }
      const change = new ModeChange({
        mode,
        families: ['IPv4', 'IPv6'],
        createBackend: (other, family) => createBackend(other, { family, runner }),
        periodMs: 1000,
        log: pino({ level: 'silent' }),
      });
      const scenario = loadScenario('nodeport-cluster');
      const { proxy } = createNodeUnderTest(
        net,
        (family) => {
          const backend = backends.get(family);
          if (backend === undefined) throw new Error(`no back end for ${family}`);
          return backend;
        },
        scenarioObjects(scenario),
        { ...scenarioOptions(scenario), proxyMode: mode },
        [change],
      );
      const over = new AbortController();
      const running = proxy.run(over.signal);
      await change.done;
      over.abort();
      await running;
    }

    const output = async (...argv: [string, ...string[]]) => (await net.exec('node1', argv)).stdout;

    it('goes iptables → nftables → iptables', async () => {
      await takeOver('iptables');
      const targets = [
        { host: 'client1', address: '10.96.40.3', port: 80 },
        { host: 'ext', address: '172.30.0.11', port: 30003 },
      ] as const;
      const loads = await Promise.all(
        targets.map(({ host, ...target }) =>
          net.agent(host).load({ ...target, protocol: 'tcp', perSecond: 100 }),
        ),
      );
      const moreOfEach = async (): Promise<void> => {
        for (const load of loads) {
          const { answered } = await load.report();
          await until(async () => (await load.report()).answered > answered + 20);
        }
      };
      await moreOfEach();

      await takeOver('nftables');
      expect(await output('iptables-save')).not.toMatch(/KUBE-(SVC|SEP|SERVICES|EXT)/);
      expect(await output('ip6tables-save')).not.toMatch(/KUBE-SERVICES/);
      expect(await output('nft', 'list', 'tables')).toContain('table ip kube-proxy');
      await moreOfEach();
      expect(await runScenario(net, loadScenario('nodeport-cluster'), 'nftables')).toEqual([]);

      await takeOver('iptables');
      expect(await output('nft', 'list', 'tables')).not.toContain('kube-proxy');
      expect(await output('iptables-save')).toMatch(/KUBE-SVC-/);
      await moreOfEach();

      for (const load of loads) expect((await load.stop()).failures).toEqual({});
    });
  },
);
