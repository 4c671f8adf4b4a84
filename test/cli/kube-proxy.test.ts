import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { configMapData, MountedConfigMap } from '../support/config-map.ts';
import { createNamespace, type LoneNamespace } from '../support/namespace.ts';
import { nftablesSupported } from '../support/network/supported.ts';
import { until } from '../support/until.ts';
import { cli } from './cli.ts';

// Each start of the program takes its time on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

const MAIN = resolve(import.meta.dirname, '../../src/cli/main.ts');

let directory: string;
let kubeProxyLink: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kube-proxy-'));
  kubeProxyLink = join(directory, 'kube-proxy');
  await symlink(MAIN, kubeProxyLink);
});
afterAll(() => rm(directory, { recursive: true }));

/** Starts the program under the name `kube-proxy`. */
function start(args: readonly string[], prefix: readonly string[] = []) {
  const [file = '', ...rest] = [...prefix, process.execPath, kubeProxyLink, ...args];
  const env = { PATH: process.env.PATH ?? '' };
  return execa(file, rest, {
    cwd: directory,
    env,
    extendEnv: false,
    reject: false,
    stripFinalNewline: false,
  });
}

async function kubeProxy(args: readonly string[], prefix?: readonly string[]) {
  const { exitCode, stdout, stderr } = await start(args, prefix);
  return { code: exitCode, stdout, stderr };
}

describe('called kube-proxy', () => {
  test('it takes flags without a command, and says what it is', async () => {
    const version = { code: 0, stdout: 'kube-rulesync v0.1.0 (kube-proxy 1.36 compatible)\n', stderr: '' };
    expect(await kubeProxy(['--version'])).toEqual(version);
    expect(await cli(['kube-proxy', '--version'])).toEqual(version);
    expect(await kubeProxy(['--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Usage: kube-proxy \[options\]\n/),
      stderr: '',
    });
  });

  test.for<[string[], string]>([
    [['--no-such-flag'], "error: unknown option '--no-such-flag'\nkube-proxy --help lists the flags\n"],
    [
      ['run'],
      'error: too many arguments. Expected 0 arguments but got 1: run.\nkube-proxy --help lists the flags\n',
    ],
    [['--config=/not/there'], 'error: --config "/not/there": there is no such file\n'],
    [
      ['--cleanup', 'false'],
      'error: too many arguments. Expected 0 arguments but got 1: false.\nkube-proxy --help lists the flags\n',
    ],
    [
      ['--version', '--conntrack-min=a'],
      'error: --conntrack-min "a": must be a whole number from 0 to 2147483647\n',
    ],
    [['--write-config-to=x', '--init-only=maybe'], 'error: --init-only "maybe": must be true or false\n'],
  ])('%o ends with 1', async ([args, stderr]) => {
    expect(await kubeProxy(args)).toEqual({ code: 1, stdout: '', stderr });
  });
});

describe('--write-config-to', () => {
  test('writes what the flags say, in the mode’s own part', async () => {
    const path = join(directory, 'flags.yaml');
    const flags = ['--version=v1.36.1', '--proxy_mode=ipvs', '--ipvs-sync-period=10s', '--boot-id-file=/x'];
    const { code, stdout } = await kubeProxy([...flags, `--write-config-to=${path}`]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    const text = await readFile(path, 'utf8');
    expect(text).toContain('\nmode: ipvs\n');
    expect(text).toContain(
      '\nipvs:\n  excludeCIDRs: null\n  minSyncPeriod: 1s\n  scheduler: ""\n  strictARP: false\n  syncPeriod: 10s\n',
    );
  });

  test('writes kubeadm’s configuration with its defaults', async () => {
    const map = await MountedConfigMap.create(await configMapData('kubeadm'));
    const path = join(directory, 'file.yaml');
    const args = [
      `--config=${map.path('config.conf')}`,
      '--hostname-override=Node-1',
      `--write-config-to=${path}`,
    ];
    const { code, stderr } = await kubeProxy(args);
    expect(code).toBe(0);
    // No notice of anything that was left out.
    expect(stderr.trim().split('\n')).toHaveLength(1);
    const text = await readFile(path, 'utf8');
    for (const line of [
      'clusterCIDR: 10.244.0.0/16',
      'hostnameOverride: node-1',
      'mode: iptables',
      '  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf',
      '  maxPerCore: 32768',
    ]) {
      expect(text).toContain(`${line}\n`);
    }
    await map.remove();
  });

  test('a place that cannot be written to is an error', async () => {
    expect(await kubeProxy(['--write-config-to=/not/there/file'])).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'error: --write-config-to "/not/there/file": ENOENT: no such file or directory, open \'/not/there/file\'\n',
    });
  });
});

