/** After `--init-only` the program needs NET_ADMIN and nothing else, and listens where it was told and nowhere else. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { cli, startCli } from '../cli/cli.ts';
import { endpointSlice, node, service } from '../support/apiserver/samples.ts';
import { createNamespace, type LoneNamespace } from '../support/namespace.ts';
import { nftablesSupported } from '../support/network/supported.ts';
import { FEW_RIGHTS } from '../support/rights.ts';
import { until } from '../support/until.ts';

// Each start of the program takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

/** CAP_NET_ADMIN alone, as capabilities(7) numbers them. */
const NET_ADMIN = '0000000000001000';
const supported = nftablesSupported();
const name = 'with NET_ADMIN alone';

describe.skipIf(!supported.ok)(supported.ok ? name : `${name} (skipped: ${supported.reason})`, () => {
  let place: LoneNamespace;
  let manifests: string;
  beforeEach(async () => {
    manifests = await mkdtemp(join(tmpdir(), 'privilege-'));
    const objects = [
      node('node1', '192.0.2.1'),
      service('web', '10.96.0.10'),
      endpointSlice('web-1', 'web', ['10.244.1.5']),
    ];
    await writeFile(
      join(manifests, 'all.json'),
      objects.map((object) => JSON.stringify(object)).join('\n---\n'),
    );
    place = await createNamespace();
    await place.runner.run({ argv: ['ip', 'link', 'set', 'lo', 'up'] });
  });
  afterEach(async () => {
    await place.close();
    await rm(manifests, { recursive: true });
  });

  test.for([
    ['nftables', ['nft', 'list', 'table', 'ip', 'kube-proxy']],
    ['iptables', ['iptables-nft-save', '-t', 'nat']],
  ] as const)('%s mode prepares, programs the kernel, and listens where it is told', async ([mode, list]) => {
    const flags = [
      'run',
      `--mode=${mode}`,
      '--iptables-variant=nf_tables',
      '--manifests',
      manifests,
      '--node-name=node1',
      // What this process has already: lowering it takes a right more.
      `--oom-score-adj=${(await readFile('/proc/self/oom_score_adj', 'utf8')).trim()}`,
      '--conntrack-max-per-core=0',
      '--conntrack-tcp-timeout-established=2h',
      '--healthz-bind-address=127.0.0.2:10256',
      '--metrics-bind-address=127.0.0.1:10249',
    ];
    const inside = ['ip', 'netns', 'exec', place.name];
    const tooFew = await cli([...flags, '--init-only'], { prefix: [...inside, ...FEW_RIGHTS] });
    expect([tooFew.code, tooFew.stderr]).toEqual([1, expect.stringContaining('run this as root')]);
    expect(await cli([...flags, '--init-only'], { prefix: inside })).toMatchObject({ code: 0 });

    const child = startCli(flags, { prefix: [...inside, ...FEW_RIGHTS] });
    try {
      let log = '';
      child.stderr.on('data', (chunk: Buffer) => {
        log += chunk.toString();
      });
      await until(() => log.split('"msg":"SyncProxyRules complete"').length === 3, 60_000);
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      for (const set of ['CapPrm', 'CapEff', 'CapBnd']) expect(status).toContain(`${set}:\t${NET_ADMIN}`);
      const { stdout } = await place.runner.run({ argv: list });
      expect(stdout).toContain('10.244.1.5');
      expect(log.split('\n').filter((line) => line.includes('could not be changed'))).toEqual([]);
      expect(await listening(child.pid ?? 0)).toEqual(['127.0.0.1:10249', '127.0.0.2:10256']);
    } finally {
      child.kill('SIGTERM');
      await child;
    }
  });
});

/** Where anybody listens in the network of that process, TCP over both families and UDP. */
async function listening(pid: number): Promise<string[]> {
  const tables = await Promise.all(
    ['tcp', 'tcp6', 'udp', 'udp6'].map((table) => readFile(`/proc/${pid}/net/${table}`, 'utf8')),
  );
  const LISTEN = '0A';
  const UNCONNECTED = '07';
  return tables
    .flatMap((table) => table.trim().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state]) => state === LISTEN || state === UNCONNECTED)
    .map(([, local = '']) => address(local))
    .sort();
}

/** `0100007F:2809` as `127.0.0.1:10249`; an address of IPv6 stays as the kernel writes it. */
function address(text: string): string {
  const [host = '', port = ''] = text.split(':');
  const bytes = host.length === 8 ? Buffer.from(host, 'hex').reverse().join('.') : host;
  return `${bytes}:${Number.parseInt(port, 16)}`;
}
