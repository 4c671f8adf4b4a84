/** The back end and its tools, played from a script. */
import { describe, expect, it } from 'vitest';
import { type Command, type CommandRunner, ToolError } from '../../src/node/runner.ts';
import type { ServicePlan } from '../../src/plan/plan.ts';
import type { Backend } from '../../src/reconcile/backend.ts';
import { buildNodePlan } from '../../test/support/build.ts';
import { createIpvsBackend } from './backend.ts';
import type { IpvsSettings } from './settings.ts';

type Answer = string | { readonly exit: number; readonly stderr: string } | { readonly stderr: string };

/** Answers by how a command line begins; everything else works and says nothing. */
class Tools implements CommandRunner {
  readonly calls: { readonly line: string; readonly stdin: string }[] = [];
  readonly #answers: Record<string, Answer>;

  constructor(answers: Record<string, Answer>) {
    this.#answers = { 'iptables --version': 'iptables v1.8.9 (legacy)', ...answers };
  }

  async run(command: Command): Promise<{ stdout: string; stderr: string }> {
    const line = command.argv.join(' ');
    this.calls.push({ line, stdin: [...(command.stdin ?? [])].join('') });
    const [, answer = ''] = Object.entries(this.#answers).find(([start]) => line.startsWith(start)) ?? [];
    if (typeof answer === 'string') return { stdout: answer, stderr: '' };
    if ('exit' in answer) {
      throw new ToolError(
        command.argv,
        answer.stderr === '' ? 'missing' : 'exit',
        answer.exit,
        answer.stderr,
      );
    }
    return { stdout: '', stderr: answer.stderr };
  }

  inputsOf(start: string): string[] {
    return this.calls.filter(({ line }) => line.startsWith(start)).map(({ stdin }) => stdin);
  }
}

function create(tools: Tools, ipvs: IpvsSettings = {}): Backend {
  return createIpvsBackend({ family: 'IPv4', runner: tools, ipvs: { kernel: '6.1.0', ...ipvs } });
}

const GOOD = {
  'ip -V': 'ip utility, iproute2-6.1.0, libbpf 1.1.2',
  'ipset -v': 'ipset v7.17, protocol version: 7',
  'sysctl -V': 'sysctl from procps-ng 4.0.2',
} as const;

describe('probe', () => {
  it('passes with its versions, and tries things in a network of their own', async () => {
    const tools = new Tools(GOOD);
    expect(await create(tools, { scheduler: 'lc' }).probe()).toEqual({
      usable: true,
      versions: { kernel: '6.1.0', ip: '6.1.0', ipset: '7.17', iptables: '1.8.9 (legacy)', sysctl: '4.0.2' },
      missing: [],
    });
    const changing = tools.calls
      .map(({ line }) => line)
      .filter((line) => / (-A|add|restore)( |$)/.test(line));
    expect(changing).toEqual([
      'unshare --net -- ipvsadm -A -t 198.51.100.0:20000 -s lc',
      'unshare --net -- ip link add kube-ipvs0 type dummy',
      'unshare --net -- ipset restore',
    ]);
  });

  it.each<[string, Record<string, Answer>, IpvsSettings, string]>([
    [
      'a scheduler that is not there',
      { 'unshare --net -- ipvsadm': { exit: 255, stderr: 'Scheduler or persistence engine not found\n' } },
      { scheduler: 'sed' },
      'The kernel does not have the IPVS scheduler "sed"; load it with: modprobe ip_vs_sed',
    ],
    [
      'no IPVS',
      {
        'unshare --net -- ipvsadm': {
          exit: 255,
          stderr: "modprobe: FATAL: Module ip_vs not found\nCan't initialize ipvs: Protocol not available\n",
        },
      },
      {},
      'The kernel does not have IPVS; load it with: modprobe ip_vs',
    ],
    [
      'no ipvsadm',
      {
        'unshare --net -- ipvsadm': {
          exit: 127,
          stderr: 'unshare: failed to execute ipvsadm: No such file or directory\n',
        },
      },
      {},
      'The program ipvsadm is not installed; install the package ipvsadm.',
    ],
    [
      'no ipset',
      { 'ipset -v': { exit: 127, stderr: '' } },
      {},
      'The program ipset is not installed; install the package ipset (6.0 or newer).',
    ],
    [
      'an old ipset',
      { 'ipset -v': 'ipset v4.5, protocol version: 2' },
      {},
      'ipset 4.5 is too old; install ipset 6.0 or newer.',
    ],
    [
      'no dummy links',
      { 'unshare --net -- ip link': { exit: 2, stderr: 'Error: Unknown device type.\n' } },
      {},
      'The kernel does not have dummy links; load them with: modprobe dummy',
    ],
    [
      'a scheduler that cannot be one',
      {},
      { scheduler: 'rr; reboot' },
      'The IPVS scheduler "rr; reboot" must be a scheduler of the kernel: rr, wrr, lc, wlc, lblc, lblcr, dh, sh, sed, nq, fo, ovf, mh.',
    ],
  ])('names %s', async (_, answers, settings, missing) => {
    const probe = await create(new Tools({ ...GOOD, ...answers }), settings).probe();
    expect(probe.usable).toBe(false);
    expect(probe.missing).toContain(missing);
  });

  it('takes for granted what it may not try', async () => {
    const stderr = 'unshare: unshare failed: Operation not permitted\n';
    const probe = await create(new Tools({ ...GOOD, unshare: { exit: 1, stderr } })).probe();
    expect(probe).toMatchObject({ usable: true, missing: [] });
  });
});

describe('apply', () => {
  const EMPTY = { node: buildNodePlan(), services: new Map(), full: true } as const;

  it('takes a word of ipvsadm’s for a failure, as its exit code is none', async () => {
    const backend = create(new Tools({ 'ipvsadm -R': { stderr: 'No such service\n' } }));
    const step = {
      argv: ['ipvsadm', '-R'],
      stdin: [],
      services: [],
      serviceOfLine: () => undefined,
    } as const;
    await expect(backend.apply(step)).rejects.toThrow('ipvsadm -R: exit code 0: No such service');
  });

  it('does not mind that the other family made the link meanwhile', async () => {
    const stderr = 'RTNETLINK answers: File exists\n';
    const backend = create(
      new Tools({ 'ip link add': { exit: 2, stderr }, 'ip -batch': { exit: 2, stderr } }),
    );
    const { steps } = backend.diff(EMPTY);
    const link = steps.find(({ argv }) => argv[1] === 'link');
    if (link === undefined) throw new Error('no link is made');
    await expect(backend.apply(link)).resolves.toBeUndefined();
    const batch = { ...link, argv: ['ip', '-batch', '-'] as const };
    await expect(backend.apply(batch)).rejects.toThrow('File exists');
  });
});

describe('taking over from iptables mode', () => {
  it('makes everything else before the rules that both modes have in the same chains', async () => {
    const save = '*filter\n:KUBE-EXTERNAL-SERVICES - [0:0]\nCOMMIT\n*nat\n:KUBE-SERVICES - [0:0]\nCOMMIT\n';
    const toolsOf = async (tables: string): Promise<string[]> => {
      const backend = create(new Tools({ 'iptables-save': tables, 'ip -json': '[]' }));
      await backend.observe();
      const plan = buildClusterIP('10.96.0.10');
      const services = new Map([['default/web', [plan]]]);
      const { steps } = backend.diff({ node: buildNodePlan(), services, full: true });
      return steps.map(({ argv }) => argv[0]);
    };
    expect(await toolsOf(save)).toEqual(['sysctl', 'ipset', 'ip', 'ip', 'ipvsadm', 'iptables-restore']);
    expect(await toolsOf('')).toEqual(['sysctl', 'ipset', 'iptables-restore', 'ip', 'ip', 'ipvsadm']);
  });
});

/** `default/web:http` without endpoints. */
function buildClusterIP(address: string): ServicePlan {
  const route = { action: 'reject' } as const;
  return {
    key: 'default/web:http',
    service: 'default/web',
    namespace: 'default',
    name: 'web',
    portName: 'http',
    protocol: 'TCP',
    family: 'IPv4',
    createdAt: 0,
    affinitySeconds: 0,
    healthCheckNodePort: 0,
    pools: { cluster: [], local: [] },
    frontEnds: [{ kind: 'clusterIP', address, port: 80, routes: { pod: route, node: route, other: route } }],
  };
}

describe('check', () => {
  it('tries entries in a network of their own, and says which line was refused', async () => {
    const stderr = 'ipset v7.17: Error in line 23: Syntax error: port 70000\n';
    const tools = new Tools({ 'unshare --net -- ipset': { exit: 1, stderr } });
    const backend = create(tools);
    const step = {
      argv: ['ipset', '-exist', 'restore'],
      stdin: ['add A 1\n', 'add A 2\n', 'add A 3\n'],
      services: [],
      serviceOfLine: () => undefined,
    } as const;
    // Twenty sets are made before the step's own lines.
    await expect(backend.check(step)).rejects.toThrow('Error in line 3:');
    expect(tools.calls[0]?.stdin.split('\n').slice(19, 22)).toEqual([
      'create KUBE-DROP-EXTERNAL hash:ip,port family inet hashsize 1024 maxelem 65536',
      'add A 1',
      'add A 2',
    ]);
  });
});

describe('cleanup', () => {
  const LISTINGS = {
    'ipvsadm -Sn': `-A -t 10.96.0.1:443 -s rr
-a -t 10.96.0.1:443 -r 172.30.0.1:6443 -m -w 1
-A -t 172.30.0.11:30080 -s rr
-A -t 172.30.0.11:9000 -s sh
-A -t 192.0.2.1:80 -s wlc
-A -t 203.0.113.9:80 -s rr
`,
    'ipset save': `create KUBE-CLUSTER-IP hash:ip,port family inet hashsize 1024 maxelem 65536
add KUBE-CLUSTER-IP 10.96.0.1,tcp:443
create KUBE-EXTERNAL-IP hash:ip,port family inet hashsize 1024 maxelem 65536
add KUBE-EXTERNAL-IP 203.0.113.9,tcp:80
create KUBE-NODE-PORT-TCP bitmap:port range 0-65535
add KUBE-NODE-PORT-TCP 30080
create KUBE-NODE-PORT-IP hash:ip family inet hashsize 1024 maxelem 65536
add KUBE-NODE-PORT-IP 172.30.0.11
`,
    'ipset list -name': 'KUBE-CLUSTER-IP\nKUBE-EXTERNAL-IP\nKUBE-6-CLUSTER-IP\nforeign\n',
    'ip -json': JSON.stringify([
      { ifname: 'kube-ipvs0', addr_info: [{ local: '10.96.0.1', scope: 'global' }] },
    ]),
  };
  const TABLES = `*nat
:OUTPUT ACCEPT [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-MARK-MASQ - [0:0]
:CNI-HOSTPORT - [0:0]
-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A OUTPUT -j CNI-HOSTPORT
-A CNI-HOSTPORT -j KUBE-MARK-MASQ
COMMIT
`;

  it('removes what sets and link name as ours, and says what others hold on to', async () => {
    const tools = new Tools({ ...LISTINGS, 'iptables-save': TABLES });
    const left = await create(tools, { excludeCIDRs: ['203.0.113.0/24'] }).cleanup();
    expect(tools.inputsOf('ipvsadm -R')).toEqual(['-D -t 10.96.0.1:443\n-D -t 172.30.0.11:30080\n']);
    expect(tools.inputsOf('iptables-restore')).toEqual([
      [
        '*nat',
        ':KUBE-SERVICES - [0:0]',
        '-D OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES',
        '-X KUBE-SERVICES',
        'COMMIT',
        '',
      ].join('\n'),
    ]);
    expect(tools.inputsOf('ipset restore')).toEqual(['destroy KUBE-CLUSTER-IP\ndestroy KUBE-EXTERNAL-IP\n']);
    expect(tools.inputsOf('ip -batch')).toEqual(['link del kube-ipvs0\n']);
    expect(left).toEqual([
      {
        object: 'chain KUBE-MARK-MASQ of table nat, IPv4',
        reason: "a rule in chain CNI-HOSTPORT leads to it, and that chain is somebody else's",
      },
    ]);
  });

  it('leaves chains to iptables mode that both modes have', async () => {
    const jump = '-m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL';
    const tables = `*filter
:INPUT ACCEPT [0:0]
:KUBE-EXTERNAL-SERVICES - [0:0]
:KUBE-PROXY-FIREWALL - [0:0]
:KUBE-IPVS-FILTER - [0:0]
-A INPUT ${jump}
-A INPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL
COMMIT
${TABLES}`;
    const tools = new Tools({ ...LISTINGS, 'iptables-save': tables });
    expect(await create(tools).cleanup()).toEqual([]);
    expect(tools.inputsOf('iptables-restore')).toEqual([
      `*filter\n:KUBE-IPVS-FILTER - [0:0]\n-D INPUT ${jump}\n-X KUBE-IPVS-FILTER\nCOMMIT\n`,
    ]);
  });

  it('keeps the link while the other family has addresses on it', async () => {
    const addresses = [
      { local: '10.96.0.1', scope: 'global' },
      { local: 'fd00:10:96::1', scope: 'global' },
    ];
    const tools = new Tools({
      ...LISTINGS,
      'ip -json': JSON.stringify([{ ifname: 'kube-ipvs0', addr_info: addresses }]),
    });
    await create(tools).cleanup();
    expect(tools.inputsOf('ip -batch')).toEqual(['address del 10.96.0.1/32 dev kube-ipvs0\n']);
  });

  it('has nothing to do where there is nothing', async () => {
    const tools = new Tools({ 'ip -json': '[]' });
    expect(await create(tools).cleanup()).toEqual([]);
    expect(tools.calls.filter(({ stdin }) => stdin !== '')).toEqual([]);
  });
});
