/** The file that `--config` names: reading it, and noticing that it is another one now. */
import { createHash } from 'node:crypto';
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Logger } from '../log/logger.ts';
import { DirectoryWatcher } from '../source/manifests/watcher.ts';
import { CliError } from './exit.ts';

export interface ConfigFile {
  readonly path: string;
  readonly text: string;
}

/** Rejects with a `CliError`. */
export async function readConfigFile(path: string): Promise<ConfigFile> {
  try {
    return { path, text: await readFile(path, 'utf8') };
  } catch (error) {
    throw new CliError(`--config ${JSON.stringify(path)}: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error && 'code' in error)) return String(error);
  return error.code === 'ENOENT' ? 'there is no such file' : `cannot be read (${String(error.code)})`;
}

export interface WatchOptions {
  readonly log: Logger;
  /** How often to look for changes nobody gave notice of (network file systems), in milliseconds; default 10,000. */
  readonly rescanMs?: number;
}

const RESCAN_MS = 10_000;

/**
 * Resolves with true as soon as the file says something else than `file` did when it was read, or with false when
 * `signal` aborts. Compares contents: a ConfigMap that is mounted anew with the same text, or a file that is touched,
 * is no change, and a file that is gone for a moment is none yet.
 */
export async function configFileChanged(
  file: ConfigFile,
  signal: AbortSignal,
  { log, rescanMs = RESCAN_MS }: WatchOptions,
): Promise<boolean> {
  const watcher = new DirectoryWatcher((directory, error) => {
    log.debug({ directory, err: error }, 'Cannot watch this directory; looking into it now and then instead');
  });
  const before = digest(file.text);
  let missing = false;
  try {
    while (!signal.aborted) {
      await wantDirectories(file.path, watcher);
      watcher.endRound();
      const now = await readFile(file.path, 'utf8').catch(() => undefined);
      if (now !== undefined && digest(now) !== before) return true;
      if (missing !== (now === undefined)) {
        missing = !missing;
        if (missing)
          log.warn({ file: file.path }, 'The configuration file is gone; what it said stays in force');
      }
      await watcher.next(rescanMs, signal);
    }
    return false;
  } finally {
    watcher.close();
  }
}

/** Only the text's digest is kept for the life of the process. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

/**
 * The directory that names the file, and those on the way of its links: in a mounted ConfigMap the file is a link
 * into a directory `..data`, which is a link itself, and that one is replaced.
 */
async function wantDirectories(path: string, watcher: DirectoryWatcher): Promise<void> {
  const real = await realpath(path).catch(() => path);
  for (const directory of new Set([dirname(path), dirname(real)])) {
    const found = await stat(directory, { bigint: true }).catch(() => undefined);
    if (found) watcher.want(directory, `${found.dev}:${found.ino}:${found.birthtimeNs}`);
  }
}
