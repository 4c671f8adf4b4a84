/** Every recorded scenario, with our rules on node1: packets must fare as they did under kube-proxy. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createNftablesBackend } from '../../backends/nftables/backend.ts';
import { createNetwork, type Network } from '../support/network/network.ts';
import { nftablesSupported } from '../support/network/supported.ts';
import { createNodeUnderTest, scenarioOptions } from '../support/node-under-test.ts';
import { loadScenarios, runScenario, scenarioObjects } from '../support/scenarios.ts';

const supported = nftablesSupported();

describe.skipIf(!supported.ok)(
  supported.ok ? 'scenarios, nftables' : `scenarios, nftables (skipped: ${supported.reason})`,
  () => {
    let net: Network;
    beforeAll(async () => {
      net = await createNetwork();
    });
    afterAll(() => net.close());

    it.each(loadScenarios())('$name: $about', async (scenario) => {
      const backends: ReturnType<typeof createNftablesBackend>[] = [];
      const { proxy } = createNodeUnderTest(
        net,
        (family, runner) => {
          const backend = createNftablesBackend({ family, runner });
          backends.push(backend);
          return backend;
        },
        scenarioObjects(scenario),
        scenarioOptions(scenario),
      );
      await proxy.syncOnce(AbortSignal.timeout(30_000));
      try {
        expect(await runScenario(net, scenario, 'nftables')).toEqual([]);
      } finally {
        for (const backend of backends) await backend.cleanup();
      }
    });
  },
);
