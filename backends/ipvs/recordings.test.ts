/** What kube-proxy left in the kernel for each recorded scenario, and what we would: the same, but for what docs/ipvs.md lists. */
import { describe, expect, it } from 'vitest';
import type { IpFamily } from '../../src/cluster/values.ts';
import { createNodeUnderTest, scenarioOptions } from '../../test/support/node-under-test.ts';
import { loadScenarios, type Scenario, scenarioObjects } from '../../test/support/scenarios.ts';
import { FakeIpvs } from '../../test/support/uml/fake-ipvs.ts';
import { compareDumps, type IpvsDump } from '../../test/uml/dump.ts';
import { createIpvsBackend } from './backend.ts';
import type { IpvsSettings } from './settings.ts';

const NO_TOOLS = { run: () => Promise.reject(new Error('nothing is to be run')) };

async function program(scenario: Scenario, settings: IpvsSettings): Promise<Record<IpFamily, FakeIpvs>> {
  const kernels = { IPv4: new FakeIpvs(), IPv6: new FakeIpvs() };
  const { proxy } = createNodeUnderTest(
    { runner: () => NO_TOOLS },
    (family) => {
      const backend = createIpvsBackend({ family, runner: NO_TOOLS, ipvs: settings });
      return Object.assign(backend, {
        observe: async () => undefined,
        apply: async (step: Parameters<FakeIpvs['apply']>[0]) => kernels[family].apply(step),
      });
    },
    scenarioObjects(scenario),
    { ...scenarioOptions(scenario), proxyMode: 'ipvs' },
  );
  await proxy.syncOnce(AbortSignal.timeout(10_000));
  return kernels;
}

function dumpOf({ IPv4, IPv6 }: Record<IpFamily, FakeIpvs>): IpvsDump {
  const line = (address: string): string =>
    address.includes(':')
      ? `kube-ipvs0    inet6 ${address}/128 scope global \\       valid_lft forever preferred_lft forever`
      : `kube-ipvs0    inet ${address}/32 scope global kube-ipvs0\\       valid_lft forever preferred_lft forever`;
  return {
    ipvsadm: IPv4.listServers() + IPv6.listServers(),
    ipsetSave: IPv4.listSets() + IPv6.listSets(),
    iptablesSave: IPv4.save(),
    ip6tablesSave: IPv6.save(),
    ipAddr: [...IPv4.addresses, ...IPv6.addresses].map(line).join('\n'),
  };
}

describe('the kernel looks as under kube-proxy', () => {
  it.each(loadScenarios())('$name: $about', async (scenario) => {
    const { ipvs } = scenario.kubeProxyDump as unknown as { readonly ipvs: IpvsDump };
    expect(compareDumps(scenario.name, ipvs, dumpOf(await program(scenario, {})))).toEqual([]);
    const parity = dumpOf(await program(scenario, { parity: true }));
    expect(compareDumps(scenario.name, ipvs, parity)).toEqual([]);
    expect(parity.ipsetSave).not.toMatch(/^add KUBE-(6-)?DROP/m);
    expect(parity.iptablesSave).not.toContain('! --src-type LOCAL -j RETURN');
  });
});
