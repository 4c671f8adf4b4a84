/** What hangs on `run` beside the rules: each part is seen at work in the program itself. */
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { startApiServer } from '../support/apiserver/apiserver.ts';
import { endpointSlice, node, service } from '../support/apiserver/samples.ts';
import { iptablesSupported } from '../support/iptables.ts';
import { nftablesSupported } from '../support/network/supported.ts';
import { until } from '../support/until.ts';
import { OwnNode } from './own-node.ts';

// Each start of the program takes its time on a busy machine.
vi.setConfig({ testTimeout: 180_000 });
const WAIT_MS = 90_000;

const NODE = node('node1', '192.0.2.1');
const WEB = service('web', '10.96.0.10');
const WEB_SLICE = endpointSlice('web-1', 'web', ['10.244.1.5']);

const DNS = {
  ...service('dns', '10.96.0.53'),
  spec: {
    clusterIPs: ['10.96.0.53'],
    ipFamilies: ['IPv4'],
    ports: [{ name: 'dns', protocol: 'UDP', port: 53 }],
  },
};
const dnsSlice = (...addresses: string[]) => ({
  ...endpointSlice('dns-1', 'dns', addresses),
  ports: [{ name: 'dns', protocol: 'UDP', port: 8053 }],
});

let own: OwnNode;
beforeEach(async () => {
  own = await OwnNode.create();
});
afterEach(() => own.close());

const supported = nftablesSupported();

