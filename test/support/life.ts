/** What happens to a node in every mode, for tests of a node's life. */
import type { ServiceValue } from '../../src/cluster/values.ts';
import { buildService } from './build.ts';
import type { Network } from './network/network.ts';
import type { LoadReport } from './probe/protocol.ts';
import type { RunningProxy } from './running.ts';
import type { ApiObject, Scenario } from './scenarios.ts';
import { until } from './until.ts';

/** New connections go on while `work` is done; what became of those that were not answered. */
export async function underConnections(
  net: Network,
  host: 'client1' | 'ext',
  address: string,
  work: () => Promise<void>,
): Promise<LoadReport['failures']> {
  const load = await net.agent(host).load({ address, port: 80, protocol: 'tcp', perSecond: 100 });
  await until(async () => (await load.report()).answered > 20);
  await work();
  const { answered } = await load.report();
  await until(async () => (await load.report()).answered > answered + 20);
  return (await load.stop()).failures;
}

/** The scenario's Service has one endpoint, two, three, and fewer again, each programmed before the next. */
export async function changeEndpoints(running: RunningProxy, scenario: Scenario): Promise<void> {
  const slice = scenario.objects.find(({ kind }) => kind === 'EndpointSlice') as ApiObject & {
    endpoints: readonly object[];
  };
  for (const count of [1, 2, 3, 2, 1, 3]) {
    await running.syncedAfter(() =>
      running.node.source.apply({ ...slice, endpoints: slice.endpoints.slice(0, count) }),
    );
  }
}

/** `default/bad`, of both families. With a port that no API server would let through no tool takes it. */
export function spoiledService(port: number): ServiceValue {
  return buildService({
    name: 'bad',
    clusterIPs: ['10.96.99.99', 'fd00:10:96::99'],
    ports: [{ name: 'http', protocol: 'TCP', port, nodePort: 0 }],
  });
}
