/** node1 of the test network under IPVS mode, its tools started by a shell. */
import { createIpvsBackend } from '../../backends/ipvs/backend.ts';
import type { IpvsSettings } from '../../backends/ipvs/settings.ts';
import type { IpFamily } from '../../src/cluster/values.ts';
import type { Backend } from '../../src/reconcile/backend.ts';
import { createNetwork, type Network } from '../support/network/network.ts';
import { createNodeUnderTest, type NodeUnderTest, scenarioOptions } from '../support/node-under-test.ts';
import { type ApiObject, loadScenario, scenarioObjects } from '../support/scenarios.ts';
import { createShellRunner, type ShellRunner } from '../support/uml/shell-runner.ts';
import { until } from '../support/until.ts';

export class UmlNode {
  readonly net: Network;
  readonly runner: ShellRunner;
  readonly #proxies: UmlProxy[] = [];

  static async create(): Promise<UmlNode> {
    return new UmlNode(await createNetwork());
  }

  private constructor(net: Network) {
    this.net = net;
    this.runner = createShellRunner(net.prefix('node1'));
  }

  /** After a test, however it went: nothing of it goes on. */
  async settle(): Promise<void> {
    for (const proxy of this.#proxies.splice(0)) await proxy.stop();
  }

  async close(): Promise<void> {
    await this.settle();
    await this.runner.close();
    await this.net.close();
  }

  /** What a command writes. */
  async read(...argv: [string, ...string[]]): Promise<string> {
    return (await this.runner.run({ argv })).stdout;
  }

  async feed(argv: [string, ...string[]], lines: readonly string[]): Promise<void> {
    const { stderr } = await this.runner.run({ argv, stdin: lines.map((line) => `${line}\n`) });
    if (stderr !== '') throw new Error(`${argv.join(' ')}: ${stderr}`);
  }

  /** The lines of `ipvsadm -Sn` that mention `text`. */
  async servers(text: string): Promise<string[]> {
    return (await this.read('ipvsadm', '-Sn')).split('\n').filter((line) => line.includes(text));
  }

  /** The proxy with these objects beside those of the cluster; nothing is written yet. */
  proxy(objects: readonly ApiObject[], settings: IpvsSettings = {}, options: Options = {}): UmlProxy {
    const proxy = new UmlProxy(this, objects, settings, options);
    this.#proxies.push(proxy);
    return proxy;
  }

  /** One sync of everything. The first call reads the kernel, whatever is there. */
  async program(
    objects: readonly ApiObject[],
    settings: IpvsSettings = {},
    options: Options = {},
  ): Promise<UmlProxy> {
    const proxy = this.proxy(objects, settings, options);
    await proxy.node.proxy.syncOnce(AbortSignal.timeout(120_000));
    return proxy;
  }
}

type Options = Parameters<typeof createNodeUnderTest>[3];

export class UmlProxy {
  readonly node: NodeUnderTest;
  readonly backends: Backend[] = [];
  readonly drifted: string[] = [];
  readonly #over = new AbortController();
  /** Syncs so far, by family. */
  readonly #syncs: Record<IpFamily, number> = { IPv4: 0, IPv6: 0 };
  #done: Promise<void> | undefined;

  constructor(at: UmlNode, objects: readonly ApiObject[], settings: IpvsSettings, options: Options) {
    this.node = createNodeUnderTest(
      { runner: () => at.runner },
      (family) => {
        const backend = createIpvsBackend({ family, runner: at.runner, variant: 'legacy', ipvs: settings });
        this.backends.push(backend);
        return backend;
      },
      scenarioObjects({ ...loadScenario('clusterip'), objects }),
      {
        ...scenarioOptions(loadScenario('clusterip')),
        minSyncPeriod: '100ms',
        syncPeriod: '2s',
        proxyMode: 'ipvs',
        ...options,
      },
      [
        {
          synced: ({ family }) => {
            this.#syncs[family] += 1;
          },
          drifted: (_, names) => this.drifted.push(...names),
        },
      ],
    );
  }

  /** Runs until stopped; resolves when both families are programmed. */
  async start(): Promise<void> {
    this.#done = this.node.proxy.run(this.#over.signal);
    await this.#both(0, 0);
  }

  /** Tells a change, and waits until it is programmed. */
  async tell(object: ApiObject): Promise<void> {
    const { IPv4, IPv6 } = this.#syncs;
    this.node.source.apply(object);
    await this.#both(IPv4, IPv6);
  }

  #both(ipv4: number, ipv6: number): Promise<void> {
    return until(() => this.#syncs.IPv4 > ipv4 && this.#syncs.IPv6 > ipv6, 120_000);
  }

  /** The rules stay. */
  async stop(): Promise<void> {
    this.#over.abort();
    await this.#done;
  }

  /** Takes everything away; what could not be. */
  async cleanup(): Promise<unknown[]> {
    const left: unknown[] = [];
    for (const backend of this.backends) left.push(...(await backend.cleanup()));
    return left;
  }
}

export interface ServiceFields {
  readonly clusterIP: string;
  readonly [field: string]: unknown;
}

/** `default/NAME`, port `http` 80 to 8080, and whatever fields of `spec`. */
export function service(name: string, spec: ServiceFields, status: object = {}): ApiObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default' },
    spec: { ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }], ...spec },
    status,
  };
}

/** The Service's only slice; endpoints of 10.244.1.0/24 are on node1, the others on node2. */
export function slice(
  name: string,
  addresses: readonly string[],
  port: { readonly port: number; readonly protocol: string } = { port: 8080, protocol: 'TCP' },
): ApiObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${name}-a`, namespace: 'default', labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: addresses.map((address) => ({
      addresses: [address],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: address.startsWith('10.244.1.') ? 'node1' : 'node2',
    })),
    ports: [{ name: 'http', ...port }],
  };
}
