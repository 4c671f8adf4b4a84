/** Whether iptables of a variant works here, tried rather than guessed. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { IptablesVariant } from '../../src/node/iptables-variant.ts';
import { TOOL_ENVIRONMENT } from './network/namespaces.ts';
import { networkSupported, type Supported } from './network/supported.ts';

/** What stands behind `iptables` in the names of a variant's tools. */
export const SUFFIX: Readonly<Record<IptablesVariant, string>> = { nf_tables: '-nft', legacy: '-legacy' };

/** Needs root, the tools of both families under their explicit names, and a kernel that takes their nat table. */
export function iptablesSupported(variant: IptablesVariant): Supported {
  const network = networkSupported();
  if (!network.ok) return network;
  const namespace = `krs-${process.pid}-${randomBytes(3).toString('hex')}-trial`;
  const run = (...argv: string[]): string | undefined => {
    const { error, status, stderr } = spawnSync('ip', argv, {
      encoding: 'utf8',
      timeout: 10_000,
      env: TOOL_ENVIRONMENT,
    });
    return error?.message ?? (status === 0 ? undefined : `ip ${argv.join(' ')}: ${stderr.trim()}`);
  };
  let reason = run('netns', 'add', namespace);
  for (const tool of ['iptables', 'ip6tables']) {
    reason ??= run('netns', 'exec', namespace, `${tool}${SUFFIX[variant]}`, '-t', 'nat', '-N', 'KUBE-TRIAL');
  }
  run('netns', 'del', namespace);
  return reason === undefined ? { ok: true } : { ok: false, reason };
}