const supported = nftablesSupported();

describe.skipIf(!supported.ok)(
  supported.ok ? 'on a node' : `on a node (skipped: ${supported.reason})`,
  () => {
    let place: LoneNamespace;
    let inside: string[];
    beforeEach(async () => {
      place = await createNamespace();
      inside = ['ip', 'netns', 'exec', place.name];
    });
    afterEach(() => place.close());

    /** Nothing outside of the namespace is changed. */
    const LEAVE_MACHINE = 'oomScoreAdj: 0\nconntrack: {maxPerCore: 0}\n';
    const CONFIG = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: KUBECONFIG}
nodePortAddresses: [192.0.2.0/24]
${LEAVE_MACHINE}`;
    const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: default
contexts: [{name: default, context: {cluster: default, user: default}}]
clusters: [{name: default, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: default, user: {token: secret}}]
`;

    test('it runs on a ConfigMap in iptables mode, and ends with 1 when that changes', async () => {
      const map = await MountedConfigMap.create({ 'config.conf': '', 'kubeconfig.conf': KUBECONFIG });
      const config = CONFIG.replace('KUBECONFIG', map.path('kubeconfig.conf'));
      await map.update({ 'config.conf': config, 'kubeconfig.conf': KUBECONFIG });
      const child = start([`--config=${map.path('config.conf')}`, '--hostname-override=node-1'], inside);
      try {
        let stderr = '';
        child.stderr.on('data', (chunk: Buffer) => {
          stderr += chunk.toString();
        });
        await until(() => stderr.includes('"Starting kube-rulesync"'), 120_000);
        expect(stderr).toMatch(/"mode":"iptables","families":\["IPv4","IPv6"\],"node":"node-1"/);
        await map.update({ 'config.conf': `${config}mode: nftables\n`, 'kubeconfig.conf': KUBECONFIG });
        expect(await child).toMatchObject({ exitCode: 1, stdout: '' });
        expect(stderr.trimEnd().split('\n').at(-1)).toBe(
          `error: ${map.path('config.conf')}: the configuration has changed; start again to take it`,
        );
        expect(stderr).not.toContain('secret');
      } finally {
        child.kill('SIGKILL');
        await map.remove();
      }
    });

    /** What a setting of this namespace is. */
    const setting = async (path: string) => (await place.runner.run({ argv: ['cat', path] })).stdout.trim();

    const INIT = [
      '--init-only',
      '--proxy-mode=iptables',
      '--conntrack-max-per-core=0',
      '--conntrack-tcp-timeout-established=2h',
      '--conntrack-tcp-timeout-close-wait=0',
      '--conntrack-tcp-be-liberal',
    ];

    test('--init-only makes settings and no rules', async () => {
      expect(await kubeProxy(INIT, inside)).toMatchObject({ code: 0, stdout: '' });
      expect(await setting('/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established')).toBe('7200');
      expect(await setting('/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal')).toBe('1');
      expect(await setting('/proc/sys/net/ipv4/conf/all/route_localnet')).toBe('1');
      const { stdout } = await place.runner.run({ argv: ['iptables-save'] });
      expect(stdout).not.toContain('KUBE-');
      // A second time nothing has to be written, and so it may be read-only.
      const readOnly = 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"';
      const prefix = [...inside, 'unshare', '--mount', 'sh', '-c', readOnly, 'sh'];
      expect(await kubeProxy(INIT, prefix)).toMatchObject({ code: 0 });
      const { code, stderr } = await kubeProxy([...INIT, '--conntrack-udp-timeout=77s'], prefix);
      expect(code).toBe(1);
      expect(stderr.trimEnd().split('\n').at(-1)).toBe(
        'error: /proc/sys/net/netfilter/nf_conntrack_udp_timeout cannot be set to 77; run this as root, with /proc/sys writable',
      );
    });

    test('settings of an IP family that the node does not serve end it', async () => {
      await place.runner.run({
        argv: ['sh', '-c', 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6'],
      });
      const common = ['--proxy-mode=nftables', '--oom-score-adj=0', '--conntrack-max-per-core=0'];
      for (const flag of ['--master=http://127.0.0.1:1', '--init-only']) {
        const { code, stderr } = await kubeProxy([...common, flag, '--cluster-cidr=fd00::/56'], inside);
        expect({ flag, code, error: stderr.trimEnd().split('\n').at(-1) }).toEqual({
          flag,
          code: 1,
          error:
            'error: --cluster-cidr "fd00::/56": must have an IPv4 CIDR, or be left out, as this node serves no other IP family',
        });
      }
      const path = join(directory, 'ipv6.yaml');
      await writeFile(
        path,
        `${CONFIG.replace('KUBECONFIG', '""')}mode: nftables\nbindAddress: 2001:db8::1\n`,
      );
      const { code, stderr } = await kubeProxy([`--config=${path}`, '--master=http://127.0.0.1:1'], inside);
      expect({ code, error: stderr.trimEnd().split('\n').at(-1) }).toEqual({
        code: 1,
        error: `error: ${path}: bindAddress "2001:db8::1": must be an IPv4 address, or be left out, as this node serves no other IP family`,
      });
    });

    test('--cleanup removes the rules of all modes, and nothing else', async () => {
      const restore = (tool: string, ...lines: string[]) =>
        place.runner.run({ argv: [tool, '--noflush'], stdin: lines.map((line) => `${line}\n`) });
      for (const tool of ['iptables-restore', 'ip6tables-restore']) {
        await restore(
          tool,
          '*nat',
          ':KUBE-SERVICES - [0:0]',
          ':KUBE-MARK-MASQ - [0:0]',
          ':OTHERS - [0:0]',
          '-A PREROUTING -j KUBE-SERVICES',
          '-A PREROUTING -j OTHERS',
          'COMMIT',
        );
      }
      for (const family of ['ip', 'ip6']) {
        for (const table of ['kube-proxy', 'others']) {
          await place.runner.run({ argv: ['nft', 'add', 'table', family, table] });
        }
      }
      const rules = async () => {
        const tables = await place.runner.run({ argv: ['nft', 'list', 'tables'] });
        const nat = await place.runner.run({ argv: ['iptables-save', '-t', 'nat'] });
        return `${tables.stdout}${nat.stdout}`;
      };
      expect(await rules()).toContain('KUBE-SERVICES');
      for (const again of [false, true]) {
        const { code, stdout, stderr } = await kubeProxy(['--cleanup'], inside);
        expect({ again, code, stdout }).toEqual({ again, code: 0, stdout: '' });
        expect(stderr).toContain('"Removed all rules"');
        expect(await rules()).not.toMatch(/KUBE-|kube-proxy/);
        expect(await rules()).toContain('-A PREROUTING -j OTHERS');
        expect(await rules()).toContain('table ip6 others');
      }
    });

    test('`cleanup` names what somebody else holds on to, and ends with 1', async () => {
      await place.runner.run({
        argv: ['iptables-restore', '--noflush'],
        stdin: ['*nat\n:KUBE-MARK-MASQ - [0:0]\n:OTHERS - [0:0]\n-A OTHERS -j KUBE-MARK-MASQ\nCOMMIT\n'],
      });
      await place.runner.run({ argv: ['nft', 'add', 'table', 'ip', 'kube-proxy'] });
      const { code, stderr } = await cli(['cleanup'], { prefix: inside });
      expect({ code, errors: stderr.split('\n').filter((line) => line.startsWith('error: ')) }).toEqual({
        code: 1,
        errors: ['error: nat KUBE-MARK-MASQ (iptables IPv4) is still there: OTHERS jumps to it'],
      });
      const { stdout } = await place.runner.run({ argv: ['nft', 'list', 'tables'] });
      expect(stdout).not.toContain('kube-proxy');
    });
  },
);
