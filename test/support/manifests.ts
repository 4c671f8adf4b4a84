/** Manifests in a directory of a test's own, and the source that reads them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { afterEach, beforeEach } from 'vitest';
import { Cluster } from '../../src/cluster/cluster.ts';
import { createManifestsSource, type ManifestsOptions } from '../../src/source/manifests/manifests-source.ts';
import type { Source } from '../../src/source/source.ts';

/** Made anew for each test of a file that imports this. */
export let directory: string;
let running: { stop: AbortController; done: Promise<void> }[];

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'manifests-'));
  running = [];
});

afterEach(async () => {
  for (const { stop } of running) stop.abort();
  await Promise.all(running.map(({ done }) => done));
  rmSync(directory, { recursive: true, force: true });
});

export function file(name: string): string {
  return path.join(directory, name);
}

export function write(name: string, text: string): void {
  mkdirSync(path.dirname(file(name)), { recursive: true });
  writeFileSync(file(name), text);
}

export function service(name: string, clusterIP = '10.96.0.1'): string {
  return `---\napiVersion: v1\nkind: Service\nmetadata: {name: ${name}}\nspec: {clusterIP: ${clusterIP}, ports: [{port: 80}]}\n`;
}

export function slice(name: string, of: string, address = '10.244.1.2'): string {
  return (
    `---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n` +
    `metadata: {name: ${name}, labels: {kubernetes.io/service-name: ${of}}}\n` +
    `addressType: IPv4\nports: [{port: 8080}]\nendpoints: [{addresses: [${address}]}]\n`
  );
}

/** Lines of the log, errors and worse marked. */
export class Log {
  readonly lines: string[] = [];
  readonly logger = pino(
    { level: 'debug' },
    {
      write: (line: string) => {
        const { level, msg } = JSON.parse(line) as { level: number; msg: string };
        this.lines.push(`${pino.levels.labels[level]}: ${msg}`);
      },
    },
  );
}

export function sourceOf(log: Log, options: Partial<ManifestsOptions> = {}): Source {
  return createManifestsSource({
    path: directory,
    nodeName: 'node1',
    watch: true,
    log: log.logger,
    // Long enough that what a test waits for is noticed by a watch, unless it says otherwise.
    rescanMs: 600_000,
    ...options,
  });
}

export interface Started {
  readonly cluster: Cluster;
  readonly log: Log;
}

/** Starts a source and waits until it has reported everything once. */
export async function start(options: Partial<ManifestsOptions> = {}): Promise<Started> {
  const log = new Log();
  const cluster = new Cluster({ requiredKinds: ['Service', 'EndpointSlice', 'Node', 'ServiceCIDR'] });
  const stop = new AbortController();
  const done = sourceOf(log, options).run(cluster, stop.signal);
  running.push({ stop, done });
  await Promise.race([
    done,
    until(() => cluster.synced && cluster.statuses().get('Service')?.state !== 'listing'),
  ]);
  return { cluster, log };
}

export async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`still not: ${condition.toString()}`);
    await sleep(5);
  }
}

/** Reads everything once. */
export async function readOnce(options: Partial<ManifestsOptions> = {}): Promise<Started> {
  const log = new Log();
  const cluster = new Cluster();
  await sourceOf(log, { watch: false, ...options }).run(cluster, new AbortController().signal);
  return { cluster, log };
}

export function serviceKeys(cluster: Cluster): string[] {
  return [...cluster.serviceKeys()].sort();
}

export function clusterIP(cluster: Cluster, name: string): string | undefined {
  return cluster.service(`default/${name}`)?.clusterIPs[0];
}

export function said(cluster: Cluster): string[] {
  return cluster.allProblems().map(({ object, field, message }) => `${object}: ${field}: ${message}`);
}
