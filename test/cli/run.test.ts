import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createNamespace } from '../support/namespace.ts';
import { nftablesSupported } from '../support/network/supported.ts';
import { cli, startCli } from './cli.ts';

// Each start of the program takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

/** Nothing of the machine is changed: these would be the same outside of any namespace. */
const LEAVE_MACHINE = [
  '--oom-score-adj=0',
  '--conntrack-max-per-core=0',
  '--conntrack-tcp-timeout-established=0',
  '--conntrack-tcp-timeout-close-wait=0',
];

const NODE = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'worker-1' },
  status: { addresses: [{ type: 'InternalIP', address: '192.0.2.11' }] },
};

function service(name: string, clusterIP: string, more: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'default', name },
    spec: { clusterIPs: [clusterIP], ipFamilies: ['IPv4'], ports: [{ port: 80, protocol: 'TCP' }], ...more },
  };
}

function slice(name: string, address: string): object {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'default', name: `${name}-1`, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
    endpoints: [{ addresses: [address], nodeName: 'worker-1', conditions: { ready: true } }],
  };
}

let manifests: string;
beforeEach(async () => {
  manifests = await mkdtemp(join(tmpdir(), 'run-'));
});
afterEach(() => rm(manifests, { recursive: true }));

/** Puts a file in place whole, as whoever edits a watched directory should. */
async function write(name: string, ...objects: object[]): Promise<void> {
  const text = objects.map((object) => JSON.stringify(object)).join('\n---\n');
  await writeFile(join(manifests, `.${name}`), text);
  await rename(join(manifests, `.${name}`), join(manifests, `${name}.yaml`));
}

type Running = ReturnType<typeof startCli>;

let running: Running | undefined;
afterEach(async () => {
  running?.kill('SIGKILL');
  await running;
  running = undefined;
});

/** What it has printed so far, growing. */
function watchOutput(child: Running): { stdout: string; stderr: string } {
  const seen = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    seen.stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    seen.stderr += chunk.toString();
  });
  return seen;
}

const WAIT = { timeout: 60_000, interval: 50 };

interface LogLine {
  readonly msg: string;
  readonly families?: readonly string[];
}

function log(stderr: string): LogLine[] {
  const whole = stderr.slice(0, stderr.lastIndexOf('\n') + 1);
  const lines = whole.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as LogLine);
}

/** Every family that it said it has is through its first sync. */
function everyFamilySynced(stderr: string): boolean {
  const lines = log(stderr);
  const families = lines.find(({ families }) => families)?.families;
  return lines.filter(({ msg }) => msg === 'SyncProxyRules complete').length === families?.length;
}

describe('run --dry-run', () => {
  const FLAGS = [
    '--mode=nftables',
    '--dry-run',
    '--node-name',
    'worker-1',
    '--iptables-min-sync-period',
    '0',
    ...LEAVE_MACHINE,
  ];

  test('prints what dump prints, then each change alone, and ends on SIGTERM', async () => {
    await write('node', NODE);
    await write('web', service('web', '10.96.0.10'), slice('web', '10.244.1.5'));
    const dump = await cli(['dump', '--mode=nftables', '--manifests', manifests, '--node-name', 'worker-1']);
    running = startCli(['run', '--manifests', manifests, ...FLAGS]);
    const seen = watchOutput(running);
    await vi.waitFor(() => expect(everyFamilySynced(seen.stderr)).toBe(true), WAIT);
    // dump prints both families, and this one those that the kernel has.
    expect(seen.stdout).toMatch(/^add table ip /);
    expect(dump.stdout.startsWith(seen.stdout)).toBe(true);
    const before = seen.stdout.length;
    await write('web', service('web', '10.96.0.10'), slice('web', '10.244.1.6'));
    await vi.waitFor(() => expect(seen.stdout.slice(before)).toContain('10.244.1.6'), WAIT);
    expect(seen.stdout.slice(before)).not.toContain('add chain');
    running.kill('SIGTERM');
    const { exitCode, signal } = await running;
    expect({ exitCode, signal }).toEqual({ exitCode: 0, signal: undefined });
    expect(log(seen.stderr).slice(-2)).toMatchObject([
      { msg: 'Stopping' },
      { msg: 'Stopped; the rules stay' },
    ]);
  });
});

const supported = nftablesSupported();

describe.skipIf(!supported.ok)(supported.ok ? 'run' : `run (skipped: ${supported.reason})`, () => {
  test('programs the kernel, answers for its health, and leaves the rules when told to stop', async () => {
    const place = await createNamespace();
    try {
      await place.runner.run({ argv: ['ip', 'link', 'set', 'lo', 'up'] });
      await write('node', NODE);
      const external = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 32000 };
      await write('web', service('web', '10.96.0.10', external), slice('web', '10.244.1.5'));
      running = startCli(
        [
          'run',
          '--mode=nftables',
          '--manifests',
          manifests,
          '--node-name',
          'worker-1',
          '--nodeport-addresses=0.0.0.0/0',
          ...LEAVE_MACHINE,
        ],
        { prefix: ['ip', 'netns', 'exec', place.name] },
      );
      const seen = watchOutput(running);
      const table = async () => {
        const { stdout } = await place.runner.run({ argv: ['nft', 'list', 'table', 'ip', 'kube-proxy'] });
        return stdout;
      };
      await vi.waitFor(() => expect(everyFamilySynced(seen.stderr)).toBe(true), WAIT);
      expect(await table()).toContain('10.244.1.5');

      const get = async (url: string) => {
        const script = `const r = await fetch(${JSON.stringify(url)}); console.log(r.status, await r.text())`;
        const argv = ['netns', 'exec', place.name, process.execPath, '--input-type=module', '-e', script];
        return (await execa('ip', argv, { reject: false })).stdout;
      };
      await vi.waitFor(async () => {
        expect(await get('http://127.0.0.1:10256/healthz')).toMatch(
          /^200 .*"nodeEligible":true,"healthy":true/,
        );
        expect(await get('http://127.0.0.1:32000/')).toMatch(/^200 (.|\n)*"localEndpoints": 1,/);
      }, WAIT);

      running.kill('SIGTERM');
      expect(await running).toMatchObject({ exitCode: 0, stdout: '' });
      expect(await table()).toContain('10.244.1.5');
    } finally {
      running?.kill('SIGKILL');
      await place.close();
    }
  });

  test('a kernel that it may not program is an error that says what to do', async () => {
    await write('node', NODE);
    const unprivileged = ['setpriv', '--bounding-set=-net_admin'];
    const result = await cli(['run', '--mode=nftables', '--manifests', manifests, ...LEAVE_MACHINE], {
      prefix: unprivileged,
    });
    expect({
      ...result,
      stderr: result.stderr.split('\n').filter((line) => line.startsWith('error: ')),
    }).toEqual({
      code: 1,
      stdout: '',
      stderr: [
        'error: --proxy-mode nftables cannot work here',
        'error: IPv4: nft may not change rules here; run as root, or with CAP_NET_ADMIN.',
        'error: IPv6: nft may not change rules here; run as root, or with CAP_NET_ADMIN.',
      ],
    });
  });
});
