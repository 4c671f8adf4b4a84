/** What a change gives to which tool, and in what order. */
import { describe, expect, it } from 'vitest';
import type { ServiceValue } from '../../src/cluster/values.ts';
import type { ServicePlan } from '../../src/plan/plan.ts';
import { Planner } from '../../src/plan/planner.ts';
import type { Change, Step } from '../../src/reconcile/backend.ts';
import {
  buildContext,
  buildEndpoint,
  buildNodePlan,
  buildPort,
  buildService,
  buildSlice,
} from '../../test/support/build.ts';
import { createIpvsBackend } from './backend.ts';
import type { IpvsSettings } from './settings.ts';

const NODE = buildNodePlan({ localAddresses: ['172.30.0.11'] });

function plansOf(fields: Partial<ServiceValue>, addresses: readonly string[]): readonly ServicePlan[] {
  const service = buildService(fields);
  const endpoints = addresses.map((address) =>
    buildEndpoint(address, { nodeName: address.startsWith('10.244.1.') ? 'node1' : 'node2' }),
  );
  const ports = service.ports.map(({ name, protocol }) => ({ name, protocol, port: 8080 }));
  const slices = [buildSlice(endpoints, { serviceName: service.name, ports })];
  const key = `default/${service.name}`;
  const planner = new Planner({ service: () => service, slicesOf: () => slices }, buildContext());
  return planner.update([key]).plans.get(key) ?? [];
}

const NO_TOOLS = { run: () => Promise.reject(new Error('nothing is to be run')) };

/** A back end that remembers, on a kernel that does as it is told. */
class Bench {
  readonly backend;

  constructor(ipvs: IpvsSettings = {}) {
    this.backend = createIpvsBackend({
      family: 'IPv4',
      runner: NO_TOOLS,
      ipvs: { kernel: '6.1.0', ...ipvs },
    });
  }

  sync(services: Record<string, readonly ServicePlan[]>, full = false): string[] {
    const change: Change = { node: NODE, services: new Map(Object.entries(services)), full };
    const diff = this.backend.diff(change);
    diff.commit();
    return textOf(diff.steps);
  }
}

function textOf(steps: readonly Step[]): string[] {
  return steps.flatMap((step) => [`$ ${step.argv.join(' ')}`, ...step.stdin.map((line) => line.trimEnd())]);
}

describe('a first sync', () => {
  it('makes settings, sets, rules, link and addresses before the virtual servers that need them', () => {
    const text = new Bench().sync({ 'default/web': plansOf({}, ['10.244.1.2', '10.244.2.2']) }, true);
    expect(text.filter((line) => line.startsWith('$'))).toEqual([
      '$ sysctl -q -w net.ipv4.vs.conntrack=1 net.ipv4.vs.expire_nodest_conn=1 net.ipv4.vs.expire_quiescent_template=1 net.ipv4.ip_forward=1',
      '$ ipset -exist restore',
      '$ iptables-restore -w 5 --noflush',
      '$ ip link add kube-ipvs0 type dummy',
      '$ ip -batch -',
      '$ ipvsadm -R',
    ]);
    expect(text.slice(text.indexOf('$ ip -batch -'))).toEqual([
      '$ ip -batch -',
      'address replace 10.96.0.10/32 dev kube-ipvs0',
      '$ ipvsadm -R',
      '-A -t 10.96.0.10:80 -s rr',
      '-a -t 10.96.0.10:80 -r 10.244.1.2:8080 -m -w 1',
      '-a -t 10.96.0.10:80 -r 10.244.2.2:8080 -m -w 1',
    ]);
    expect(text).toContain('create KUBE-CLUSTER-IP hash:ip,port family inet hashsize 1024 maxelem 65536');
    expect(text).toContain('add KUBE-LOOP-BACK 10.244.1.2,tcp:8080,10.244.1.2');
  });

  it('has nothing to do a second time', () => {
    const bench = new Bench({ timeouts: { tcp: 900, tcpFin: 0, udp: 0 } });
    const services = { 'default/web': plansOf({}, ['10.244.1.2']) };
    expect(bench.sync(services, true)).toContain('$ ipvsadm --set 900 0 0');
    expect(bench.sync(services, true)).toEqual([]);
    expect(bench.sync(services)).toEqual([]);
  });

  it('sets what older kernels and strict ARP need', () => {
    const [command] = new Bench({ kernel: '5.4.0-99-generic', strictARP: true }).sync({}, true);
    expect(command).toContain(
      'net.ipv4.vs.conn_reuse_mode=0 net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2',
    );
    expect(new Bench({ kernel: '5.10.0' }).sync({}, true)[0]).not.toContain('conn_reuse_mode');
  });
});

