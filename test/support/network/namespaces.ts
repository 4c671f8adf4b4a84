/**
 * Namespaces of this program's tests are named `krs-<pid>-…` after the process that made them, so that what a
 * killed process left can be told from what is in use.
 */
import { spawnSync } from 'node:child_process';
import type { CommandRunner } from '../../../src/node/runner.ts';

/** `ip` and its like live in sbin, which is not on everyone's PATH. */
export const TOOL_ENVIRONMENT = {
  PATH: `${process.env.PATH ?? ''}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin`,
  LC_ALL: 'C',
};

const OURS = /^krs-(\d+)-/;

/** The named namespaces that exist. */
export async function listNamespaces(runner: CommandRunner): Promise<string[]> {
  const { stdout } = await runner.run({ argv: ['ip', 'netns', 'list'] });
  return stdout
    .split('\n')
    .map((line) => line.split(' ', 1)[0] ?? '')
    .filter(Boolean);
}

/**
 * Deletes the namespaces, those that exist of them. Rejects, naming the ones that are still there, when the
 * kernel would not let go.
 */
export async function deleteNamespaces(runner: CommandRunner, names: readonly string[]): Promise<void> {
  const doomed = new Set(names);
  const existing = (await listNamespaces(runner)).filter((name) => doomed.has(name));
  if (existing.length === 0) return;
  const stdin = existing.map((name) => `netns del ${name}\n`);
  let reason = '';
  try {
    await runner.run({ argv: ['ip', '-force', '-batch', '-'], stdin });
  } catch (error) {
    reason = error instanceof Error ? `: ${error.message}` : '';
  }
  const left = (await listNamespaces(runner)).filter((name) => doomed.has(name));
  if (left.length > 0) throw new Error(`could not delete the namespaces ${left.join(', ')}${reason}`);
}

/** Deletes the namespaces of processes that are gone: a killed test run cannot clean up after itself. */
export async function deleteOrphans(runner: CommandRunner): Promise<void> {
  const orphans = (await listNamespaces(runner)).filter((name) => {
    const pid = OURS.exec(name)?.[1];
    return pid !== undefined && !isAlive(Number(pid));
  });
  await deleteNamespaces(runner, orphans);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, as someone else.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

/** Deletes the namespaces if the process exits before the returned function was called. */
export function deleteLater(names: readonly string[]): () => void {
  const onExit = (): void => {
    const input = names.map((name) => `netns del ${name}\n`).join('');
    spawnSync('ip', ['-force', '-batch', '-'], {
      input,
      env: TOOL_ENVIRONMENT,
      stdio: ['pipe', 'ignore', 'ignore'],
      timeout: 10_000,
    });
  };
  process.once('exit', onExit);
  return () => {
    process.off('exit', onExit);
  };
}
