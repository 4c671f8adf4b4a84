/**
 * kube-proxy 1.36.1's own commands, recorded at the same size (`../shared/reference/scale`), run again here: what
 * its tools cost it. Its own computing comes on top.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { createNamespace } from '../test/support/namespace.ts';
import type { Size } from './cluster.ts';

export interface KubeProxyTimes {
  /** Seconds. */
  readonly first: number;
  /** The quicker of the recorded two. */
  readonly change: number;
  readonly add: number;
  readonly remove: number;
}

interface Recorded {
  readonly phase: 'first' | 'change1' | 'change2' | 'add' | 'del';
  readonly argv: readonly [string, ...string[]];
  readonly exit: number;
  readonly stdin?: string;
  readonly stdinFile?: string;
}

/** The modes of which there are recordings. */
export type RecordedMode = 'nftables' | 'iptables';

export function recordedMode(name: string): RecordedMode {
  if (name === 'nftables' || name === 'iptables') return name;
  throw new Error(`--mode ${name}: must be nftables or iptables`);
}

const SCALE = new URL('../../shared/reference/scale/', import.meta.url);

/** `undefined` where there is no recording of this size. Rejects when a command ends otherwise than recorded. */
export async function replayKubeProxy(mode: RecordedMode, size: Size): Promise<KubeProxyTimes | undefined> {
  const folder = new URL(`${mode}-${size.services}x${size.endpoints}/`, SCALE);
  const file = new URL('commands.json', folder);
  if (!existsSync(file)) return undefined;
  const commands = (JSON.parse(readFileSync(file, 'utf8')) as Recorded[])
    // It begins by removing what another mode would have left, which is not what is compared here.
    .filter(({ argv }) => argv[0].includes('tables') === (mode === 'iptables'))
    .map((command) => ({ ...command, input: inputOf(command, folder) }));
  const namespace = await createNamespace();
  const seconds: Record<string, number> = {};
  try {
    for (const { phase, argv, exit, input } of commands) {
      const started = performance.now();
      const result = spawnSync('ip', ['netns', 'exec', namespace.name, ...argv], {
        input,
        maxBuffer: 2 ** 30,
        encoding: 'utf8',
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      seconds[phase] = (seconds[phase] ?? 0) + (performance.now() - started) / 1000;
      if ((result.status === 0) !== (exit === 0)) {
        throw new Error(`${argv.join(' ')}: exit ${result.status}, recorded ${exit}: ${result.stderr}`);
      }
    }
  } finally {
    await namespace.close();
  }
  return {
    first: seconds.first ?? 0,
    change: Math.min(seconds.change1 ?? 0, seconds.change2 ?? 0),
    add: seconds.add ?? 0,
    remove: seconds.del ?? 0,
  };
}

function inputOf({ stdin, stdinFile }: Recorded, folder: URL): string {
  const input = stdinFile ? gunzipSync(readFileSync(new URL(stdinFile, folder))).toString() : (stdin ?? '');
  // kube-proxy makes its two counters by netlink, not by a command: without them the rules go in all the same.
  return input.replaceAll(/ -m nfacct --nfacct-name +\S+/g, '');
}
