/**
 * Every recorded scenario, with our rules on node1 and each variant of iptables: packets must fare as they did under
 * kube-proxy, and the kernel hold the rules that it held, chain by chain.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createIptablesBackend } from '../../backends/iptables/backend.ts';
import { isOwn, toolFamily } from '../../backends/iptables/names.ts';
import { parseSave } from '../../backends/iptables/save.ts';
import { compareText } from '../../src/net/ip.ts';
import type { Backend } from '../../src/reconcile/backend.ts';
import { iptablesSupported, SUFFIX } from '../support/iptables.ts';
import { createNetwork, type Network } from '../support/network/network.ts';
import { createNodeUnderTest, scenarioOptions } from '../support/node-under-test.ts';
import {
  ALLOWED_IMPROVEMENTS,
  loadScenarios,
  runScenario,
  type Scenario,
  scenarioObjects,
} from '../support/scenarios.ts';

/** docs/iptables.md has the reason. */
const ADDED = 'filter OUTPUT -j KUBE-EXTERNAL-SERVICES';

describe.each(['nf_tables', 'legacy'] as const)('scenarios, iptables %s', (variant) => {
  const supported = iptablesSupported(variant);

  describe.skipIf(!supported.ok)(supported.ok ? 'here' : `skipped: ${supported.reason}`, () => {
    let net: Network;
    beforeAll(async () => {
      net = await createNetwork();
    });
    afterAll(() => net.close());

    async function saved(family: 'IPv4' | 'IPv6'): Promise<string> {
      return (await net.exec('node1', [`${toolFamily(family)}${SUFFIX[variant]}-save`])).stdout;
    }

    it.each(loadScenarios())('$name: $about', async (scenario) => {
      const backends: Backend[] = [];
      const { proxy } = createNodeUnderTest(
        net,
        (family, runner) => {
          const backend = createIptablesBackend({ family, runner, variant });
          backends.push(backend);
          return backend;
        },
        scenarioObjects(scenario),
        { ...scenarioOptions(scenario), proxyMode: 'iptables' },
      );
      await proxy.syncOnce(AbortSignal.timeout(60_000));
      try {
        expect(await runScenario(net, scenario, 'iptables', { improvements: ALLOWED_IMPROVEMENTS })).toEqual(
          [],
        );
        for (const family of ['IPv4', 'IPv6'] as const) {
          const text = await saved(family);
          expect(rulesOf(text)).toEqual(rulesOf(recorded(scenario, family, text.includes('nfacct'))));
        }
      } finally {
        for (const backend of backends) expect(await backend.cleanup()).toEqual([]);
      }
    });
  });
});

/** @param counters whether the kernel's part and the tool for nfacct counters are here */
function recorded({ name }: Scenario, family: 'IPv4' | 'IPv6', counters: boolean): string {
  const file = `../fixtures/iptables/${name}.${family.toLowerCase()}.txt`;
  const text = readFileSync(new URL(file, import.meta.url), 'utf8');
  return counters ? text : text.replace(/^.*localhost_nps.*\n| -m nfacct --nfacct-name +\S+/gm, '');
}

/** Rules by chain, whatever their order, without what was added. */
function rulesOf(text: string): Record<string, string[]> {
  const chains = [...parseSave(text)]
    .filter(([chain, rules]) => isOwn(chain) || rules.length > 0)
    .map(([chain, rules]) => {
      const kept = rules.filter((rule) => `${chain} ${rule.slice(rule.indexOf('-j '))}` !== ADDED);
      return [chain, kept.sort(compareText)] as const;
    });
  return Object.fromEntries(chains.sort(([a], [b]) => compareText(a, b)));
}
