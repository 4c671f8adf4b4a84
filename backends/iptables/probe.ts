/** What the machine has: tools, kernel features, settings that the rules depend on. Nothing here changes anything. */
import { release } from 'node:os';
import {
  IptablesNotFoundError,
  type IptablesTools,
  versionAtLeast,
} from '../../src/node/iptables-variant.ts';
import { type CommandRunner, ToolError } from '../../src/node/runner.ts';
import type { Features } from './features.ts';

/** @param localhostNodePorts as configured */
export async function detectFeatures(
  runner: CommandRunner,
  tools: IptablesTools,
  localhostNodePorts: boolean,
): Promise<Features> {
  const [liberal, counters] = await Promise.all([
    sysctl(runner, 'net.netfilter.nf_conntrack_tcp_be_liberal'),
    listCounters(runner),
  ]);
  return {
    randomFully: versionAtLeast(tools.version, '1.6.2'),
    // Where it cannot be read conntrack is not loaded yet, and will come up with its default, which is strict.
    dropInvalid: liberal === undefined || liberal === '0',
    counters: counters !== undefined,
    localhostNodePorts,
  };
}

/** A kernel setting's value; `undefined` when the kernel does not have it. */
export async function sysctl(runner: CommandRunner, name: string): Promise<string | undefined> {
  try {
    return (await runner.run({ argv: ['sysctl', '-n', name] })).stdout.trim();
  } catch {
    return undefined;
  }
}

/** The names of nfacct counters; `undefined` where the tool or the kernel part is missing. */
export async function listCounters(runner: CommandRunner): Promise<Set<string> | undefined> {
  try {
    const { stdout } = await runner.run({ argv: ['nfacct', 'list'] });
    return new Set(Array.from(stdout.matchAll(/= (\S+);/g), ([, name = '']) => name));
  } catch {
    return undefined;
  }
}

export function kernelVersion(): string {
  return release();
}

/** What is missing and how to get it, in one sentence, from the error of a trial. */
export function missingFrom(error: unknown): string {
  if (error instanceof IptablesNotFoundError) return error.message;
  if (!(error instanceof ToolError)) return String(error);
  const [tool] = error.argv;
  if (error.reason === 'missing')
    return `The program ${tool} is not installed; install the package iptables.`;
  if (error.reason === 'unstartable')
    return `The program ${tool} is here and cannot be run; install the package iptables again: ${error.message}`;
  if (/[Pp]ermission denied|Operation not permitted|you must be root/.test(error.stderr)) {
    return `${tool} may not change rules here; run as root, or with CAP_NET_ADMIN and CAP_NET_RAW.`;
  }
  if (isLockHeld(error)) {
    return `${tool}: another program holds the xtables lock; find it, and mount /run/xtables.lock into the container.`;
  }
  return `${tool} or the kernel does not take the rules this mode needs: ${error.message}`;
}

/** iptables ends with 4 when it may not wait for the lock any longer (iptables(8), `-w`). */
export function isLockHeld(error: unknown): boolean {
  return error instanceof ToolError && error.exitCode === 4 && /xtables lock/.test(error.stderr);
}
