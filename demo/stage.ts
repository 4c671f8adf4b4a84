/** What the demo plays on: the network, and kube-rulesync at work on its node1, following a copy of the manifests. */
import { cp, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMap, parseAllDocuments } from 'yaml';
import type { Mode } from '../backends/registry.ts';
import type { IpFamily } from '../src/cluster/values.ts';
import type { NodeProxy } from '../src/proxy.ts';
import type { Backend, Step } from '../src/reconcile/backend.ts';
import type { SyncReport } from '../src/reconcile/observer.ts';
import { createNetwork, type Network } from '../test/support/network/network.ts';
import { until } from '../test/support/until.ts';
import { createBackends, createNode } from './node.ts';

export const MANIFESTS = join(import.meta.dirname, 'manifests');

/** A step that the kernel took. Times are those of `performance.now()`. */
export interface Applied {
  readonly family: IpFamily;
  readonly step: Step;
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface Stage {
  readonly net: Network;
  readonly backends: readonly Backend[];
  readonly proxy: NodeProxy;
  readonly syncs: readonly SyncReport[];
  readonly applied: readonly Applied[];
  /** Starts kube-rulesync; resolves when both families are programmed. */
  start(): Promise<void>;
  /** Resolves when `condition` holds; rejects when kube-rulesync ends before. */
  until(condition: () => boolean): Promise<void>;
  /** Ends kube-rulesync; the rules stay. */
  stop(): Promise<void>;
  /** Rewrites the ready endpoints of a manifest's EndpointSlice; resolves with the time at which it was in place. */
  scale(manifest: string, endpoints: readonly string[]): Promise<number>;
  /** Takes everything down. Harmless when called again. */
  close(): Promise<void>;
}

/** Needs root, see `networkSupported`. */
export async function openStage(mode: Mode): Promise<Stage> {
  const net = await createNetwork();
  const directory = await mkdtemp(join(tmpdir(), 'kube-rulesync-demo-'));
  const close = async (): Promise<void> => {
    await net.close();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await cp(MANIFESTS, directory, { recursive: true });
    return await createStage(mode, net, directory, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function createStage(
  mode: Mode,
  net: Network,
  directory: string,
  close: () => Promise<void>,
): Promise<Stage> {
  const syncs: SyncReport[] = [];
  const applied: Applied[] = [];
  const backends = await createBackends(mode, net.runner('node1'));
  const proxy = await createNode({
    manifests: directory,
    watch: true,
    mode,
    backends: backends.map((backend) => noting(backend, applied)),
    observers: [{ synced: (report) => void syncs.push(report) }],
  });
  const over = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let failure: unknown;

  const stage: Stage = {
    net,
    backends,
    proxy,
    syncs,
    applied,
    async start() {
      running = proxy.run(over.signal).catch((error: unknown) => {
        failure = error;
      });
      await stage.until(() => backends.every(({ family }) => syncs.some((sync) => sync.family === family)));
    },
    async until(condition) {
      await until(() => failure !== undefined || over.signal.aborted || condition());
      if (failure !== undefined) throw failure;
      over.signal.throwIfAborted();
    },
    async stop() {
      over.abort();
      await running;
    },
    scale: (manifest, endpoints) => scale(join(directory, manifest), endpoints),
    async close() {
      await stage.stop();
      await close();
    },
  };
  return stage;
}

/** The same back end, whose steps are noted when the kernel has taken them. */
function noting(backend: Backend, applied: Applied[]): Backend {
  return {
    mode: backend.mode,
    family: backend.family,
    probe: () => backend.probe(),
    observe: () => backend.observe(),
    audit: () => backend.audit(),
    diff: (change) => backend.diff(change),
    collect: () => backend.collect(),
    check: (step) => backend.check(step),
    async apply(step) {
      const startedAt = performance.now();
      await backend.apply(step);
      applied.push({ family: backend.family, step, startedAt, endedAt: performance.now() });
    },
    cleanup: () => backend.cleanup(),
  };
}

async function scale(file: string, endpoints: readonly string[]): Promise<number> {
  const documents = parseAllDocuments(await readFile(file, 'utf8'));
  if (!Array.isArray(documents)) throw new Error(`${file}: no documents`);
  const slice = documents.find((document) => document.get('kind') === 'EndpointSlice');
  if (slice === undefined || !isMap(slice.contents)) throw new Error(`${file}: no EndpointSlice`);
  slice.set(
    'endpoints',
    slice.createNode(
      endpoints.map((address) => ({
        addresses: [address],
        nodeName: address.startsWith('10.244.1.') ? 'node1' : 'node2',
        conditions: { ready: true },
      })),
    ),
  );
  // Replaced whole, as editors and ConfigMaps do: nobody reads half a file.
  const next = `${file}.next`;
  await writeFile(next, documents.map(String).join(''));
  await rename(next, file);
  return performance.now();
}
