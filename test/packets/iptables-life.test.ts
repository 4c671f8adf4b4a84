/**
 * A node's life under iptables mode: taking over from kube-proxy and giving back to it, being started again, rules
 * deleted by others, a lock that is held, all with real connections going on. With each variant of iptables.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createIptablesBackend, type IptablesOptions } from '../../backends/iptables/backend.ts';
import { isOwn, nameOf } from '../../backends/iptables/names.ts';
import { parseSave } from '../../backends/iptables/save.ts';
import { iptablesSupported, SUFFIX } from '../support/iptables.ts';
import { changeEndpoints, spoiledService, underConnections } from '../support/life.ts';
import { createNetwork, type Network } from '../support/network/network.ts';
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

// Short periods, so that tests need not wait for what would come anyway.
const OPTIONS = {
  ...scenarioOptions(loadScenario('clusterip')),
  proxyMode: 'iptables',
  minSyncPeriod: '100ms',
  syncPeriod: '1s',
};

const CLUSTER_IP: Readonly<Record<string, string>> = {
  affinity: '10.96.40.14',
  clusterip: '10.96.33.226',
};

describe.each(['nf_tables', 'legacy'] as const)('iptables mode on a node, %s', (variant) => {
  const supported = iptablesSupported(variant);
  const suffix = SUFFIX[variant];

  describe.skipIf(!supported.ok)(supported.ok ? 'here' : `skipped: ${supported.reason}`, () => {
    let net: Network;
    beforeEach(async () => {
      net = await createNetwork();
    });
    afterEach(() => net.close());

    function start(objects: readonly ApiObject[], options: Partial<IptablesOptions> = {}): RunningProxy {
      const create = (family: 'IPv4' | 'IPv6', runner: IptablesOptions['runner']) =>
        createIptablesBackend({ family, runner, variant, ...options });
      return new RunningProxy(net, create, objects, OPTIONS);
    }

    async function saved(): Promise<string> {
      const { stdout } = await net.exec('node1', [`iptables${suffix}-save`]);
      return stdout.replace(/^#.*\n|\[\d+:\d+\]/gm, '');
    }

    const restore = (text: string) =>
      net.exec('node1', [`iptables${suffix}-restore`, '-w', '5', '--noflush'], text);

    const under = (scenario: Scenario, host: 'client1' | 'ext', work: () => Promise<void>) =>
      underConnections(net, host, CLUSTER_IP[scenario.name] ?? '', work);

    it('takes over from kube-proxy, affinity and all, refusing nobody', async () => {
      const scenario = loadScenario('affinity');
      await restore(kubeProxysRules('affinity'));
      const target = { address: CLUSTER_IP.affinity ?? '', port: 80, protocol: 'tcp' } as const;
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
      expect(await runScenario(net, scenario, 'iptables')).toEqual([]);
    });

    it('changes nothing when it is started again, and refuses nobody', async () => {
      const scenario = loadScenario('clusterip');
      const first = start(scenarioObjects(scenario));
      await first.synced();
      await first.stop();
      const before = await saved();
      const failures = await under(scenario, 'client1', async () => {
        for (let round = 0; round < 2; round++) {
          const again = start(scenarioObjects(scenario));
          await again.synced();
          await again.stop();
          expect(again.syncs.map(({ steps }) => steps)).toEqual([0, 0]);
        }
      });
      expect(failures).toEqual({});
      expect(await saved()).toBe(before);
    });

    it('follows endpoints that come and go under constant connections, refusing nobody', async () => {
      const scenario = loadScenario('clusterip');
      const running = start(scenarioObjects(scenario));
      await running.synced();
      const failures = await under(scenario, 'client1', () => changeEndpoints(running, scenario));
      expect(failures).toEqual({});
      await running.stop();
    });

    it('puts everything back when every KUBE-* chain is deleted, and says what was missing', async () => {
      const scenario = loadScenario('nodeport-local');
      const running = start(scenarioObjects(scenario));
      await running.synced();
      const before = await saved();
      await deleteAll();
      await until(async () => ours(await saved()) === ours(before));
      expect(running.drifted).toContain('mangle KUBE-PROXY-CANARY');
      expect(running.drifted.some((name) => name.endsWith('KUBE-SERVICES'))).toBe(true);
      await running.stop();
    });

    it('misses a single rule of a single Service', async () => {
      const running = start(scenarioObjects(loadScenario('clusterip')));
      await running.synced();
      const before = await saved();
      const rule = /^-A (KUBE-SEP-\S+ .* DNAT .*)$/m.exec(before)?.[1] ?? '';
      await restore(`*nat\n-D ${rule}\nCOMMIT\n`);
      await until(async () => (await saved()) === before);
      expect(running.drifted).toContain(`nat ${rule}`);
      await running.stop();
    });

    it('programs the others when one Service is refused, and that one when it is mended', async () => {
      const scenario = loadScenario('clusterip');
      const running = start(scenarioObjects(scenario));
      await running.synced();
      running.node.proxy.cluster.upsert(spoiledService(70_000));
      await until(() => running.setAside.includes('default/bad'));
      expect(await runScenario(net, scenario, 'iptables')).toEqual([]);
      expect(await saved()).not.toContain('default/bad');
      running.node.proxy.cluster.upsert(spoiledService(8081));
      await until(async () => (await saved()).includes('default/bad'));
      await running.stop();
    });

    it('gives back to kube-proxy, whose own commands go through on our split chains', async (context) => {
      const input = variant === 'nf_tables' ? kubeProxysRestore() : undefined;
      if (input === undefined) {
        context.skip('needs the recorded commands (../shared) and the variant they were made with');
        return;
      }
      const running = start([...scenarioObjects(loadScenario('nodeport-cluster')), ...manyServices(40)], {
        dispatch: 'split',
      });
      await running.synced();
      await running.stop();
      expect(await saved()).toMatch(/^:KUBE-SVC-10\.96\.0\.0\/\d+ /m);
      await restore(withStaleChains(input, await saved()));
      const left = [...parseSave(await saved()).keys()].filter((chain) => isOwn(chain)).map(nameOf);
      expect(left.filter((name) => !input.includes(`:${name} `))).toEqual([
        'KUBE-PROXY-CANARY',
        'KUBE-PROXY-CANARY',
        'KUBE-PROXY-CANARY',
      ]);
    });

    /** What people's scripts do, and e2e's test of it: everything of the name goes, jumps and all. */
    async function deleteAll(): Promise<void> {
      const kept = (await net.exec('node1', [`iptables${suffix}-save`])).stdout
        .split('\n')
        .filter((line) => !line.includes('KUBE'));
      await net.exec('node1', [`iptables${suffix}-restore`, '-w', '5'], kept.join('\n'));
    }
  });
});

