/** The whole program on a node of its own: a network, a directory of manifests, and what it says. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
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
  readonly family?: string;
  readonly families?: readonly string[];
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export class OwnNode {
  readonly directory: string;
  readonly #place: LoneNamespace;
  readonly #cleanups: (() => Promise<unknown>)[] = [];
  /** By the port they lead to. */
  readonly #relays = new Map<number, Promise<void>>();
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
    this.#cleanups.push(async () => void server.close());
    await this.#relay(`${API_PORT}`, path);
    return [`--master=http://127.0.0.1:${API_PORT}`];
  }

  /** Passes connections on until this is closed; each end is a port of the node or a socket's path. */
  async #relay(from: string, to: string): Promise<void> {
    const argv = ['netns', 'exec', this.#place.name, process.execPath, RELAY, from, to];
    const relay = execa('ip', argv, { reject: false });
    this.#cleanups.push(async () => {
      relay.kill('SIGKILL');
      await relay;
    });
    await once(relay.stdout, 'data');
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

  /** How often. */
  says(message: string): number {
    return this.log.filter(({ msg }) => msg === message).length;
  }

  /** Every family that it said it has is through its first sync. */
  async synced(): Promise<void> {
    await until(() => {
      if (this.#ended) throw new Error(this.#stderr);
      const synced = this.log.filter(({ msg }) => msg === 'SyncProxyRules complete');
      const families = this.log.find(({ families }) => families)?.families;
      return new Set(synced.map(({ family }) => family)).size === families?.length;
    }, 90_000);
  }

  /** Asks what listens on a port of the node's 127.0.0.1; rejects when nobody answers. */
  async get(port: number, path: string): Promise<HttpAnswer> {
    const socketPath = join(this.directory, `${port}.sock`);
    const relay = this.#relays.get(port) ?? this.#relay(socketPath, `${port}`);
    this.#relays.set(port, relay);
    await relay;
    const asked = request({ socketPath, path, headers: { host: 'node1', connection: 'close' } }).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) };
  }

  /** As a signal ends it. Resolves when it has ended, with its exit code. */
  async stop(): Promise<number | undefined> {
    this.#child?.kill('SIGTERM');
    return (await this.#child)?.exitCode;
  }

  async close(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#child;
    for (const cleanup of this.#cleanups) await cleanup();
    await this.#place.close();
    await rm(this.directory, { recursive: true });
  }
}
