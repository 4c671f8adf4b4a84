/**
 * Every recorded scenario with our IPVS rules on node1, one after the other in one network: packets fare, and the
 * kernel looks, as under kube-proxy, but for the differences of docs/ipvs.md.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createIpvsBackend } from '../../backends/ipvs/backend.ts';
import type { IpvsSettings } from '../../backends/ipvs/settings.ts';
import type { Backend } from '../../src/reconcile/backend.ts';
import { createNetwork, type Network } from '../support/network/network.ts';
import { createNodeUnderTest, scenarioOptions } from '../support/node-under-test.ts';
import {
  type Improvement,
  loadScenario,
  loadScenarios,
  runScenario,
  type Scenario,
  scenarioObjects,
} from '../support/scenarios.ts';
import { createShellRunner, type ShellRunner } from '../support/uml/shell-runner.ts';
import { compareDumps, type IpvsDump, takeDump } from './dump.ts';

/** One processor for both ends of every connection. */
const PACE = { tries: 16, deadlineMs: 2000 };

const IMPROVEMENTS: readonly Improvement[] = [
  {
    scenario: 'lb-local-remote',
    mode: 'ipvs',
    probe: 'node1->203.0.113.8:80/tcp',
    expect: { backends: ['10.244.2.2:8080'], clientSeen: ['node'], failures: [] },
    why: 'the node dials with the load balancer’s address as its source: masqueraded, the answer finds its way',
  },
  ...['client1', 'node1', 'ext'].map((host) => ({
    scenario: 'internal-local-remote',
    mode: 'ipvs' as const,
    probe: `${host}->10.96.40.13:80/tcp`,
    expect: { backends: [], clientSeen: [], failures: ['timeout'] },
    why: 'policy Local without a local endpoint drops in every mode: kube-proxy refuses in this one',
  })),
];

describe('scenarios, ipvs', () => {
  let net: Network;
  let runner: ShellRunner;
  beforeAll(async () => {
    net = await createNetwork();
    runner = createShellRunner(net.prefix('node1'));
  });
  afterAll(async () => {
    await runner.close();
    await net.close();
  });

  /** Brings node1 from whatever it has to the scenario. */
  async function program(scenario: Scenario, settings: IpvsSettings = {}): Promise<readonly Backend[]> {
    const backends: Backend[] = [];
    const { proxy } = createNodeUnderTest(
      { runner: () => runner },
      (family) => {
        const backend = createIpvsBackend({ family, runner, variant: 'legacy', ipvs: settings });
        backends.push(backend);
        return backend;
      },
      scenarioObjects(scenario),
      { ...scenarioOptions(scenario), proxyMode: 'ipvs' },
    );
    await proxy.syncOnce(AbortSignal.timeout(120_000));
    return backends;
  }

  it.each(loadScenarios())('$name: $about', async (scenario) => {
    await program(scenario);
    expect(compareDumps(scenario.name, recorded(scenario), await takeDump(runner))).toEqual([]);
    expect(await runScenario(net, scenario, 'ipvs', { ...PACE, improvements: IMPROVEMENTS })).toEqual([]);
  });

  it.each(['internal-local-remote', 'lb-local-remote'])(
    'behaves as kube-proxy on request: %s',
    async (name) => {
      const scenario = loadScenario(name);
      await program(scenario, { parity: true });
      const dump = await takeDump(runner);
      expect(compareDumps(scenario.name, recorded(scenario), dump)).toEqual([]);
      expect(dump.iptablesSave).not.toContain('KUBE-DROP');
      expect(await runScenario(net, scenario, 'ipvs', PACE)).toEqual([]);
    },
  );

  it('leaves nothing behind', async () => {
    const backends = await program(loadScenario('lb-sourceranges-deny'));
    for (const backend of backends) expect(await backend.cleanup()).toEqual([]);
    const dump = await takeDump(runner);
    expect({ ...dump, iptablesSave: '', ip6tablesSave: '' }).toEqual({
      ipvsadm: '',
      ipsetSave: '',
      iptablesSave: '',
      ip6tablesSave: '',
      ipAddr: '',
    });
    expect(dump.iptablesSave + dump.ip6tablesSave).not.toContain('KUBE');
  });
});

function recorded(scenario: Scenario): IpvsDump {
  return (scenario.kubeProxyDump as unknown as { readonly ipvs: IpvsDump }).ipvs;
}
