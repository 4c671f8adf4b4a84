/** Where changes of mode are tried: a node for each test, the program built once, and traffic that must not notice. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { createRunner } from '../../src/node/runner.ts';
import type { ProxyMode } from '../../src/reconcile/backend.ts';
import type { Load } from '../support/probe/agent-process.ts';
import { type ApiObject, loadScenario, scenarioObjects } from '../support/scenarios.ts';
import { UmlNode } from './node.ts';
import { buildProgram, PATIENCE_MS, Program, Talks, Traffic } from './switching.ts';
import { CLUSTER_IP, ENDPOINTS, LOAD_BALANCER, NODE_PORT, OTHER_ENDPOINTS } from './switching-cluster.ts';
import { repeatedSyns } from './switching-state.ts';

/** Of the test that runs. */
export interface SwitchingBed {
  readonly at: UmlNode;
  readonly talks: Talks;
  /** Starts the program, which is ended after the test at the latest. */
  start(mode: ProxyMode, objects: readonly ApiObject[]): Promise<Program>;
}

/** Registers what is done before and after each test of the suite it is called in. */
export function switchingBed(): SwitchingBed {
  let build: string;
  let main: string;
  let at: UmlNode;
  let directory: string;
  let talks: Talks;
  const programs: Program[] = [];
  beforeAll(async () => {
    // It remembers a closed connection for two minutes, and by itself has room for a minute's in so small a machine.
    const runner = createRunner();
    await runner.run({ argv: ['sysctl', '-q', '-w', 'net.netfilter.nf_conntrack_max=262144'] });
    build = await mkdtemp(join(tmpdir(), 'krs-build-'));
    main = await buildProgram(runner, build);
  });
  afterAll(() => rm(build, { recursive: true }));
  beforeEach(async () => {
    at = await UmlNode.create();
    directory = await mkdtemp(join(tmpdir(), 'krs-mode-'));
    talks = new Talks(at);
  });
  afterEach(async () => {
    await talks.stop();
    for (const program of programs.splice(0)) await program.end();
    await rm(directory, { recursive: true });
    await at.close();
  });
  return {
    get at() {
      return at;
    },
    get talks() {
      return talks;
    },
    async start(mode, objects) {
      const all = scenarioObjects({ ...loadScenario('clusterip'), objects });
      await writeFile(join(directory, 'all.yaml'), all.map((one) => JSON.stringify(one)).join('\n---\n'));
      const program = new Program(at, main, mode, directory);
      programs.push(program);
      return program;
    },
  };
}

/** New connections to the Services WEB and RESTRICTED, and somebody whom RESTRICTED is to keep out. */
export class Crowd {
  readonly #at: UmlNode;
  readonly #traffic: Traffic;
  readonly #denied: Load;

  private constructor(at: UmlNode, traffic: Traffic, denied: Load) {
    this.#at = at;
    this.#traffic = traffic;
    this.#denied = denied;
  }

  /**
   * 200 a second where the machine's one processor can: while a program starts on it, fewer are begun (some 170 a
   * second over all), and answers are late. That nothing was lost is told by the kernel, which repeats a lost SYN.
   */
  static async start(at: UmlNode): Promise<Crowd> {
    const traffic = await Traffic.start(
      at,
      [
        { host: 'ext', ...NODE_PORT, perSecond: 80 } as const,
        { host: 'client1', ...CLUSTER_IP, perSecond: 80 } as const,
        { host: 'ext', ...LOAD_BALANCER, perSecond: 40 } as const,
      ].map((one) => ({ ...one, atOnce: 20, deadlineMs: PATIENCE_MS })),
    );
    const denied = await at.net.agent('pods1').load({ ...LOAD_BALANCER, perSecond: 2 });
    await traffic.goesOn();
    return new Crowd(at, traffic, denied);
  }

  goesOn(): Promise<void> {
    return this.#traffic.goesOn();
  }

  /** Ends it: nobody was refused, reset or lost, every endpoint was met, and who is kept out had no answer. */
  async noticedNothing(): Promise<void> {
    const reports = await this.#traffic.stop();
    expect(reports.map(({ failures }) => failures)).toEqual([{}, {}, {}]);
    for (const { answered, started } of reports) expect(answered).toBe(started);
    expect(reports.map(({ backends }) => Object.keys(backends).sort())).toEqual(
      [ENDPOINTS, ENDPOINTS, OTHER_ENDPOINTS].map((all) => all.map((one) => `${one}:8080`)),
    );
    expect({
      ext: await repeatedSyns(this.#at, 'ext'),
      client1: await repeatedSyns(this.#at, 'client1'),
    }).toEqual({ ext: 0, client1: 0 });
    const { answered, failures } = await this.#denied.stop();
    expect({ answered, failures }).toEqual({ answered: 0, failures: { timeout: expect.any(Number) } });
  }
}
