/** This program as it ships, run for a benchmark: it is watched through its log. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

export interface Sync {
  readonly full: boolean;
  /** How many Services it was about. */
  readonly services: number;
  /** What it took by the daemon's own clock: planning, comparing, and the tools. */
  readonly seconds: number;
  /** Since the daemon was started, by the benchmark's clock. */
  readonly at: number;
}

export interface Daemon {
  /** Every IPv4 sync, from now on, until the callback says that it has seen enough; resolves with the last. */
  until(enough: (sync: Sync) => boolean): Promise<Sync>;
  /** Resident memory now and at its highest, bytes. */
  memory(): { readonly now: number; readonly peak: number };
  stop(): Promise<void>;
}

export function startDaemon(argv: readonly string[]): Daemon {
  const started = performance.now();
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'ignore', 'pipe'] });
  const listeners = new Set<(sync: Sync) => void>();
  const said: string[] = [];
  if (!child.stderr) throw new Error('no pipe to the daemon');
  createInterface({ input: child.stderr }).on('line', (line) => {
    said.push(line);
    if (said.length > 20) said.shift();
    const sync = syncOf(line);
    if (sync === undefined) return;
    const at = (performance.now() - started) / 1000;
    for (const listener of listeners) listener({ ...sync, at });
  });
  const died = once(child, 'exit').then(() => {
    throw new Error(`the daemon ended:\n${said.join('\n')}`);
  });
  died.catch(() => undefined);
  return {
    until(enough) {
      const found = new Promise<Sync>((resolve) => {
        const listener = (sync: Sync): void => {
          if (!enough(sync)) return;
          listeners.delete(listener);
          resolve(sync);
        };
        listeners.add(listener);
      });
      return Promise.race([found, died]);
    },
    memory: () => memoryOf(child),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    },
  };
}

/** What a line of the log says of a sync; `undefined` for any other line. */
function syncOf(line: string): Omit<Sync, 'at'> | undefined {
  if (!line.includes('"msg":"SyncProxyRules complete"')) return undefined;
  const { family, full, services, elapsed } = JSON.parse(line) as Omit<Sync, 'at' | 'seconds'> & {
    readonly family: string;
    /** `123ms` */
    readonly elapsed: string;
  };
  return family === 'IPv4' ? { full, services, seconds: Number.parseInt(elapsed, 10) / 1000 } : undefined;
}

function memoryOf({ pid }: ChildProcess): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): number =>
    Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
  return { now: field('VmRSS'), peak: field('VmHWM') };
}
