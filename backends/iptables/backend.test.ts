/** The back end against tools that answer as told: what no real tool does on demand. */
import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../src/cluster/values.ts';
import { type Command, type CommandRunner, ToolError } from '../../src/node/runner.ts';
import type { ServicePlan } from '../../src/plan/plan.ts';
import { planService } from '../../src/plan/service-plan.ts';
import type { Change, Diff } from '../../src/reconcile/backend.ts';
import { findCulprits } from '../../src/reconcile/narrow.ts';
import {
  buildContext,
  buildEndpoint,
  buildNodePlan,
  buildService,
  buildSlice,
} from '../../test/support/build.ts';
import { createIptablesBackend } from './backend.ts';

type Answer = (line: string, stdin: string) => string | ToolError | undefined;

const EMPTY = '*nat\n:PREROUTING ACCEPT [0:0]\nCOMMIT\n';

/** A machine with iptables-nft and nothing in its tables. `answer` may have it otherwise. */
function machine(answer: Answer = () => undefined): CommandRunner & { readonly ran: string[] } {
  const ran: string[] = [];
  return {
    ran,
    async run({ argv, stdin }: Command) {
      const line = argv.join(' ');
      ran.push(line);
      const given = answer(line, [...(stdin ?? [])].join('')) ?? usual(line);
      if (typeof given !== 'string') throw given ?? new ToolError(argv, 'missing', undefined, '');
      return { stdout: given, stderr: '' };
    },
  };
}

function usual(line: string): string | undefined {
  if (line === 'iptables-nft --version') return 'iptables v1.8.9 (nf_tables)\n';
  if (/^ip6?tables-nft-save /.test(line)) return EMPTY;
  if (/^ip6?tables-nft/.test(line)) return '';
  if (line === 'sysctl -n net.ipv4.conf.all.route_localnet') return '0\n';
  if (line === 'sysctl -n net.netfilter.nf_conntrack_tcp_be_liberal') return '0\n';
  return undefined;
}

function failure(code: number, stderr: string): ToolError {
  return new ToolError(['iptables-nft-restore'], 'exit', code, stderr);
}

const node = buildNodePlan({ nodePortAddresses: 'any' });

function changeOf(...names: string[]): Change {
  const services = new Map<ObjectKey, readonly ServicePlan[]>(
    names.map((name, index) => [
      `default/${name}`,
      planService(
        buildService({ name, clusterIPs: [`10.96.0.${index + 1}`] }),
        [buildSlice([buildEndpoint('10.244.1.2')], { serviceName: name })],
        buildContext(),
      ),
    ]),
  );
  return { node, services, full: true };
}

const commands = ({ steps }: Diff): string[] => steps.map(({ argv }) => argv.join(' '));
const textOf = ({ steps }: Diff): string => steps.flatMap(({ stdin }) => stdin).join('');

describe('without a look at the machine', () => {
  it('a dry run prints what iptables-restore would be given, and what would be set', () => {
    const diff = createIptablesBackend({ family: 'IPv4', runner: machine() }).diff(changeOf('web'));
    expect(commands(diff)).toEqual([
      'iptables-restore -w 5 --noflush',
      'sysctl -w net.ipv4.conf.all.route_localnet=1',
    ]);
    expect(textOf(diff)).toContain('-A KUBE-SERVICES -d 10.96.0.1/32 ');
  });

  it('sets nothing where node ports do not answer on 127.0.0.1', () => {
    const change = changeOf('web');
    const off = createIptablesBackend({ family: 'IPv4', runner: machine(), localhostNodePorts: false });
    expect(commands(off.diff(change))).toEqual(['iptables-restore -w 5 --noflush']);
    expect(textOf(off.diff(change))).toMatch(/-A KUBE-SERVICES ! -d 127\.0\.0\.0\/8 /);
    expect(textOf(off.diff(change))).not.toContain('block incoming localnet connections');
    const elsewhere = createIptablesBackend({ family: 'IPv4', runner: machine() });
    const primary = { ...change, node: buildNodePlan({ nodePortAddresses: ['172.30.0.11'] }) };
    expect(commands(elsewhere.diff(primary))).toEqual(['iptables-restore -w 5 --noflush']);
    const v6 = createIptablesBackend({ family: 'IPv6', runner: machine() });
    const six = { full: true, services: new Map(), node: { ...node, family: 'IPv6' } } as const;
    expect(commands(v6.diff(six))).toEqual(['ip6tables-restore -w 5 --noflush']);
  });
});

