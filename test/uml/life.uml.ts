/** A node's life in IPVS mode: changes under traffic, restarts, other people's virtual servers. */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Problem } from '../../src/cluster/project/project.ts';
import type { ApiObject } from '../support/scenarios.ts';
import { until } from '../support/until.ts';
import { service, slice, UmlNode } from './node.ts';

const WEB = { address: '10.96.50.1', port: 80, protocol: 'tcp' } as const;
const WEB_SERVICE = service('web', { clusterIP: '10.96.50.1' });

describe('ipvs mode on a node', () => {
  let at: UmlNode;
  beforeAll(async () => {
    at = await UmlNode.create();
  });
  afterEach(() => at.settle());
  afterAll(() => at.close());

  it('rolls three pods over without refusing anybody, and lets open connections end on the old ones', async () => {
    const old = ['10.244.1.2', '10.244.1.3', '10.244.2.2'];
    const fresh = ['10.244.1.4', '10.244.1.5', '10.244.2.4'];
    // The same pods behind a Service that nobody else uses: what it carries is known.
    const held = service('held', { clusterIP: '10.96.50.9' });
    const proxy = at.proxy([WEB_SERVICE, slice('web', old), held, slice('held', old)]);
    await proxy.start();
    const connection = await at.net.agent('client1').connect({ ...WEB, address: '10.96.50.9' });
    const server = connection.first.ok ? connection.first.backend : connection.first.failure;
    const load = await at.net.agent('ext').load({ ...WEB, perSecond: 20, deadlineMs: 20_000 });
    await until(async () => (await load.report()).answered > 10);
    for (let gone = 1; gone <= old.length; gone += 1) {
      const now = [...old.slice(gone), ...fresh.slice(0, gone)];
      await proxy.tell(slice('web', now));
      await proxy.tell(slice('held', now));
      const { answered } = await load.report();
      await until(async () => (await load.report()).answered > answered + 10);
    }
    const report = await load.stop();
    expect(report.failures).toEqual({});
    expect(Object.keys(report.backends).sort()).toEqual(
      [...old, ...fresh].map((one) => `${one}:8080`).sort(),
    );
    // What is left of the old ones serves who has it, and nobody new.
    const left = [`-a -t 10.96.50.9:80 -r ${server} -m -w 0`];
    await until(async () => isDeepStrictEqual(await at.servers('-t 10.96.50.9:80').then(draining), left));
    expect(await connection.exchange()).toMatchObject({ ok: true, backend: server });

    // The kernel forgets a connection that was reset after ten seconds, and then the real server goes.
    const address = server.replace(':8080', '');
    const host = address.startsWith('10.244.1.') ? 'pods1' : 'pods2';
    await at.net.agent(host).unlisten({ addresses: [address], tcp: [8080] });
    await at.net.agent(host).listen({ addresses: [address], tcp: [8080] });
    await until(async () => draining(await at.servers('-t 10.96.50.9:80')).length === 0, 120_000);
    expect(proxy.drifted).toEqual([]);
  });

  it('gives an endpoint that comes back its weight back', async () => {
    const proxy = at.proxy([WEB_SERVICE, slice('web', ['10.244.1.2', '10.244.2.2'])]);
    await proxy.start();
    const held = [await at.net.agent('client1').connect(WEB), await at.net.agent('client1').connect(WEB)];
    await proxy.tell(slice('web', ['10.244.2.2']));
    expect(await at.servers('10.244.1.2:8080')).toEqual(['-a -t 10.96.50.1:80 -r 10.244.1.2:8080 -m -w 0']);
    await proxy.tell(slice('web', ['10.244.1.2', '10.244.2.2']));
    expect(await at.servers('10.244.1.2:8080')).toEqual(['-a -t 10.96.50.1:80 -r 10.244.1.2:8080 -m -w 1']);
    for (const one of held) expect((await one.exchange()).ok).toBe(true);
    for (const one of held) await one.close();
  });

  it('removes real servers over UDP at once', async () => {
    const udp = { port: 8053, protocol: 'UDP' };
    const dns = service('dns', {
      clusterIP: '10.96.50.2',
      ports: [{ name: 'http', port: 53, targetPort: 8053, protocol: 'UDP' }],
    });
    const proxy = at.proxy([dns, slice('dns', ['10.244.1.2', '10.244.2.2'], udp)]);
    await proxy.start();
    const target = { address: '10.96.50.2', port: 53, protocol: 'udp' } as const;
    expect((await at.net.agent('client1').tries({ ...target, count: 4 })).every((one) => one.ok)).toBe(true);
    await proxy.tell(slice('dns', ['10.244.2.2'], udp));
    expect(await at.servers('-a -u 10.96.50.2:53')).toEqual([
      '-a -u 10.96.50.2:53 -r 10.244.2.2:8053 -m -w 1',
    ]);
  });

  it('after a restart puts right what is ours, within one sync, and leaves what is not', async () => {
    const objects = [
      service('web', { type: 'NodePort', clusterIP: '10.96.50.1', ports: [nodePort(30050)] }),
      slice('web', ['10.244.1.2', '10.244.2.2']),
    ];
    await at.program(objects);
    const before = await at.read('ipvsadm', '-Sn');
    const foreign = [
      '-A -t 192.0.2.1:80 -s wlc',
      '-a -t 192.0.2.1:80 -r 172.30.0.50:80 -g -w 5',
      // On an address of the node, and on a port that is no node port.
      '-A -t 172.30.0.11:9000 -s sh',
      '-a -t 172.30.0.11:9000 -r 10.244.1.9:8080 -m -w 7',
      '-A -f 7 -s rr',
    ];
    await at.feed(
      ['ipvsadm', '-R'],
      [
        ...foreign,
        '-e -t 10.96.50.1:80 -r 10.244.1.2:8080 -m -w 0',
        '-e -t 172.30.0.11:30050 -r 10.244.2.2:8080 -m -w 0',
        '-a -t 10.96.50.1:80 -r 10.244.1.3:8080 -m -w 1',
        '-E -t 10.244.1.1:30050 -s lc -p 60',
        // Of a Service that was deleted meanwhile.
        '-A -t 10.96.50.99:80 -s rr',
        '-a -t 10.96.50.99:80 -r 10.244.1.2:8080 -m -w 1',
      ],
    );
    await at.feed(['ip', '-batch', '-'], ['address add 10.96.50.99/32 dev kube-ipvs0']);
    await at.feed(
      ['ipset', 'restore'],
      [
        'add KUBE-CLUSTER-IP 10.96.50.99,tcp:80',
        'add KUBE-IPVS-IPS 10.96.50.99',
        'del KUBE-CLUSTER-IP 10.96.50.1,tcp:80',
      ],
    );
    const again = await at.program(objects);
    const after = (await at.read('ipvsadm', '-Sn')).split('\n');
    // What nobody wants any more drains, then goes.
    const drained = '-a -t 10.96.50.1:80 -r 10.244.1.3:8080 -m -w 0';
    expect(after.toSorted()).toEqual([...before.split('\n'), ...foreign, drained].sort());
    expect(await at.read('ip', 'address', 'show', 'dev', 'kube-ipvs0')).not.toContain('10.96.50.99');
    const sets = await at.read('ipset', 'save');
    expect(sets).toContain('add KUBE-CLUSTER-IP 10.96.50.1,tcp:80\n');
    expect(sets).not.toContain('10.96.50.99');
    for (const backend of again.backends) expect(await backend.audit()).toEqual([]);

    expect(await again.cleanup()).toEqual([]);
    expect((await at.read('ipvsadm', '-Sn')).trim().split('\n').sort()).toEqual(foreign.toSorted());
    await at.feed(['ipvsadm', '-R'], ['-D -t 192.0.2.1:80', '-D -t 172.30.0.11:9000', '-D -f 7']);
  });

  it('touches nothing on excluded addresses, and says which Service asks for one', async () => {
    const foreign = ['-A -t 203.0.113.60:80 -s wlc', '-a -t 203.0.113.60:80 -r 10.244.1.9:8080 -m -w 5'];
    await at.program([]);
    await at.feed(['ipvsadm', '-R'], [...foreign, '-A -t 203.0.113.61:80 -s rr']);
    // As if it had been ours.
    await at.feed(['ipset', 'restore'], ['add KUBE-EXTERNAL-IP 203.0.113.61,tcp:80']);
    const reports: [string, readonly Problem[]][] = [];
    const proxy = await at.program(
      [
        service('web', { clusterIP: '10.96.50.1', externalIPs: ['203.0.113.60', '203.0.113.70'] }),
        slice('web', ['10.244.1.2']),
      ],
      {
        excludeCIDRs: ['203.0.113.60/31'],
        report: (name, problems) => reports.push([name, problems]),
      },
    );
    expect(await at.servers('203.0.113.60')).toEqual(foreign);
    expect(await at.servers('203.0.113.61')).toEqual(['-A -t 203.0.113.61:80 -s rr']);
    expect(await at.servers('-A -t 203.0.113.70')).toEqual(['-A -t 203.0.113.70:80 -s rr']);
    expect(reports).toEqual([
      [
        'default/web',
        [
          {
            object: 'Service default/web',
            field: 'spec.externalIPs',
            message:
              '203.0.113.60 is in 203.0.113.60/31, which is excluded from IPVS: this address is not served',
          },
        ],
      ],
    ]);
    expect(await proxy.cleanup()).toEqual([]);
    expect(await at.servers('203.0.113.')).toEqual(
      expect.arrayContaining([...foreign, '-A -t 203.0.113.61:80 -s rr']),
    );
    await at.feed(['ipvsadm', '-R'], ['-D -t 203.0.113.60:80', '-D -t 203.0.113.61:80']);
  });

  it('serves an external address that is the node’s own without taking the address away', async () => {
    const reports: string[] = [];
    await at.net.agent('node1').listen({ addresses: ['172.30.0.11'], tcp: [2222] });
    await at.program(
      [
        service('web', { clusterIP: '10.96.50.1', externalIPs: ['172.30.0.11'] }),
        slice('web', ['10.244.1.2']),
      ],
      { report: (_, problems) => reports.push(...problems.map((problem) => problem.message)) },
    );
    expect(await at.read('ip', 'address', 'show', 'dev', 'kube-ipvs0')).not.toContain('172.30.0.11');
    expect(reports).toEqual([
      '172.30.0.11 is an address of this node: it is served, and not put on the dummy link',
    ]);
    const ext = at.net.agent('ext');
    const [web] = await ext.tries({ address: '172.30.0.11', port: 80, protocol: 'tcp', deadlineMs: 10_000 });
    expect(web).toMatchObject({ ok: true, backend: '10.244.1.2:8080' });
    const [other] = await ext.tries({
      address: '172.30.0.11',
      port: 2222,
      protocol: 'tcp',
      deadlineMs: 10_000,
    });
    expect(other).toMatchObject({ ok: true, backend: '172.30.0.11:2222' });
    await at.net.agent('node1').unlisten({ addresses: ['172.30.0.11'], tcp: [2222] });
  });

  it('still reaches another Node whose address a Service has as an external one', async () => {
    const reports: string[] = [];
    const node2: ApiObject = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'node2' },
      status: { addresses: [{ type: 'InternalIP', address: '172.30.0.12' }] },
    };
    await at.net.agent('node2').listen({ addresses: ['172.30.0.12'], tcp: [2222] });
    const proxy = at.proxy(
      [
        service('web', { clusterIP: '10.96.50.1', externalIPs: ['172.30.0.12'] }),
        slice('web', ['10.244.1.2']),
      ],
      { report: (_, problems) => reports.push(...problems.map((problem) => problem.message)) },
    );
    await proxy.start();
    const link = () => at.read('ip', 'address', 'show', 'dev', 'kube-ipvs0');
    // Nobody has said yet whose address it is.
    expect(await link()).toContain('172.30.0.12');

    await proxy.tell(node2);
    expect(await link()).not.toContain('172.30.0.12');
    expect(reports).toEqual([
      '172.30.0.12 is an address of another Node: it is not put on the dummy link, so that this node still reaches that one',
    ]);
    const node1 = at.net.agent('node1');
    const [other] = await node1.tries({
      address: '172.30.0.12',
      port: 2222,
      protocol: 'tcp',
      deadlineMs: 10_000,
    });
    expect(other).toMatchObject({ ok: true, backend: '172.30.0.12:2222' });
    const [web] = await node1.tries({
      address: '172.30.0.12',
      port: 80,
      protocol: 'tcp',
      deadlineMs: 10_000,
    });
    expect(web).toMatchObject({ ok: true, backend: '10.244.1.2:8080' });
    await at.net.agent('node2').unlisten({ addresses: ['172.30.0.12'], tcp: [2222] });
  });

  it('admits to a load balancer whom its source ranges name, the node among them', async () => {
    const ports = [
      { name: 'http', port: 80, targetPort: 8080, protocol: 'TCP', nodePort: 30051 },
      { name: 'alt', port: 81, targetPort: 8081, protocol: 'TCP', nodePort: 30052 },
    ];
    const status = { loadBalancer: { ingress: [{ ip: '203.0.113.80' }] } };
    await at.program([
      service(
        'lb',
        { type: 'LoadBalancer', clusterIP: '10.96.50.3', ports, loadBalancerSourceRanges: ['172.30.0.0/24'] },
        status,
      ),
      // Without ranges, on the same address and another port.
      service(
        'open',
        {
          type: 'LoadBalancer',
          clusterIP: '10.96.50.4',
          ports: [{ name: 'http', port: 82, targetPort: 8080, protocol: 'TCP', nodePort: 30053 }],
        },
        status,
      ),
      slice('lb', ['10.244.1.2']),
      slice('open', ['10.244.1.3']),
    ]);
    const dial = async (host: 'ext' | 'node1' | 'client1', port: number) => {
      const [outcome] = await at.net
        .agent(host)
        .tries({ address: '203.0.113.80', port, protocol: 'tcp', deadlineMs: 5000 });
      return outcome?.ok ? outcome.backend : outcome?.failure;
    };
    expect(await dial('ext', 80)).toBe('10.244.1.2:8080');
    expect(await dial('node1', 80)).toBe('10.244.1.2:8080');
    expect(await dial('client1', 80)).toBe('timeout');
    expect(await dial('client1', 82)).toBe('10.244.1.3:8080');
  });

  it('reaches a cluster IP from the node also where pods cannot be told from others', async () => {
    await at.program([WEB_SERVICE, slice('web', ['10.244.2.2'])], {}, { clusterCidr: '' });
    const [outcome] = await at.net.agent('node1').tries({ ...WEB, deadlineMs: 10_000 });
    expect(outcome).toMatchObject({ ok: true, backend: '10.244.2.2:8080', client: '172.30.0.11' });
  });

  it('sets what IPVS needs of the kernel, and only that', async () => {
    const names = ['arp_ignore', 'arp_announce'].map((name) => `net.ipv4.conf.all.${name}`);
    const read = async (): Promise<string[]> => (await at.read('sysctl', '-n', ...names)).trim().split('\n');
    await at.program([]);
    expect(await read()).toEqual(['0', '0']);
    expect((await at.read('sysctl', '-n', 'net.ipv4.vs.conntrack')).trim()).toBe('1');
    const proxy = await at.program([], { strictARP: true, timeouts: { tcp: 0, tcpFin: 30, udp: 61 } });
    expect(await read()).toEqual(['1', '2']);
    expect(await at.read('ipvsadm', '-L', '--timeout')).toBe('Timeout (tcp tcpfin udp): 900 30 61\n');
    const count = at.runner.count;
    await at.program([], { strictARP: true, timeouts: { tcp: 0, tcpFin: 30, udp: 61 } });
    // For each family three looks for iptables and six reads: nothing is written again.
    expect(at.runner.count - count).toBe(18);
    await at.feed(
      ['sysctl', '-q', '-p', '-'],
      names.map((name) => `${name}=0`),
    );
    expect(await proxy.cleanup()).toEqual([]);
  });

  it('puts a set that would overflow into a larger one, with the rules that look into it', async () => {
    await at.feed(
      ['ipset', 'restore'],
      ['create KUBE-CLUSTER-IP hash:ip,port family inet hashsize 64 maxelem 4'],
    );
    const services = Array.from({ length: 5 }, (_, n) =>
      service(`s${n}`, { clusterIP: `10.96.60.${n + 1}` }),
    );
    const proxy = at.proxy(services.slice(0, 2));
    await proxy.start();
    expect(await at.read('ipset', 'list', '-terse', 'KUBE-CLUSTER-IP')).toContain('maxelem 4 ');
    for (const one of services.slice(2)) await proxy.tell(one);
    const listing = await at.read('ipset', 'list', 'KUBE-CLUSTER-IP');
    expect(listing).toContain('maxelem 8 ');
    // With the API server's own.
    expect(listing.match(/^10\.96\..*,tcp:/gm)).toHaveLength(6);
    expect(await at.read('ipset', 'list', '-name')).not.toContain('GROWN');
    await proxy.stop();
    expect(await proxy.cleanup()).toEqual([]);
  });
});

function draining(lines: readonly string[]): string[] {
  return lines.filter((line) => line.endsWith(' -w 0'));
}

function nodePort(port: number) {
  return { name: 'http', port: 80, targetPort: 8080, protocol: 'TCP', nodePort: port };
}
