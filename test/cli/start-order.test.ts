/** Which of kube-proxy's flags that end the program early wins, and what a file has to say then. */
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { nftablesSupported } from '../support/network/supported.ts';
import { type CliResult, cli } from './cli.ts';
import { OwnNode } from './own-node.ts';

// Each start of the program takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const ESTABLISHED = '/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established';
const HEAD = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n';
const supported = nftablesSupported();
const name = 'of --write-config-to, --cleanup and --init-only';

describe.skipIf(!supported.ok)(supported.ok ? name : `${name} (skipped: ${supported.reason})`, () => {
  let own: OwnNode;
  let written: string;
  let file: string;
  /** What the kernel had before anything was done. */
  let timeout: string;
  beforeEach(async () => {
    own = await OwnNode.create();
    written = join(own.directory, 'written.conf');
    file = join(own.directory, 'config.conf');
    await writeFile(
      file,
      `${HEAD}mode: nftables\nconntrack: {maxPerCore: 0, tcpEstablishedTimeout: 2h, tcpCloseWaitTimeout: 0s}\n`,
    );
    timeout = await own.prints('cat', ESTABLISHED);
    expect(timeout).not.toBe('7200\n');
    await undo();
  });
  afterEach(() => own.close());

  function kubeProxy(...args: string[]): Promise<CliResult> {
    return cli(['kube-proxy', '--logging-format=json', ...args], { prefix: own.inside });
  }

  /** What was done, of all that these flags ask for. */
  async function done(): Promise<string[]> {
    const isClean = !(await own.prints('nft', 'list', 'tables')).includes('kube-proxy');
    const isSet = (await own.prints('cat', ESTABLISHED)) !== timeout;
    return [
      ...(existsSync(written) ? ['written'] : []),
      ...(isClean ? ['cleaned'] : []),
      ...(isSet ? ['set'] : []),
    ];
  }

  async function undo(): Promise<void> {
    await rm(written, { force: true });
    await own.prints('nft', 'add', 'table', 'ip', 'kube-proxy');
    await own.runner.run({ argv: ['tee', ESTABLISHED], stdin: [timeout] });
  }

  const NONE = ['--conntrack-max-per-core=0', '--conntrack-tcp-timeout-close-wait=0'];
  const FLAGS = [...NONE, '--proxy-mode=nftables', '--conntrack-tcp-timeout-established=2h'];

  test.for<[string[], string]>([
    [['--cleanup', '--init-only', '--write-config-to'], 'written'],
    [['--cleanup', '--write-config-to'], 'written'],
    [['--init-only', '--write-config-to'], 'written'],
    [['--cleanup', '--init-only'], 'cleaned'],
    [['--cleanup=false', '--init-only'], 'set'],
  ])('%o ends with this: %s', async ([flags, outcome]) => {
    const given = flags.map((flag) => (flag === '--write-config-to' ? `${flag}=${written}` : flag));
    for (const others of [FLAGS, [`--config=${file}`]]) {
      await undo();
      const { code, stdout } = await kubeProxy(...given, ...others);
      expect({ code, stdout, done: await done() }).toEqual({ code: 0, stdout: '', done: [outcome] });
    }
  });

  test('--version wins over them all', async () => {
    const all = ['--cleanup', '--init-only', `--write-config-to=${written}`, ...FLAGS];
    const { code, stdout } = await kubeProxy('--version', ...all);
    expect({ code, stdout, done: await done() }).toEqual({
      code: 0,
      stdout: expect.stringContaining('kube-proxy 1.36'),
      done: [],
    });
  });

  test('beside a file they count, and what the file takes the place of does not', async () => {
    const flags = [`--config=${file}`, '--proxy-mode=iptables', '--conntrack-tcp-timeout-established=3h'];
    const ignored =
      '--config is given, so these flags do not count: --proxy-mode, --conntrack-tcp-timeout-established';
    const init = await kubeProxy('--init-only', ...flags);
    expect([init.code, init.stderr]).toEqual([0, expect.stringContaining(ignored)]);
    expect(await own.prints('cat', ESTABLISHED)).toBe('7200\n');
    const write = await kubeProxy(`--write-config-to=${written}`, '--hostname-override=Node-1', ...flags);
    expect([write.code, write.stderr]).toEqual([0, expect.stringContaining(ignored)]);
    const text = await readFile(written, 'utf8');
    for (const line of ['mode: nftables', 'hostnameOverride: node-1', '  tcpEstablishedTimeout: 2h0m0s']) {
      expect(text).toContain(`${line}\n`);
    }
    const cleanup = await kubeProxy('--cleanup', ...flags);
    expect([cleanup.code, cleanup.stderr]).toEqual([0, expect.stringContaining(ignored)]);
    expect(await done()).toEqual(['written', 'cleaned', 'set']);
  });

  test.for(['--cleanup', '--init-only', '--write-config-to'])(
    '%s does nothing beside a file that cannot be read',
    async (flag) => {
      await writeFile(file, `${HEAD}mode: userspace\n`);
      const given = flag === '--write-config-to' ? `${flag}=${written}` : flag;
      const { code, stderr } = await kubeProxy(given, `--config=${file}`);
      expect({ code, done: await done() }).toEqual({ code: 1, done: [] });
      expect(stderr).toContain(`error: ${file}: mode "userspace": `);
    },
  );
});