/** Our chains and jumps, in whatever order they were made. */
function ours(text: string): string {
  return text
    .split('\n')
    .filter((line) => line.includes('KUBE'))
    .sort()
    .join('\n');
}

/** As recorded, but for the counters, which would have to be made first. */
function kubeProxysRules(scenario: string): string {
  const file = new URL(`../fixtures/iptables/${scenario}.ipv4.txt`, import.meta.url);
  return readFileSync(file, 'utf8').replace(/^.*localhost_nps.*\n| -m nfacct --nfacct-name +\S+/gm, '');
}

interface RecordedCommand {
  readonly argv: readonly string[];
  readonly stdinFile?: string;
}

/** kube-proxy's first restore of 1,000 Services. */
function kubeProxysRestore(): string | undefined {
  const folder = new URL('../../../shared/reference/scale/iptables-1000x3/', import.meta.url);
  try {
    const commands = JSON.parse(readFileSync(new URL('commands.json', folder), 'utf8')) as RecordedCommand[];
    const file = commands.find(({ argv }) => argv[0] === 'iptables-restore')?.stdinFile ?? '';
    const text = gunzipSync(readFileSync(new URL(file, folder))).toString();
    return text.replace(/^.*localhost_nps.*\n| -m nfacct --nfacct-name +\S+/gm, '');
  } catch {
    return undefined;
  }
}

/**
 * The recording began on empty tables. On ours kube-proxy also empties and deletes, in the same input, every chain
 * of the nat table that is named like one of a Service and that it has no use for.
 */
function withStaleChains(input: string, there: string): string {
  const stale = [...parseSave(there).keys()]
    .filter((chain) => /^nat KUBE-(SVC|SVL|SEP|FW|EXT)-/.test(chain))
    .map(nameOf)
    .filter((name) => !input.includes(`:${name} `));
  const declared = stale.map((name) => `:${name} - [0:0]\n`).join('');
  const deleted = stale.map((name) => `-X ${name}\n`).join('');
  const nat = input.indexOf('*nat\n') + '*nat\n'.length;
  const end = input.lastIndexOf('COMMIT');
  return input.slice(0, nat) + declared + input.slice(nat, end) + deleted + input.slice(end);
}

function manyServices(count: number): ApiObject[] {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: `many-${index}`, namespace: 'default' },
    spec: {
      type: 'NodePort',
      clusterIP: `10.96.0.${index + 20}`,
      clusterIPs: [`10.96.0.${index + 20}`],
      ports: [{ name: 'http', port: 80, protocol: 'TCP', nodePort: 31000 + index }],
    },
  })).flatMap((service) => [
    service,
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: `${service.metadata.name}-a`,
        namespace: 'default',
        labels: { 'kubernetes.io/service-name': service.metadata.name },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.244.1.2'], conditions: { ready: true } }],
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    },
  ]);
}
