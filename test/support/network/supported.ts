/** Whether the packet tests can run here, tried rather than guessed. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { TOOL_ENVIRONMENT } from './namespaces.ts';

export type Supported = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** Can this process make network namespaces with IPv4 and IPv6? The reason says what is missing. */
export function networkSupported(): Supported {
  return inTrialNamespace(() => undefined);
}

/** `networkSupported`, and nft works in such a namespace, for both families. */
export function nftablesSupported(): Supported {
  return inTrialNamespace((namespace) =>
    attempt(['ip', 'netns', 'exec', namespace, 'nft', 'add table ip krs; add table ip6 krs']),
  );
}

function inTrialNamespace(trial: (namespace: string) => string | undefined): Supported {
  if (process.platform !== 'linux') return no('network namespaces are Linux only');
  if (process.getuid?.() !== 0) return no('needs root to make network namespaces');
  if (!existsSync('/proc/sys/net/ipv6')) return no('this kernel has no IPv6');
  for (const tool of ['ip', 'sysctl']) {
    const missing = attempt([tool, '-V']);
    if (missing) return no(missing);
  }
  const namespace = `krs-${process.pid}-${randomBytes(3).toString('hex')}-trial`;
  const failed = attempt(['ip', 'netns', 'add', namespace]);
  if (failed) return no(failed);
  try {
    const reason = trial(namespace);
    return reason === undefined ? { ok: true } : no(reason);
  } finally {
    attempt(['ip', 'netns', 'del', namespace]);
  }
}

function no(reason: string): Supported {
  return { ok: false, reason };
}

/** What went wrong, or undefined. */
function attempt(argv: readonly [string, ...string[]]): string | undefined {
  const [file, ...args] = argv;
  const result = spawnSync(file, args, {
    encoding: 'utf8',
    timeout: 10_000,
    env: TOOL_ENVIRONMENT,
  });
  if (result.error)
    return `${file}: ${'code' in result.error && result.error.code === 'ENOENT' ? 'not installed' : result.error.message}`;
  return result.status === 0 ? undefined : `${argv.join(' ')}: ${result.stderr.trim()}`;
}
