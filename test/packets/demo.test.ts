/** `npm run demo` as a child process: with packets, without root, and interrupted. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createRunner } from '../../src/node/runner.ts';
import { listNamespaces } from '../support/network/namespaces.ts';
import { nftablesSupported } from '../support/network/supported.ts';
import { until } from '../support/until.ts';

const DEMO = fileURLToPath(new URL('../../demo/demo.ts', import.meta.url));
const NOBODY = 65534;

interface Demo {
  readonly child: ChildProcess;
  readonly pid: number;
  /** What it has printed so far. */
  stdout(): string;
  stderr(): string;
  /** Its exit code, when all it printed is there. */
  ended(): Promise<number | null>;
}

function startDemo(args: readonly string[] = [], identity: { uid?: number; gid?: number } = {}): Demo {
  const child = spawn(process.execPath, [DEMO, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
    ...identity,
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const closed = once(child, 'close');
  return {
    child,
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    ended: async () => {
      await closed;
      return child.exitCode;
    },
  };
}

/** The namespaces that a demo has not deleted. */
async function leftBy({ pid }: Demo): Promise<string[]> {
  const names = await listNamespaces(createRunner());
  return names.filter((name) => name.startsWith(`krs-${pid}-`));
}

const supported = nftablesSupported();

describe.skipIf(!supported.ok)(
  supported.ok ? 'the demo with packets' : `the demo with packets (skipped: ${supported.reason})`,
  () => {
    it('spreads connections, keeps and replaces client addresses, follows a change and cleans up', async () => {
      const demo = startDemo();
      expect({ code: await demo.ended(), failed: /^.*✗.*(\n.*but .*)*/m.exec(demo.stdout())?.[0] }).toEqual({
        code: 0,
        failed: undefined,
      });
      const text = demo.stdout();
      const counts = [...text.matchAll(/^ {4}10\.244\.\d\.\d {2}on node\d +(\d+) /gm)].map(([, count]) =>
        Number(count),
      );
      // Three replicas, then five: 300 connections each time.
      expect(counts).toHaveLength(8);
      expect(counts.slice(0, 3).reduce((sum, count) => sum + count)).toBe(300);
      expect(counts.slice(3).reduce((sum, count) => sum + count)).toBe(300);
      expect(text).toMatch(/^ {2}ext +172\.30\.0\.11:30081 +30 × 10\.244\.1\.5 +172\.30\.0\.50$/m);
      expect(text).toMatch(/^ {2}client1 +203\.0\.113\.16:80 +30 × no answer +-$/m);
      expect(text).toMatch(/^ {2}client1 +10\.96\.0\.13:80 +30 × refused +-$/m);
      expect(text).toContain("✓ from outside: node1's own pod alone; client address kept\n");
      expect(text).toContain('      10.96.0.10 . tcp . 80 comment "shop/web:http" : goto pick-tcp-3\n');
      expect(text).toContain('      10.96.0.10 . 80 . 2 : 10.244.2.3 . 8080\n');
      expect(text).toMatch(/^ +\d+ ms {2}the kernel has it$/m);
      expect(text).toMatch(/All 20 checks passed, in \d+\.\d s\.\n$/);
      expect(await leftBy(demo)).toEqual([]);
    });

    it.each(['SIGINT', 'SIGTERM'] as const)('cleans up after %s', async (signal) => {
      const demo = startDemo();
      await until(() => demo.stdout().includes('\n3. 300 connections'));
      expect(await leftBy(demo)).toHaveLength(7);
      demo.child.kill(signal);
      expect(await demo.ended()).toBe(130);
      expect(demo.stdout()).toMatch(
        /\nInterrupted; the namespaces and all that was in them are deleted\.\n$/,
      );
      expect(await leftBy(demo)).toEqual([]);
    });

    it('cleans up when nobody reads on', async () => {
      const demo = startDemo();
      await until(() => demo.stdout().includes('\n2. The Services'));
      demo.child.stdout?.destroy();
      expect(await demo.ended()).toBe(130);
      expect(await leftBy(demo)).toEqual([]);
    });
  },
);

/** Somebody who is not root: this process, or else nobody. */
const OTHER = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

function readableByOther(): boolean {
  const script = 'require("node:fs").readFileSync(process.argv[1])';
  return spawnSync(process.execPath, ['-e', script, DEMO], OTHER).status === 0;
}

describe('the demo without root', () => {
  it('says what it cannot do, and shows verdicts and rules', async (context) => {
    if (!readableByOther()) context.skip('other users cannot read this checkout');
    const demo = startDemo([], OTHER);
    expect({ code: await demo.ended(), stderr: demo.stderr() }).toEqual({ code: 0, stderr: '' });
    const text = demo.stdout();
    expect(text).toContain('No packets this time');
    expect(text).toContain('  needs root to make network namespaces\n');
    expect(text).toMatch(/^ {2}ext +172\.30\.0\.11:30081 +10\.244\.1\.5 +172\.30\.0\.50$/m);
    expect(text).toMatch(/^ {2}client1 +203\.0\.113\.16:80 +drop: source-not-allowed +-$/m);
    expect(text).toContain('\n  add chain ip kube-proxy pick-tcp-3\n');
    expect(text).toContain('\n  add element ip6 kube-proxy cluster-ips { fd00:10:96::14 }\n');
    expect(text).toMatch(/\nAll 12 checks passed, in \d+\.\d s\.\n/);
  });

  it('names the modes there are when asked for another', async () => {
    const demo = startDemo(['--mode', 'userspace']);
    expect(await demo.ended()).toBe(1);
    expect(demo.stderr()).toMatch(/^demo: --mode "userspace": must be nftables/);
    expect(demo.stdout()).toBe('');
  });
});
