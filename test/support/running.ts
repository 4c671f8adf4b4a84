/** A proxy at work on node1 of the test network, and what it tells about itself. */
import { IP_FAMILIES, type IpFamily } from '../../src/cluster/values.ts';
import type { SyncReport } from '../../src/reconcile/observer.ts';
import type { Network } from './network/network.ts';
import { type CreateBackend, createNodeUnderTest, type NodeUnderTest } from './node-under-test.ts';
import type { ApiObject } from './scenarios.ts';
import { until } from './until.ts';

/** Until it is stopped as a signal would stop it: at once, its rules left where they are. */
export class RunningProxy {
  readonly node: NodeUnderTest;
  readonly drifted: string[] = [];
  readonly setAside: string[] = [];
  readonly readmitted: string[] = [];
  readonly failures: Error[] = [];
  /** Those that went through, of both families. */
  readonly syncs: SyncReport[] = [];
  readonly #over = new AbortController();
  readonly #done: Promise<void>;

  constructor(
    net: Pick<Network, 'runner'>,
    createBackend: CreateBackend,
    objects: readonly ApiObject[],
    options: Parameters<typeof createNodeUnderTest>[3],
  ) {
    this.node = createNodeUnderTest(net, createBackend, objects, options, [
      {
        synced: (report) => this.syncs.push(report),
        drifted: (_, names) => this.drifted.push(...names),
        setAside: (_, service) => this.setAside.push(service),
        readmitted: (_, service) => this.readmitted.push(service),
        failed: (_, error) => this.failures.push(error),
      },
    ]);
    this.#done = this.node.proxy.run(this.#over.signal);
  }

  /** Both families have been written. */
  synced(): Promise<void> {
    return until(() => new Set(this.syncs.map(({ family }) => family)).size === 2, 60_000);
  }

  /** Does something that both families have to do with, and resolves once both have synced after it. */
  async syncedAfter(work: () => void): Promise<void> {
    const count = (family: IpFamily): number =>
      this.syncs.filter((report) => report.family === family).length;
    const before = IP_FAMILIES.map((family) => ({ family, syncs: count(family) }));
    work();
    await until(() => before.every(({ family, syncs }) => count(family) > syncs), 60_000);
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#done;
  }
}
