/** The proxy in nftables mode with the cleaner of UDP flows on it, and clients that keep their port. */
import { pino } from 'pino';
import { expect } from 'vitest';
import { createNftablesBackend } from '../../backends/nftables/backend.ts';
import { UdpFlowCleaner } from '../../src/conntrack/cleaner.ts';
import type { Backend } from '../../src/reconcile/backend.ts';
import type { Network } from './network/network.ts';
import { NODE1_ADDRESSES } from './network/topology.ts';
import { createNodeUnderTest, type NodeUnderTest, scenarioOptions } from './node-under-test.ts';
import type { Connection } from './probe/agent-process.ts';
import type { Outcome } from './probe/protocol.ts';
import { type ApiObject, loadScenario, scenarioObjects } from './scenarios.ts';
import { until } from './until.ts';

const SCENARIO = loadScenario('clusterip');
const OPTIONS = { ...scenarioOptions(SCENARIO), minSyncPeriod: '100ms', syncPeriod: '30s' };

/** A UDP socket that stays, and its last answer. */
export class UdpClient {
  readonly #connection: Connection;
  last: Outcome;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.last = connection.first;
  }

  async ask(): Promise<Outcome> {
    this.last = await this.#connection.exchange(1_000);
    return this.last;
  }

  async untilAnsweredBy(backend: string): Promise<void> {
    await until(async () => {
      expect(await this.ask()).toMatchObject({ backend });
      return true;
    });
  }

  async untilFailed(failure: string): Promise<void> {
    await until(async () => {
      expect(await this.ask()).toEqual({ ok: false, failure });
      return true;
    });
  }
}

/** The proxy on node1 with the cleaner on it, until it is stopped. */
export class UdpProxy {
  /** What the cleaner ran. */
  readonly commands: string[] = [];
  /** Syncs that failed. */
  failures = 0;
  /** Whether no rule can be written. */
  broken = false;
  readonly #node: NodeUnderTest;
  readonly #cleaner: UdpFlowCleaner;
  readonly #synced = new Set<string>();
  readonly #over = new AbortController();
  readonly #done: Promise<void>;

  constructor(net: Network, objects: readonly ApiObject[]) {
    const runner = net.runner('node1');
    this.#cleaner = new UdpFlowCleaner({
      runner: {
        run: (command) => {
          this.commands.push(command.argv.join(' '));
          return runner.run(command);
        },
      },
      slicesOf: (key) => this.#node.proxy.cluster.slicesOf(key),
      nodeAddresses: () => NODE1_ADDRESSES,
      log: pino({ level: process.env.TEST_LOG ?? 'silent' }),
    });
    this.#node = createNodeUnderTest(
      net,
      (family, own) => this.#breakable(createNftablesBackend({ family, runner: own })),
      scenarioObjects({ ...SCENARIO, objects }),
      OPTIONS,
      [
        this.#cleaner,
        {
          synced: ({ family }) => this.#synced.add(family),
          failed: () => {
            this.failures += 1;
          },
        },
      ],
    );
    this.#done = this.#node.proxy.run(this.#over.signal);
  }

  synced(): Promise<void> {
    return until(() => this.#synced.size === 2);
  }

  /** All in one sync, as far as they are of one family. */
  apply(...objects: ApiObject[]): void {
    for (const object of objects) this.#node.source.apply(object);
  }

  delete(object: ApiObject): void {
    this.#node.source.delete(object);
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#done;
    await this.#cleaner.close();
  }

  #breakable(backend: Backend): Backend {
    const apply = backend.apply.bind(backend);
    backend.apply = (step) =>
      this.broken ? Promise.reject(new Error('nothing can be written')) : apply(step);
    return backend;
  }
}
