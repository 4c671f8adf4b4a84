/** From one mode to another and back, under connections from a pod and from outside: none is refused or lost. */
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBackend } from '../../backends/registry.ts';
import { ModeChange } from '../../src/cli/mode-change.ts';
import type { Backend, ProxyMode } from '../../src/reconcile/backend.ts';
import { createNetwork, type Network } from '../support/network/network.ts';
import { nftablesSupported } from '../support/network/supported.ts';
import { createNodeUnderTest, scenarioOptions } from '../support/node-under-test.ts';
import type { Agent, Connection, Load } from '../support/probe/agent-process.ts';
import type { LoadReport, Target } from '../support/probe/protocol.ts';
import { loadScenario, runScenario, scenarioObjects } from '../support/scenarios.ts';
import { until } from '../support/until.ts';

const supported = nftablesSupported();
const SCENARIO = loadScenario('nodeport-cluster');

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
      const { proxy } = createNodeUnderTest(
        net,
        (family) => {
          const backend = backends.get(family);
          if (backend === undefined) throw new Error(`no back end for ${family}`);
          return backend;
        },
        scenarioObjects(SCENARIO),
        { ...scenarioOptions(SCENARIO), proxyMode: mode },
        [change],
      );
      const over = new AbortController();
      const running = proxy.run(over.signal);
      await change.done;
      over.abort();
      await running;
    }

    const output = async (...argv: [string, ...string[]]) => (await net.exec('node1', argv)).stdout;

    /** 200 new connections a second, and open ones that are asked again: what happens in between must not be noticed. */
    async function underTraffic(change: (traffic: Traffic) => Promise<void>): Promise<void> {
      const traffic = await Traffic.start(net);
      await traffic.goesOn();
      await change(traffic);
      await traffic.goesOn();
      expect(await traffic.stop()).toEqual(TARGETS.map(() => ({})));
    }

    it('goes iptables → nftables → iptables', async () => {
      await takeOver('iptables');
      await underTraffic(async (traffic) => {
        await takeOver('nftables');
        expect(await output('iptables-save')).not.toMatch(/KUBE-(SVC|SEP|SERVICES|EXT)/);
        expect(await output('ip6tables-save')).not.toMatch(/KUBE-SERVICES/);
        expect(await output('nft', 'list', 'tables')).toContain('table ip kube-proxy');
        await traffic.goesOn();
        expect(await runScenario(net, SCENARIO, 'nftables')).toEqual([]);

        await takeOver('iptables');
        expect(await output('nft', 'list', 'tables')).not.toContain('kube-proxy');
        expect(await output('iptables-save')).toMatch(/KUBE-SVC-/);
      });
    });

    it('takes over from kube-proxy in iptables mode', async () => {
      const { iptables } = SCENARIO.kubeProxyDump as unknown as {
        readonly iptables: Readonly<Record<'iptablesSave' | 'ip6tablesSave', string>>;
      };
      // Its counters are objects of their own, and a restore would have to make them first.
      const plain = (text: string): string => text.replaceAll(/ -m nfacct --nfacct-name +\S+/g, '');
      await net.exec('node1', ['iptables-nft-restore'], plain(iptables.iptablesSave));
      await net.exec('node1', ['ip6tables-nft-restore'], plain(iptables.ip6tablesSave));
      await underTraffic(() => takeOver('nftables'));
      expect(await output('iptables-nft-save')).not.toMatch(/KUBE-(SVC|SEP|SERVICES|EXT)/);
      expect(await runScenario(net, SCENARIO, 'nftables')).toEqual([]);
    });

    it('takes over from kube-proxy in nftables mode', async () => {
      const { ip, ip6 } = SCENARIO.kubeProxyDump.nftables;
      await net.exec('node1', ['nft', '-f', '-'], `${ip}\n${ip6}`);
      await underTraffic(() => takeOver('iptables'));
      expect(await output('nft', 'list', 'tables')).not.toContain('kube-proxy');
      expect(await runScenario(net, SCENARIO, 'iptables')).toEqual([]);
    });
  },
);

/** To the Service in SCENARIO from a pod and from outside. */
const TARGETS = [
  { host: 'client1', address: '10.96.40.3', port: 80, protocol: 'tcp' },
  { host: 'ext', address: '172.30.0.11', port: 30003, protocol: 'tcp' },
] as const;

class Traffic {
  readonly #loads: readonly Load[];
  readonly #open: readonly Connection[];

  private constructor(loads: readonly Load[], open: readonly Connection[]) {
    this.#loads = loads;
    this.#open = open;
  }

  static async start(net: Network): Promise<Traffic> {
    const each = <T>(begin: (agent: Agent, target: Target) => Promise<T>): Promise<T[]> =>
      Promise.all(TARGETS.map(({ host, ...target }) => begin(net.agent(host), target)));
    return new Traffic(
      await each((agent, target) => agent.load({ ...target, perSecond: 100 })),
      await each((agent, target) => agent.connect(target)),
    );
  }

  /** Resolves when more new connections were answered, and every open one; rejects when one of these is not. */
  async goesOn(): Promise<void> {
    for (const load of this.#loads) {
      const { answered } = await load.report();
      await until(async () => (await load.report()).answered > answered + 20);
    }
    for (const connection of this.#open) expect(await connection.exchange()).toMatchObject({ ok: true });
  }

  /** What failed, by target. */
  async stop(): Promise<LoadReport['failures'][]> {
    for (const connection of this.#open) await connection.close();
    return (await Promise.all(this.#loads.map((load) => load.stop()))).map(({ failures }) => failures);
  }
}