describe('a change', () => {
  it('of an endpoint is a line for the one that comes, and one for the one that goes', () => {
    const bench = new Bench();
    bench.sync({ 'default/web': plansOf({}, ['10.244.2.2', '10.244.2.3']) }, true);
    expect(bench.sync({ 'default/web': plansOf({}, ['10.244.2.3', '10.244.2.4']) })).toEqual([
      '$ ipvsadm -R',
      '-a -t 10.96.0.10:80 -r 10.244.2.4:8080 -m -w 1',
      '-e -t 10.96.0.10:80 -r 10.244.2.2:8080 -m -w 0',
    ]);
  });

  it('that brings an endpoint back while it drains changes its weight', () => {
    const bench = new Bench();
    bench.sync({ 'default/web': plansOf({}, ['10.244.2.2', '10.244.2.3']) }, true);
    bench.sync({ 'default/web': plansOf({}, ['10.244.2.3']) });
    expect(bench.sync({ 'default/web': plansOf({}, ['10.244.2.2', '10.244.2.3']) })).toEqual([
      '$ ipvsadm -R',
      '-e -t 10.96.0.10:80 -r 10.244.2.2:8080 -m -w 1',
    ]);
  });

  it.each(['UDP', 'SCTP'] as const)('over %s removes at once', (protocol) => {
    const bench = new Bench();
    const ports = [buildPort({ protocol })];
    const flag = protocol === 'UDP' ? '-u' : '--sctp-service';
    bench.sync({ 'default/web': plansOf({ ports }, ['10.244.2.2', '10.244.2.3']) }, true);
    expect(bench.sync({ 'default/web': plansOf({ ports }, ['10.244.2.3']) })).toEqual([
      '$ ipvsadm -R',
      `-d ${flag} 10.96.0.10:80 -r 10.244.2.2:8080`,
    ]);
  });

  it('under dh removes at once, as everyone would be refused meanwhile', () => {
    const bench = new Bench({ scheduler: 'dh' });
    bench.sync({ 'default/web': plansOf({}, ['10.244.2.2', '10.244.2.3']) }, true);
    expect(bench.sync({ 'default/web': plansOf({}, ['10.244.2.3']) })).toEqual([
      '$ ipvsadm -R',
      '-d -t 10.96.0.10:80 -r 10.244.2.2:8080',
    ]);
  });

  it('takes a Service away from the traffic inwards', () => {
    const bench = new Bench();
    const kept = plansOf({ name: 'kept', clusterIPs: ['10.96.0.11'] }, ['10.244.2.2']);
    bench.sync({ 'default/web': plansOf({}, ['10.244.1.2']), 'default/kept': kept }, true);
    const text = bench.sync({ 'default/web': [] });
    expect(text.slice(0, 9)).toEqual([
      '$ ipvsadm -R',
      '-D -t 10.96.0.10:80',
      '$ ip -batch -',
      'address del 10.96.0.10/32 dev kube-ipvs0',
      '$ ipset -exist restore',
      'del KUBE-CLUSTER-IP 10.96.0.10,tcp:80',
      'del KUBE-IPVS-IPS 10.96.0.10',
      'del KUBE-LOOP-BACK 10.244.1.2,tcp:8080,10.244.1.2',
      '$ iptables-restore -w 5 --noflush',
    ]);
    // The last endpoint that could send to itself is gone, and with it the rule.
    expect(text.slice(9)).toEqual([
      '*nat',
      ':KUBE-POSTROUTING - [0:0]',
      '-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN',
      '-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0',
      '-A KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully',
      'COMMIT',
    ]);
  });

  it('leaves an address and an entry that another Service still needs', () => {
    const bench = new Bench();
    const one = plansOf({ externalIPs: ['203.0.113.1'] }, ['10.244.1.2']);
    const other = plansOf(
      {
        name: 'other',
        clusterIPs: ['10.96.0.11'],
        externalIPs: ['203.0.113.1'],
        ports: [buildPort({ port: 81 })],
      },
      ['10.244.1.2'],
    );
    bench.sync({ 'default/web': one, 'default/other': other }, true);
    const text = bench.sync({ 'default/web': [] });
    expect(text).toContain('-D -t 203.0.113.1:80');
    expect(text.join('\n')).not.toContain('address del 203.0.113.1');
    expect(text.join('\n')).not.toContain('KUBE-LOOP-BACK');
  });

  it('says who may use a load balancer before it is closed to the others', () => {
    const bench = new Bench();
    const open = { loadBalancerIPs: ['203.0.113.1'] };
    const closed = { ...open, sourceRanges: ['198.51.100.0/24'], restrictedFamilies: ['IPv4'] } as const;
    bench.sync({ 'default/web': plansOf(open, ['10.244.2.2']) }, true);
    const text = bench.sync({ 'default/web': plansOf(closed, ['10.244.2.2']) });
    expect(text.slice(0, 3)).toEqual([
      '$ ipset -exist restore',
      'add KUBE-LOAD-BALANCER-SOURCE-CIDR 203.0.113.1,tcp:80,198.51.100.0/24',
      'add KUBE-LOAD-BALANCER-FW 203.0.113.1,tcp:80',
    ]);
    const reopened = bench.sync({ 'default/web': plansOf(open, ['10.244.2.2']) });
    expect(reopened.slice(0, 3)).toEqual([
      '$ ipset -exist restore',
      'del KUBE-LOAD-BALANCER-FW 203.0.113.1,tcp:80',
      'del KUBE-LOAD-BALANCER-SOURCE-CIDR 203.0.113.1,tcp:80,198.51.100.0/24',
    ]);
  });

  it('costs the same among 200 Services as among 20', () => {
    const cost = (count: number): string[] => {
      const crowd = Array.from({ length: count }, (_, n) => {
        const name = `svc-${n}`;
        return [`default/${name}`, plansOf({ name, clusterIPs: [`10.96.1.${n}`] }, ['10.244.1.2'])] as const;
      });
      const bench = new Bench();
      bench.sync(Object.fromEntries(crowd), true);
      const changed = plansOf({ name: 'svc-7', clusterIPs: ['10.96.1.7'] }, ['10.244.1.2', '10.244.1.3']);
      return bench.sync({ 'default/svc-7': changed });
    };
    expect(cost(200)).toEqual([
      '$ ipset -exist restore',
      'add KUBE-LOOP-BACK 10.244.1.3,tcp:8080,10.244.1.3',
      '$ ipvsadm -R',
      '-a -t 10.96.1.7:80 -r 10.244.1.3:8080 -m -w 1',
    ]);
    expect(cost(20)).toEqual(cost(200));
  });
});

it('names the Service behind a line', () => {
  const bench = new Bench();
  const web = plansOf({}, ['10.244.1.2']);
  const other = plansOf({ name: 'other', clusterIPs: ['10.96.0.11'] }, ['10.244.1.2']);
  const services = new Map([
    ['default/web', web],
    ['default/other', other],
  ]);
  const { steps } = bench.backend.diff({ node: NODE, services, full: true });
  const owners = steps.flatMap((step) =>
    step.stdin.map((line, index) => [line.trim(), step.serviceOfLine(index + 1)] as const),
  );
  const ownerOf = (text: string) => owners.find(([line]) => line === text);
  expect(ownerOf('add KUBE-CLUSTER-IP 10.96.0.11,tcp:80')?.[1]).toBe('default/other');
  expect(ownerOf('-A -t 10.96.0.10:80 -s rr')?.[1]).toBe('default/web');
  expect(ownerOf('address replace 10.96.0.11/32 dev kube-ipvs0')?.[1]).toBe('default/other');
  expect(ownerOf('add KUBE-LOOP-BACK 10.244.1.2,tcp:8080,10.244.1.2')?.[1]).toBeUndefined();
  expect(ownerOf('*nat')?.[1]).toBeUndefined();
});