describe('on a machine', () => {
  it('makes the counters that rules refer to, where there is a tool for them', async () => {
    const answer: Answer = (line) =>
      line === 'nfacct list'
        ? '{ pkts = 00000000000000000000, bytes = 00000000000000000000 } = ct_state_invalid_dropped_pkts;\n'
        : undefined;
    const backend = createIptablesBackend({ family: 'IPv4', runner: machine(answer) });
    await backend.observe();
    const diff = backend.diff(changeOf('web'));
    expect(commands(diff)).toEqual([
      'nfacct add localhost_nps_accepted_pkts',
      'iptables-nft-restore -w 5 --noflush',
      'sysctl -w net.ipv4.conf.all.route_localnet=1',
    ]);
    expect(textOf(diff)).toContain(
      '--ctstate INVALID -m nfacct --nfacct-name ct_state_invalid_dropped_pkts -j DROP',
    );
  });

  it('takes a counter that the other family has made meanwhile', async () => {
    const answer: Answer = (line) => {
      if (line === 'nfacct list') return '';
      return line.startsWith('nfacct add') ? failure(1, 'nfacct: error: Device or resource busy') : undefined;
    };
    const backend = createIptablesBackend({ family: 'IPv6', runner: machine(answer) });
    await backend.observe();
    const diff = backend.diff({
      full: true,
      services: new Map(),
      node: buildNodePlan({ family: 'IPv6', detector: { kind: 'none' }, serviceCIDRs: [] }),
    });
    const [first] = diff.steps;
    expect(first?.argv.slice(0, 2)).toEqual(['nfacct', 'add']);
    for (const step of diff.steps) await backend.apply(step);
  });

  it('leaves 127.0.0.1 out, and says so, where the kernel setting for it cannot be written', async () => {
    const reports: string[] = [];
    const backend = createIptablesBackend({
      family: 'IPv4',
      runner: machine((line) =>
        line.startsWith('sysctl -w')
          ? new ToolError(line.split(' ') as [string], 'exit', 1, 'setting key: Read-only file system')
          : undefined,
      ),
      report: (message) => reports.push(message),
    });
    await backend.observe();
    const diff = backend.diff(changeOf('web'));
    for (const step of diff.steps) await backend.apply(step);
    diff.commit();
    expect(reports).toEqual([
      'Node ports do not answer on 127.0.0.1: sysctl -w net.ipv4.conf.all.route_localnet=1: exit code 1: setting key: Read-only file system. Set it on the host, start the program with --init-only first, or leave it out with --iptables-localhost-nodeports=false.',
    ]);
    expect(backend.diff({ ...changeOf('web'), full: false }).steps).toEqual([]);
  });

  it('lets INVALID packets pass where conntrack is liberal, and sets nothing that is set', async () => {
    const answer: Answer = (line) =>
      /be_liberal$|route_localnet$/.test(line) && line.startsWith('sysctl') ? '1\n' : undefined;
    const backend = createIptablesBackend({ family: 'IPv4', runner: machine(answer) });
    await backend.observe();
    const diff = backend.diff(changeOf('web'));
    expect(commands(diff)).toEqual(['iptables-nft-restore -w 5 --noflush']);
    expect(textOf(diff)).not.toContain('INVALID');
  });

  it('does not ask an old iptables for what it cannot do', async () => {
    const answer: Answer = (line) => {
      if (line === 'iptables-nft --version') return failure(127, '');
      if (line === 'iptables --version') return 'iptables v1.6.1\n';
      return /^iptables(-save|-restore)? /.test(line) ? EMPTY : undefined;
    };
    const backend = createIptablesBackend({ family: 'IPv4', runner: machine(answer) });
    await backend.observe();
    const diff = backend.diff(changeOf('web'));
    expect(commands(diff)[0]).toBe('iptables-restore --noflush');
    expect(textOf(diff)).toContain('-j MASQUERADE\n');
  });

  it.each([
    [failure(4, 'Permission denied (you must be root)'), 'run as root, or with CAP_NET_ADMIN'],
    [failure(2, 'unknown option "--random-fully"'), 'does not take the rules this mode needs'],
  ])('says in a probe what is missing: %s', async (error, sentence) => {
    const answer: Answer = (line) => (line.includes('-restore --test') ? error : undefined);
    const probe = await createIptablesBackend({ family: 'IPv4', runner: machine(answer) }).probe();
    expect(probe).toMatchObject({
      usable: false,
      versions: { iptables: '1.8.9 (nf_tables: no other variant is installed)' },
    });
    expect(probe.missing.join()).toContain(sentence);
  });

  it('tells a missing variant that was asked for', async () => {
    const backend = createIptablesBackend({ family: 'IPv4', runner: machine(), variant: 'legacy' });
    expect((await backend.probe()).missing).toEqual([
      'There is no iptables of the variant legacy here; install it, or leave --iptables-variant out to use nf_tables.',
    ]);
  });
});

