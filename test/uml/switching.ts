/** One proxy after another on a node, and traffic that is not to notice. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pino } from 'pino';
import { createBackend } from '../../backends/registry.ts';
import { cleanUp } from '../../src/cli/cleanup.ts';
import { ModeChange } from '../../src/cli/mode-change.ts';
import { IP_FAMILIES, type IpFamily } from '../../src/cluster/values.ts';
import type { CommandRunner } from '../../src/node/runner.ts';
import type { Backend, Leftover, ProxyMode } from '../../src/reconcile/backend.ts';
import type { Host } from '../support/network/topology.ts';
import { createNodeUnderTest, scenarioOptions } from '../support/node-under-test.ts';
import type { Connection, Load } from '../support/probe/agent-process.ts';
import type { LoadReport, LoadRequest, Target } from '../support/probe/protocol.ts';
import { type ApiObject, loadScenario, scenarioObjects } from '../support/scenarios.ts';
import { until } from '../support/until.ts';
import type { UmlNode } from './node.ts';

const BUILD = join(import.meta.dirname, '../../scripts/build.ts');

/** For whatever takes the time of the only processor. */
const DEADLINE_MS = 300_000;

/** For a single answer: a packet that is lost comes again before, and is counted (`repeatedSyns`). */
export const PATIENCE_MS = 20_000;

/** The machine's own settings stay as they are. */
const LEAVE_MACHINE = [
  '--oom-score-adj=0',
  '--conntrack-max-per-core=0',
  '--conntrack-tcp-timeout-established=0',
  '--conntrack-tcp-timeout-close-wait=0',
];

/** Builds the program, which in one piece starts in a tenth of the time. Resolves with what to run. */
export async function buildProgram(runner: CommandRunner, directory: string): Promise<string> {
  await runner.run({ argv: [process.execPath, BUILD, directory], timeoutMs: DEADLINE_MS });
  return join(directory, 'kube-rulesync.js');
}

/** How the program is called on node1. */
export function programArgv(main: string, mode: ProxyMode, manifests: string): [string, ...string[]] {
  return [
    process.execPath,
    main,
    'run',
    ...['--proxy-mode', mode, '--manifests', manifests, '--iptables-variant', 'legacy', '-v', '4'],
    ...['--hostname-override', 'node1', '--cluster-cidr', '10.244.0.0/16,fd00:244::/32'],
    ...['--iptables-sync-period', '5s', '--ipvs-sync-period', '5s'],
    ...LEAVE_MACHINE,
  ];
}

/** The program as a process on node1. */
export class Program {
  readonly #child: ChildProcess;
  #said = '';

