/**
 * Changes of mode with IPVS: new rules come before old ones go, so nobody is refused or reset. All in IPv4 and IPv6,
 * with iptables-legacy, which is all that user-mode Linux has.
 */
import { describe, expect, it } from 'vitest';
import { createIptablesBackend } from '../../backends/iptables/backend.ts';
import { createNodeUnderTest, scenarioOptions } from '../support/node-under-test.ts';
import { type ApiObject, loadScenario, scenarioObjects } from '../support/scenarios.ts';
import { until } from '../support/until.ts';
import { compareDumps, takeDump } from './dump.ts';
import { service, slice } from './node.ts';
import { cleanUpNode, PATIENCE_MS, Traffic, takeOver } from './switching.ts';
import { Crowd, switchingBed } from './switching-bed.ts';
import { CLUSTER_IP, FROM_EVERYWHERE, LOAD_BALANCER, RESTRICTED, WEB } from './switching-cluster.ts';
import { carried, iptablesRemains, ipvsRemains, load, recordedBy, rulesOf } from './switching-state.ts';

describe('a change of mode with IPVS', () => {
  const bed = switchingBed();

  it('goes iptables → ipvs → iptables under up to 200 connections a second: none refused, none reset', async () => {
    const { at, talks } = bed;
    const cluster = [...WEB, ...RESTRICTED];
    let program = await bed.start('iptables', cluster);
    await program.inForce();
    const crowd = await Crowd.start(at);
    const iptables = await rulesOf(at);
    await talks.open('iptables', TARGETS);
    expect(await program.end()).toBe(0);

    program = await bed.start('ipvs', cluster);
    await program.inForce();
    expect(await iptablesRemains(at)).toEqual([]);
    await crowd.goesOn();
    await talks.open('ipvs', TARGETS);
    expect(await program.end()).toBe(0);

    program = await bed.start('iptables', cluster);
    await program.inForce();
    expect(await at.read('ip', 'link', 'show')).not.toContain('kube-ipvs0');
    const before = await carried(at);
    await crowd.goesOn();
    await talks.goOn();
    // IPVS has what it had, and nothing new.
    expect(before).toBeGreaterThan(1000);
    expect(await carried(at)).toBe(before);
    expect(await at.servers(' -w 1')).toEqual([]);

    await crowd.noticedNothing();

    // What both ends have closed is over when it has been quiet for ten seconds.
    await talks.goOn();
    await talks.close('ipvs');
    await until(() => program.said.includes('their last connection has ended'), 300_000);
    expect(await ipvsRemains(at)).toEqual([]);
    expect(await rulesOf(at)).toEqual(iptables);
    await talks.goOn();
    expect(talks.failures).toEqual([]);
    expect(await program.end()).toBe(0);
  }, 1_200_000);

  it('keeps what connections through IPVS need, in both families, until the last has ended', async () => {
    const { at, talks } = bed;
    const objects = [...WEB, ...HELD];
    // Where pods cannot be told from others nothing is masqueraded, so the node's own source counts.
    const options = { clusterCidr: '' };
    let proxy = await takeOver(at, 'ipvs', objects, options);
    await talks.open('ipvs', HELD_TARGETS);
    await proxy.end();

    proxy = await takeOver(at, 'iptables', objects, options);
    const remains = await ipvsRemains(at);
    expect(remains.filter((line) => /^local|^-[Aa] -t/.test(line)).sort()).toEqual([
      '-A -t 10.96.50.9:80 -s rr',
      '-A -t [fd00:10:96::59]:80 -s rr',
      '-a -t 10.96.50.9:80 -r 10.244.1.6:8080 -m -w 0',
      '-a -t 10.96.50.9:80 -r 10.244.2.6:8080 -m -w 0',
      '-a -t [fd00:10:96::59]:80 -r [fd00:244:1::6]:8080 -m -w 0',
      '-a -t [fd00:10:96::59]:80 -r [fd00:244:2::6]:8080 -m -w 0',
      'local 10.96.50.9 dev lo scope host src 172.30.0.11',
      'local fd00:10:96::59 dev lo src fd00:30::11 metric 1024 pref medium',
    ]);
    expect(remains.filter((line) => line.startsWith(':')).map((line) => line.split(' ')[0])).toEqual([
      ':KUBE-IPVS-FILTER',
      ':KUBE-IPVS-FILTER',
    ]);
    await talks.open('iptables', HELD_TARGETS);
    // No daemon of the node answers there.
    const daemon = { addresses: ['0.0.0.0'], tcp: [2222] };
    await at.net.agent('node1').listen(daemon);
    const [other] = await at.net.agent('client1').tries({ ...HELD_IP, port: 2222, deadlineMs: 10_000 });
    expect(other).toEqual({ ok: false, failure: 'refused' });
    await proxy.end();

    // Back before they have ended, and away again.
    proxy = await takeOver(at, 'ipvs', objects, options);
    expect((await ipvsRemains(at)).filter((line) => line.startsWith('local'))).toEqual([]);
    expect(await at.servers(' -w 0')).toEqual([]);
    expect(await iptablesRemains(at)).toEqual([]);
    await talks.open('ipvs again', HELD_TARGETS);
    await talks.goOn();
    await proxy.end();
    proxy = await takeOver(at, 'iptables', objects, options);
    await talks.goOn();
    expect(talks.failures).toEqual([]);

    // The kernel forgets a connection that was reset after ten seconds.
    await talks.stop();
    for (const host of ['pods1', 'pods2'] as const) {
      await at.net.agent(host).unlisten({ addresses: HELD_ENDPOINTS[host], tcp: [8080] });
    }
    await proxy.change.done;
    expect(await ipvsRemains(at)).toEqual([]);
    await proxy.end();
  });

  it('leaves the node an address that it still sends from', async () => {
    const { at, talks } = bed;
    await at.program(WEB);
    // iptables mode is in force, and IPVS mode has not given way yet.
    const { proxy: between } = createNodeUnderTest(
      { runner: () => at.runner },
      (family) => createIptablesBackend({ family, runner: at.runner, variant: 'legacy' }),
      scenarioObjects({ ...loadScenario('clusterip'), objects: WEB }),
      { ...scenarioOptions(loadScenario('clusterip')), proxyMode: 'iptables' },
    );
    await between.syncOnce(AbortSignal.timeout(120_000));
    await talks.open('between', [{ host: 'node1', ...CLUSTER_IP }]);
    const proxy = await takeOver(at, 'iptables', WEB);
    await talks.open('after', [{ host: 'node1', ...CLUSTER_IP }]);
    const sources = async (): Promise<string[]> =>
      [...(await at.read('ss', '-Htn')).matchAll(/(\S+):\d+ +10\.96\.50\.1:80/g)].map(
        ([, from = '']) => from,
      );
    expect((await sources()).sort()).toEqual(['10.96.50.1', '172.30.0.11']);
    expect((await ipvsRemains(at)).filter((line) => /^local|^-A -t/.test(line))).toEqual([
      '-A -t 10.96.50.1:80 -s rr',
      'local 10.96.50.1 dev lo scope host src 172.30.0.11',
    ]);
    await talks.goOn();
    await talks.close('between');
    await proxy.change.done;
    expect(await ipvsRemains(at)).toEqual([]);
    await talks.goOn();
    expect(talks.failures).toEqual([]);
    await proxy.end();
  });

  it('takes over from kube-proxy in IPVS mode', async () => {
    const { at, talks } = bed;
    const { ipvs } = recordedBy(KUBE_PROXY);
    await load(at, ipvs);
    const traffic = await Traffic.start(at, NODE_PORT_LOAD);
    await talks.open('kube-proxy', NODE_PORT_TARGETS);
    await traffic.goesOn();
    const proxy = await takeOver(at, 'iptables', KUBE_PROXY.objects);
    await traffic.goesOn();
    await talks.goOn();
    expect((await traffic.stop()).map(({ failures }) => failures)).toEqual([{}, {}]);
    expect(talks.failures).toEqual([]);
    // Those that connections go through, without a new one; not those on an address that nobody has dialled.
    const servers = (await at.read('ipvsadm', '-Sn')).split('\n');
    expect(servers.filter((line) => line.startsWith('-A')).sort()).toEqual([
      '-A -t 10.96.40.3:80 -s rr',
      '-A -t 172.30.0.11:30003 -s rr',
    ]);
    expect(servers.filter((line) => line.endsWith(' -w 1'))).toEqual([]);
    await proxy.end();

    // It does not wait for anybody, and may be told twice.
    for (const _ of ['first', 'second']) {
      expect(await cleanUpNode(at)).toEqual([]);
      expect([...(await ipvsRemains(at)), ...(await iptablesRemains(at))]).toEqual([]);
    }
  });

  it('takes over from kube-proxy in iptables mode', async () => {
    const { at, talks } = bed;
    const { iptables, ipvs } = recordedBy(KUBE_PROXY);
    await load(at, iptables);
    const traffic = await Traffic.start(at, NODE_PORT_LOAD);
    await talks.open('kube-proxy', NODE_PORT_TARGETS);
    await traffic.goesOn();
    const proxy = await takeOver(at, 'ipvs', KUBE_PROXY.objects);
    await traffic.goesOn();
    await talks.goOn();
    expect((await traffic.stop()).map(({ failures }) => failures)).toEqual([{}, {}]);
    expect(talks.failures).toEqual([]);
    expect(await iptablesRemains(at)).toEqual([]);
    // As if kube-proxy had been in IPVS mode, but for what it shares with kubelet.
    const differences = compareDumps(KUBE_PROXY.name, ipvs, await takeDump(at.runner));
    expect(differences.filter((line) => !line.includes('KUBE-FIREWALL'))).toEqual([]);
    await proxy.end();
  });
});