describe.skipIf(!supported.ok)(supported.ok ? 'run' : `run (skipped: ${supported.reason})`, () => {
  const deletes = 'deletes UDP flows to an endpoint that is gone, and no others';
  const noConntrack = spawnSync('conntrack', ['--version']).status !== 0;
  test.skipIf(noConntrack)(
    noConntrack ? `${deletes} (skipped: there is no conntrack)` : deletes,
    async () => {
      await own.write('all', NODE, DNS, dnsSlice('10.244.1.5', '10.244.1.6'));
      await flow('4000', '10.96.0.53', '10.244.1.5');
      await flow('4001', '10.96.0.53', '10.244.1.6');
      await flow('4002', '10.99.0.1', '10.244.1.5');
      own.start([]);
      await own.synced();
      const all = ['10.96.0.53 10.244.1.5', '10.96.0.53 10.244.1.6', '10.99.0.1 10.244.1.5'];
      expect(await flows()).toEqual(all);
      await own.write('all', NODE, DNS, dnsSlice('10.244.1.6'));
      await until(async () => (await flows()).length < all.length, WAIT_MS);
      expect(await flows()).toEqual(all.slice(1));
      const counted = /^kubeproxy_conntrack_reconciler_deleted_entries_total\{ip_family="IPv4"\} 1$/m;
      await until(async () => counted.test((await own.get(10_249, '/metrics')).body), WAIT_MS);
    },
  );

  /** As the kernel has it when a client with that port has been translated to that endpoint. */
  async function flow(port: string, destination: string, endpoint: string): Promise<void> {
    const original = ['-s', '10.244.1.9', '-d', destination, '--sport', port, '--dport', '53'];
    const reply = ['-r', endpoint, '-q', '10.244.1.9', '--reply-port-src', '8053', '--reply-port-dst', port];
    await own.prints('conntrack', '-I', '-p', 'udp', ...original, ...reply, '-t', '600');
  }

  /** Each as its destination and who answers. */
  async function flows(): Promise<string[]> {
    const listing = await own.prints('conntrack', '-L', '-p', 'udp');
    return [...listing.matchAll(/ dst=(\S+) .*\bsrc=(\S+) /g)].map(([, to, by]) => `${to} ${by}`).sort();
  }

  /** Something of iptables mode, and something of others. */
  async function leaveIptables(): Promise<void> {
    const chains = '*nat\n:KUBE-SERVICES - [0:0]\n:KUBE-MARK-MASQ - [0:0]\n:OTHERS - [0:0]\n';
    const jumps = '-A PREROUTING -j KUBE-SERVICES\n-A PREROUTING -j OTHERS\nCOMMIT\n';
    for (const tool of ['iptables-nft-restore', 'ip6tables-nft-restore']) {
      await own.runner.run({ argv: [tool, '--noflush'], stdin: [chains, jumps] });
    }
  }

  async function iptablesRules(): Promise<string> {
    const saves = ['iptables-nft-save', 'ip6tables-nft-save'];
    const saved = await Promise.all(saves.map((tool) => own.prints(tool, '-t', 'nat')));
    // When it was saved is of no matter.
    return saved.join('').replaceAll(/^#.*\n/gm, '');
  }

  const iptables = iptablesSupported('nf_tables');
  const takesOver = 'takes the place of iptables mode, and leaves what others have';
  test.skipIf(!iptables.ok)(
    iptables.ok ? takesOver : `${takesOver} (skipped: ${iptables.reason})`,
    async () => {
      await leaveIptables();
      expect((await iptablesRules()).match(/^-A PREROUTING -j KUBE-SERVICES$/gm)).toHaveLength(2);
      await own.write('all', NODE, WEB, WEB_SLICE);
      own.start(['--iptables-variant=nf_tables']);
      await until(async () => !(await iptablesRules()).includes('KUBE-'), WAIT_MS);
      expect((await iptablesRules()).match(/^-A PREROUTING -j OTHERS$/gm)).toHaveLength(2);
      expect(await own.prints('nft', 'list', 'table', 'ip', 'kube-proxy')).toContain('10.244.1.5');
    },
  );

  const ESTABLISHED = '/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established';
  const CLOSE_WAIT = '/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close_wait';
  const scoreOf = async (pid: number) => Number(await readFile(`/proc/${pid}/oom_score_adj`, 'utf8'));

  test.for([false, true])('makes the settings of the system (dry run: %s)', async (dryRun) => {
    const before = await own.prints('cat', ESTABLISHED, CLOSE_WAIT);
    const inherited = await scoreOf(process.pid);
    // Any process may raise its own, as far as that goes.
    const score = inherited < 1000 ? inherited + 1 : inherited - 1;
    await own.write('all', NODE, WEB, WEB_SLICE);
    own.start([
      `--oom-score-adj=${score}`,
      '--conntrack-tcp-timeout-established=2h3m',
      '--conntrack-tcp-timeout-close-wait=77s',
      ...(dryRun ? ['--dry-run'] : []),
    ]);
    await own.synced();
    expect(await own.prints('cat', ESTABLISHED, CLOSE_WAIT)).toBe(dryRun ? before : '7380\n77\n');
    expect(await scoreOf(own.pid)).toBe(dryRun ? inherited : score);
    expect(own.says(dryRun ? 'Would change a setting' : 'Changed a setting')).toBe(3);
  });

  const changesNothing = 'a dry run changes nothing and listens nowhere';
  const noDryRun = iptables.ok ? (noConntrack ? 'there is no conntrack' : undefined) : iptables.reason;
  test.skipIf(noDryRun)(noDryRun ? `${changesNothing} (skipped: ${noDryRun})` : changesNothing, async () => {
    await leaveIptables();
    // To an endpoint that is gone.
    await flow('4000', '10.96.0.53', '10.244.1.5');
    const state = async () => [
      await iptablesRules(),
      await flows(),
      await own.prints('nft', 'list', 'ruleset'),
    ];
    const before = await state();
    await own.write('all', NODE, DNS, dnsSlice('10.244.1.6'));
    own.start(['--dry-run']);
    await own.synced();
    await own.write('all', NODE, DNS, dnsSlice('10.244.1.7'));
    await until(() => own.stdout.includes('10.244.1.7'), WAIT_MS);
    expect(await own.prints('ss', '--no-header', '--listening', '--tcp')).toBe('');
    // It ends when nothing is at work any more.
    expect(await own.stop()).toBe(0);
    expect(await state()).toEqual(before);
  });

  test('names what it cannot use, and a Node that there is not', async () => {
    const web = { ...WEB, spec: { ...(WEB.spec as object), externalIPs: ['nonsense'] } };
    await own.write('all', web, WEB_SLICE);
    own.start([]);
    await own.synced();
    const told = own.log.map(({ msg }) => msg);
    expect(told).toContainEqual(expect.stringMatching(/^Service default\/web: spec\.externalIPs.*nonsense/));
    expect(told).toContainEqual(expect.stringMatching(/^There is no Node node1: /));
  });

  test('says at the start what is allowed and perhaps not meant', async () => {
    await own.write('all', NODE, WEB, WEB_SLICE);
    own.start(['--nodeport-addresses=192.0.2.0/24']);
    await own.synced();
    expect(
      own.says(
        '--nodeport-addresses has no IPv6 network: over IPv6 node ports answer on all addresses of this node',
      ),
    ).toBe(1);
  });

  test.for([true, false])('external IPs answer while AllowServiceExternalIPs is %s', async (allowed) => {
    const web = { ...WEB, spec: { ...(WEB.spec as object), externalIPs: ['198.51.100.9'] } };
    await own.write('all', NODE, web, WEB_SLICE);
    own.start([`--feature-gates=AllowServiceExternalIPs=${allowed}`]);
    await own.synced();
    const table = await own.prints('nft', 'list', 'table', 'ip', 'kube-proxy');
    expect([table.includes('10.96.0.10'), table.includes('198.51.100.9')]).toEqual([true, allowed]);
  });

  test.for(['services', 'endpointslices', 'nodes'])(
    'nothing is written before %s are listed',
    async (late) => {
      const api = await startApiServer({ objects: [NODE, WEB, WEB_SLICE] });
      try {
        api.fail({ status: 503, resource: late, count: Number.POSITIVE_INFINITY });
        own.start(['--dry-run'], {}, await own.reach(api.port));
        const others = ['services', 'endpointslices', 'nodes', 'servicecidrs'].filter(
          (kind) => kind !== late,
        );
        await api.until(() => others.every((kind) => api.watches(kind) === 1), WAIT_MS);
        // Asked again after that: whoever did not wait would have written by then.
        const refused = () => api.requests.filter(({ resource }) => resource === late).length;
        const before = refused();
        await api.until(() => refused() >= before + 2, WAIT_MS);
        expect([own.stdout, own.says('SyncProxyRules complete')]).toEqual(['', 0]);
        api.clearFaults();
        await own.synced();
        expect(own.stdout.match(/^add table ip .*$/gm)).toHaveLength(1);
        expect(own.stdout).toContain('10.244.1.5');
      } finally {
        await api.close();
      }
    },
  );
});