describe('a lock that is held', () => {
  const held = failure(4, 'Another app is currently holding the xtables lock. Stopped waiting after 5s.');

  /** Held for so many tries. */
  function lockedFor(tries: number): Answer {
    let left = tries;
    return (line) => (line.includes('-restore -w') && left-- > 0 ? held : undefined);
  }

  it('is waited for, and reported', async () => {
    const reports: string[] = [];
    const backend = createIptablesBackend({
      family: 'IPv4',
      runner: machine(lockedFor(2)),
      report: (message) => reports.push(message),
    });
    await backend.observe();
    for (const step of backend.diff(changeOf('web')).steps.slice(0, 1)) await backend.apply(step);
    expect(reports).toEqual([
      'Another program holds the xtables lock; iptables-nft-restore waited 5 s for it and tries again (1 of 3)',
      'Another program holds the xtables lock; iptables-nft-restore waited 5 s for it and tries again (2 of 3)',
    ]);
  });

  it('is not waited for without end, and is nobody’s fault', async () => {
    const backend = createIptablesBackend({ family: 'IPv4', runner: machine(lockedFor(1000)) });
    await backend.observe();
    const change = changeOf('web');
    const [step] = backend.diff(change).steps;
    await expect(step && backend.apply(step)).rejects.toThrow('holding the xtables lock');
    expect(await findCulprits(backend, change)).toEqual(new Map());
  });
});

describe('a refusal that only the kernel knows of', () => {
  const change = changeOf('a', 'bad', 'c');
  /** As the kernel would have it: the rule that leads to the Service, and nothing that --test would find. */
  const answer: Answer = (line, stdin) => {
    if (!line.includes('-restore -w')) return undefined;
    const index = stdin
      .split('\n')
      .findIndex((text) => text.startsWith('-A') && text.includes('default/bad:'));
    if (index < 0) return undefined;
    return failure(4, `line ${index + 1}: RULE_APPEND failed (No such file or directory): rule in chain X`);
  };

  it('is narrowed to its Service by the line, until that Service is written without fault', async () => {
    const backend = createIptablesBackend({ family: 'IPv4', runner: machine(answer) });
    await backend.observe();
    expect(await findCulprits(backend, change)).toEqual(new Map());
    const [step] = backend.diff(change).steps;
    await expect(step && backend.apply(step)).rejects.toThrow('RULE_APPEND failed');
    const culprits = await findCulprits(backend, change);
    expect([...culprits.keys()]).toEqual(['default/bad']);

    const services = new Map([...change.services].filter(([key]) => key !== 'default/bad'));
    const without = backend.diff({ ...change, services });
    for (const one of without.steps.slice(0, 1)) await backend.apply(one);
    without.commit();
    expect(await findCulprits(backend, change)).toEqual(new Map());
  });
});