const TARGETS = [...FROM_EVERYWHERE, { host: 'ext', ...LOAD_BALANCER }] as const;

const HELD_IP = { address: '10.96.50.9', port: 80, protocol: 'tcp' } as const;
const HELD_IP6 = { address: 'fd00:10:96::59', port: 80, protocol: 'tcp' } as const;
const HELD_ENDPOINTS = {
  pods1: ['10.244.1.6', 'fd00:244:1::6'],
  pods2: ['10.244.2.6', 'fd00:244:2::6'],
} as const;

const HELD: readonly ApiObject[] = [
  service('held', { clusterIP: HELD_IP.address }),
  slice('held', [HELD_ENDPOINTS.pods1[0], HELD_ENDPOINTS.pods2[0]]),
  service('held6', { clusterIP: HELD_IP6.address, clusterIPs: [HELD_IP6.address], ipFamilies: ['IPv6'] }),
  {
    ...slice('held6', [HELD_ENDPOINTS.pods1[1], HELD_ENDPOINTS.pods2[1]]),
    addressType: 'IPv6',
  },
];

const HELD_TARGETS = (['client1', 'node1'] as const).flatMap((host) => [
  { host, ...HELD_IP },
  { host, ...HELD_IP6 },
]);

const KUBE_PROXY = loadScenario('nodeport-cluster');
const NODE_PORT_TARGETS = [
  { host: 'client1', address: '10.96.40.3', port: 80, protocol: 'tcp' },
  { host: 'ext', address: '172.30.0.11', port: 30003, protocol: 'tcp' },
  { host: 'node1', address: '10.96.40.3', port: 80, protocol: 'tcp' },
] as const;
const NODE_PORT_LOAD = NODE_PORT_TARGETS.slice(0, 2).map((one) => ({
  ...one,
  perSecond: 50,
  atOnce: 20,
  deadlineMs: PATIENCE_MS,
}));
