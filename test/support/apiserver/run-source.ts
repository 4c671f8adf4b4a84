/** Runs the Kubernetes API source against a test server, with time limits that tests can sit out. */

import type { Timing } from '../../../src/source/api/options.ts';
import { type ApiSourceOptions, createApiSource } from '../../../src/source/api/source.ts';
import { RecordingSink } from './recording-sink.ts';

/** Everything that waits is short; watches are long, so that only what a test does ends them. */
export const FAST: Timing = {
  backoffFirstMs: 2,
  backoffCapMs: 20,
  backoffResetMs: 120_000,
  watchMinSeconds: 300,
  watchMaxSeconds: 600,
  idleMs: 20_000,
  idleWithoutBookmarksMs: 20_000,
  responseMs: 20_000,
  overrunMs: 20_000,
  shortWatchMs: 0,
  retryAfterCapMs: 60_000,
  absentRecheckMs: 20,
};

export interface RunningSource {
  readonly sink: RecordingSink;
  /** `Service first`, `Service expired`, … as they happened. */
  readonly relists: readonly string[];
  readonly restarts: readonly string[];
  /** `200 GET 127.0.0.1:1234`. */
  readonly exchanges: readonly string[];
  /** Warnings and infos, as `message: error`. */
  readonly logged: readonly string[];
  /** Milliseconds each failure made it wait. */
  readonly waits: readonly number[];
  readonly stop: () => Promise<void>;
}

/** `master` alone reaches a server without credentials. The Node is `node1`. */
export async function runSource(
  options: Partial<ApiSourceOptions>,
  sink: RecordingSink = new RecordingSink(),
): Promise<RunningSource> {
  const relists: string[] = [];
  const restarts: string[] = [];
  const exchanges: string[] = [];
  const logged: string[] = [];
  const waits: number[] = [];
  const note = (fields: Record<string, unknown>, message: string) => {
    logged.push(typeof fields.error === 'string' ? `${message}: ${fields.error}` : message);
    if (typeof fields.retryInMs === 'number') waits.push(fields.retryInMs);
  };
  const source = await createApiSource({
    kubeconfig: '',
    master: '',
    nodeName: 'node1',
    userAgent: 'kube-rulesync/test',
    log: { info: note, warn: note, debug: () => {} },
    hooks: {
      relist: (kind, reason) => relists.push(`${kind} ${reason}`),
      watchRestart: (kind, reason) => restarts.push(`${kind} ${reason}`),
      requestDone: (code, verb, host) => exchanges.push(`${code} ${verb} ${host}`),
    },
    ...options,
    timing: { ...FAST, ...options.timing },
  });
  const stopping = new AbortController();
  const running = source.run(sink, stopping.signal);
  return {
    sink,
    relists,
    restarts,
    exchanges,
    logged,
    waits,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