  /**
   * @param main what to run
   * @param manifests the directory with the cluster's objects
   * @param rights a command in front of it that takes rights away
   */
  constructor(at: UmlNode, main: string, mode: ProxyMode, manifests: string, rights: readonly string[] = []) {
    const [file, ...prefix] = at.net.prefix('node1');
    // The load takes what there is of the only processor; this has to come through beside it.
    const argv = ['nice', '-n', '-5', ...rights, ...programArgv(main, mode, manifests)];
    this.#child = spawn(file, [...prefix, ...argv], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#said += text;
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Its log so far. */
  get said(): string {
    return this.#said;
  }

  /** Resolves when its rules are in force, and nothing of other modes is left but for open connections. */
  async inForce(): Promise<void> {
    const inForce = /Other proxy modes have given way|What connections of another proxy mode/;
    const over = (): boolean => this.#child.exitCode !== null;
    const error = await until(() => over() || inForce.test(this.#said), DEADLINE_MS).catch(
      (reason: Error) => reason.message,
    );
    if (inForce.test(this.#said)) return;
    const end = error ?? `it ended with ${this.#child.exitCode}`;
    throw new Error(`${end}; the program said last:\n${this.#said.slice(-3000)}`);
  }

  /** As `kill` ends it. Resolves with the exit code. */
  async end(): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    const closed = once(this.#child, 'close');
    this.#child.kill('SIGTERM');
    await closed;
    return this.#child.exitCode;
  }
}

export interface InForce {
  readonly change: ModeChange;
  /** As a signal would end it; its rules stay. */
  end(): Promise<void>;
}

/** A proxy of a mode within this process: resolves when it is in force and the others have given way. */
export async function takeOver(
  at: UmlNode,
  mode: ProxyMode,
  objects: readonly ApiObject[],
  options: Parameters<typeof createNodeUnderTest>[3] = {},
): Promise<InForce> {
  const make = (which: ProxyMode, family: IpFamily): Promise<Backend> =>
    createBackend(which, { family, runner: at.runner, variant: 'legacy' });
  const backends = new Map<IpFamily, Backend>();
  for (const family of IP_FAMILIES) backends.set(family, await make(mode, family));
  const change = new ModeChange({
    mode,
    families: IP_FAMILIES,
    createBackend: make,
    periodMs: 1000,
    log: pino({ level: 'silent' }),
  });
  const { proxy } = createNodeUnderTest(
    { runner: () => at.runner },
    (family) => {
      const backend = backends.get(family);
      if (backend === undefined) throw new Error(`no back end for ${family}`);
      return backend;
    },
    scenarioObjects({ ...loadScenario('clusterip'), objects }),
    { ...scenarioOptions(loadScenario('clusterip')), proxyMode: mode, ...options },
    [change],
  );
  const over = new AbortController();
  const running = proxy.run(over.signal);
  await change.passed;
  return {
    change,
    async end() {
      over.abort();
      await running;
      await change.stop();
    },
  };
}

/** As the command does it. What could not be removed. */
export async function cleanUpNode(at: UmlNode): Promise<readonly Leftover[]> {
  const backends = await Promise.all(
    (['iptables', 'ipvs'] as const).flatMap((mode) =>
      IP_FAMILIES.map((family) => createBackend(mode, { family, runner: at.runner, variant: 'legacy' })),
    ),
  );
  return (await cleanUp(backends)).leftovers;
}

/** New connections at a steady rate, from several hosts. */
export class Traffic {
  readonly #loads: readonly Load[];

  private constructor(loads: readonly Load[]) {
    this.#loads = loads;
  }

  static async start(
    at: UmlNode,
    requests: readonly (LoadRequest & { readonly host: Host })[],
  ): Promise<Traffic> {
    return new Traffic(
      await Promise.all(requests.map(({ host, ...request }) => at.net.agent(host).load(request))),
    );
  }

  /** Resolves when each of them has had many more answers than now. */
  async goesOn(): Promise<void> {
    for (const load of this.#loads) {
      const { answered } = await load.report();
      await until(async () => (await load.report()).answered > answered + 50, DEADLINE_MS);
    }
  }

  stop(): Promise<LoadReport[]> {
    return Promise.all(this.#loads.map((load) => load.stop()));
  }
}

/** Connections that stay open and are asked again and again, each before the next. */
export class Talks {
  readonly #at: UmlNode;
  readonly #connections = new Map<string, Connection>();
  #over = false;
  #exchanges = 0;
  readonly #failures: string[] = [];
  readonly #done: Promise<void>;

  constructor(at: UmlNode) {
    this.#at = at;
    this.#done = this.#talk();
  }

  /** Opens one from each host. Throws when nobody answers. */
  async open(name: string, targets: readonly (Target & { readonly host: Host })[]): Promise<void> {
    for (const { host, ...target } of targets) {
      const connection = await this.#at.net.agent(host).connect({ ...target, deadlineMs: PATIENCE_MS });
      const key = `${name}, ${host} to ${target.address}`;
      if (!connection.first.ok) throw new Error(`${key}: ${connection.first.failure}`);
      this.#connections.set(key, connection);
    }
  }

  /** Resolves when each has been asked again. */
  async goOn(): Promise<void> {
    const enough = this.#exchanges + 2 * this.#connections.size;
    await until(() => this.#exchanges >= enough, DEADLINE_MS);
  }

  /** Closes those whose name begins so. */
  async close(name: string): Promise<void> {
    for (const [key, connection] of this.#connections) {
      if (!key.startsWith(name)) continue;
      this.#connections.delete(key);
      await connection.close();
    }
  }

  /** What went wrong, by connection. */
  get failures(): readonly string[] {
    return this.#failures;
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#done;
  }

  async #talk(): Promise<void> {
    while (!this.#over) {
      for (const [key, connection] of this.#connections) {
        const outcome = await connection.exchange(PATIENCE_MS);
        if (!outcome.ok && this.#connections.has(key)) this.#failures.push(`${key}: ${outcome.failure}`);
        this.#exchanges += 1;
      }
      await new Promise((wake) => setTimeout(wake, 50));
    }
  }
}
