/** The whole program on a node of its own: a network, a directory of manifests, and what it says. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import type { CommandRunner } from '../../src/node/runner.ts';
import { createNamespace, type LoneNamespace } from '../support/namespace.ts';
import { until } from '../support/until.ts';
import { startCli } from './cli.ts';

/** Nothing outside of the namespace is changed; a later flag wins over one of these. */
const LEAVE_MACHINE = [
  `--oom-score-adj=${readFileSync('/proc/self/oom_score_adj', 'utf8').trim()}`,
  '--conntrack-max-per-core=0',
  '--conntrack-tcp-timeout-established=0',
  '--conntrack-tcp-timeout-close-wait=0',
];

const RELAY = resolve(import.meta.dirname, 'relay.ts');
const API_PORT = 6443;

export interface LogLine {
  readonly msg: string;
  readonly level: string | number;
  readonly families?: readonly string[];
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export class OwnNode {
  readonly directory: string;
  readonly #place: LoneNamespace;
  readonly #cleanups: (() => Promise<unknown>)[] = [];
  #child: ReturnType<typeof startCli> | undefined;
  #ended = false;
  #stdout = '';
  #stderr = '';

  /** Needs root, see `networkSupported`. */
  static async create(): Promise<OwnNode> {
    const place = await createNamespace();
    await place.runner.run({ argv: ['ip', 'link', 'set', 'lo', 'up'] });
    return new OwnNode(place, await mkdtemp(join(tmpdir(), 'own-node-')));
  }

  private constructor(place: LoneNamespace, directory: string) {
    this.#place = place;
    this.directory = directory;
  }

  /** Runs commands on the node. */
  get runner(): CommandRunner {
    return this.#place.runner;
  }

  /** What a command prints there. */
  async prints(...argv: [string, ...string[]]): Promise<string> {
    return (await this.runner.run({ argv })).stdout;
  }

  /** In front of a command, it is run on the node. */
  get inside(): readonly string[] {
    return ['ip', 'netns', 'exec', this.#place.name];
  }

  /** Puts a file in place whole, as whoever edits a watched directory should. */
  async write(name: string, ...objects: object[]): Promise<void> {
    const hidden = join(this.directory, `.${name}`);
    await writeFile(hidden, objects.map((object) => JSON.stringify(object)).join('\n---\n'));
    await rename(hidden, this.path(name));
  }

  path(name: string): string {
    return join(this.directory, `${name}.yaml`);
  }

  /** Starts `run`, by default with the manifests, and leaves it running. */
  start(
    flags: readonly string[],
    env: Readonly<Record<string, string>> = {},
    source = this.fromManifests,
  ): void {
    const all = ['run', '--mode=nftables', '--node-name=node1', ...source, ...LEAVE_MACHINE, ...flags];
    this.#child = startCli(all, { prefix: this.inside, env });
    void this.#child.then(() => {
      this.#ended = true;
    });
    this.#child.stdout.on('data', (chunk: Buffer) => {
      this.#stdout += chunk.toString();
    });
    this.#child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr += chunk.toString();
    });
  }

  get fromManifests(): readonly string[] {
    return ['--manifests', this.directory];
  }

  /** Makes a server of the tests reachable from here. @returns the flag that names it */
  async reach(port: number): Promise<readonly string[]> {
    const path = join(this.directory, 'relay.sock');
    const server = createServer((here) => {
      const there = connect(port, '127.0.0.1');
      here.on('error', () => there.destroy());
      there.on('error', () => here.destroy());
      here.pipe(there).pipe(here);
    });
    server.listen(path);
    await once(server, 'listening');
    const argv = [process.execPath, RELAY, `${API_PORT}`, path];
    const relay = execa('ip', ['netns', 'exec', this.#place.name, ...argv], { reject: false });
    this.#cleanups.push(async () => {
      relay.kill('SIGKILL');
      await relay;
      server.close();
    });
    await once(relay.stdout, 'data');
    return [`--master=http://127.0.0.1:${API_PORT}`];
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get stdout(): string {
    return this.#stdout;
  }

  /** Its log so far; lines that are not whole yet are left out. */
  get log(): readonly LogLine[] {
    const whole = this.#stderr.slice(0, this.#stderr.lastIndexOf('\n') + 1).split('\n');
    return whole.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LogLine);
  }

  says(message: string): number {
    return this.log.filter(({ msg }) => msg === message).length;
  }

  /** Every family that it said it has is through its first sync. */
  async synced(): Promise<void> {
    await until(() => {
      if (this.#ended) throw new Error(this.#stderr);
      const families = this.log.find(({ families }) => families)?.families;
      return this.says('SyncProxyRules complete') === families?.length;
    }, 90_000);
  }

  /** Asks a server of the node; rejects when nobody answers. */
  async get(url: string): Promise<HttpAnswer> {
    const script = `const response = await fetch(${JSON.stringify(url)});
      const { status, headers } = response;
      console.log(JSON.stringify({ status, headers: Object.fromEntries(headers), body: await response.text() }));`;
    return JSON.parse(await this.prints(process.execPath, '--input-type=module', '-e', script)) as HttpAnswer;
  }

  async close(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#child;
    for (const cleanup of this.#cleanups) await cleanup();
    await this.#place.close();
    await rm(this.directory, { recursive: true });
  }
}
