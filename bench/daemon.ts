/** This program as it ships, run for a benchmark: it is watched through its log. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

export interface Daemon {
  /** Resolves when a sync of the family has ended that began after this call; seconds since the call. */
  nextSync(): Promise<number>;
  /** Seconds from its start to the first sync of everything. */
  readonly firstSync: Promise<number>;
  /** Resident memory now and at its highest, bytes. */
  memory(): { readonly now: number; readonly peak: number };
  stop(): Promise<void>;
}

const SYNCED = '"msg":"Synced"';

export function startDaemon(argv: readonly string[]): Daemon {
  const started = performance.now();
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'ignore', 'pipe'] });
  const waiting: ((line: string) => void)[] = [];
  const said: string[] = [];
  if (!child.stderr) throw new Error('no pipe to the daemon');
  createInterface({ input: child.stderr }).on('line', (line) => {
    said.push(line);
    if (said.length > 20) said.shift();
    if (line.includes(SYNCED) && line.includes('"family":"IPv4"')) {
      for (const resolve of waiting.splice(0)) resolve(line);
    }
  });
  const died = once(child, 'exit').then(() => {
    throw new Error(`the daemon ended:\n${said.join('\n')}`);
  });
  died.catch(() => undefined);
  const next = async (since: number): Promise<number> => {
    await Promise.race([new Promise((resolve) => waiting.push(resolve)), died]);
    return (performance.now() - since) / 1000;
  };
  return {
    firstSync: next(started),
    nextSync: () => next(performance.now()),
    memory: () => memoryOf(child),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    },
  };
}

function memoryOf({ pid }: ChildProcess): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): number =>
    Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
  return { now: field('VmRSS'), peak: field('VmHWM') };
}
