/**
 * Changes between IPVS and nftables mode. Debian's user-mode Linux has no nf_tables for IP;
 * `scripts/uml-kernel.sh` builds one that has both (docs/testing.md).
 */
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { loadScenario } from '../support/scenarios.ts';
import { until } from '../support/until.ts';
import type { UmlNode } from './node.ts';
import { PATIENCE_MS, Traffic, takeOver } from './switching.ts';
import { Crowd, switchingBed } from './switching-bed.ts';
import { FROM_EVERYWHERE, LOAD_BALANCER, RESTRICTED, WEB } from './switching-cluster.ts';
import { carried, ipvsRemains, load, recordedBy } from './switching-state.ts';

const KUBE_PROXY = loadScenario('nodeport-cluster');
const TARGETS = [
  { host: 'client1', address: '10.96.40.3', port: 80, protocol: 'tcp' },
  { host: 'ext', address: '172.30.0.11', port: 30003, protocol: 'tcp' },
  { host: 'node1', address: '10.96.40.3', port: 80, protocol: 'tcp' },
] as const;
const LOAD = TARGETS.slice(0, 2).map((one) => ({
  ...one,
  perSecond: 50,
  atOnce: 20,
  deadlineMs: PATIENCE_MS,
}));

const CLUSTER = [...WEB, ...RESTRICTED];
/** Held open from everywhere. */
const OPEN = [...FROM_EVERYWHERE, { host: 'ext', ...LOAD_BALANCER }] as const;

function whyNot(): string | undefined {
  const { status } = spawnSync('unshare', ['--net', '--', 'nft', 'add', 'table', 'ip', 'kube-proxy']);
  return status === 0
    ? undefined
    : 'this kernel has no nf_tables for IP; UML_KERNEL names one that scripts/uml-kernel.sh has built';
}

const reason = whyNot();
const name = 'a change between IPVS and nftables mode';

describe.skipIf(reason !== undefined)(reason === undefined ? name : `${name} (skipped: ${reason})`, () => {
  const bed = switchingBed();

  it('goes ipvs → nftables under up to 200 connections a second: none refused, none reset', async () => {
    const { at, talks } = bed;
    let program = await bed.start('ipvs', CLUSTER);
    await program.inForce();
    const crowd = await Crowd.start(at);
    await talks.open('ipvs', OPEN);
    expect(await program.end()).toBe(0);

    program = await bed.start('nftables', CLUSTER);
    await program.inForce();
    const before = await carried(at);
    await crowd.goesOn();
    await talks.goOn();
    // IPVS has what it had, and nothing new.
    expect(before).toBeGreaterThan(100);
    expect(await carried(at)).toBe(before);
    expect(await at.servers(' -w 1')).toEqual([]);
    expect(await at.read('ip', 'link', 'show')).not.toContain('kube-ipvs0');
    await talks.open('nftables', OPEN);
    await crowd.noticedNothing();

    await talks.goOn();
    await talks.close('ipvs');
    await until(() => program.said.includes('their last connection has ended'), 300_000);
    expect(await ipvsRemains(at)).toEqual([]);
    await talks.goOn();
    expect(talks.failures).toEqual([]);
    expect(await program.end()).toBe(0);
  }, 1_200_000);

  it('goes nftables → ipvs under up to 200 connections a second: none refused, none reset', async () => {
    const { at, talks } = bed;
    let program = await bed.start('nftables', CLUSTER);
    await program.inForce();
    const crowd = await Crowd.start(at);
    await talks.open('nftables', OPEN);
    expect(await program.end()).toBe(0);

    program = await bed.start('ipvs', CLUSTER);
    await program.inForce();
    expect(await tables(at)).not.toContain('kube-proxy');
    const before = await carried(at);
    await crowd.goesOn();
    expect(await carried(at)).toBeGreaterThan(before);
    await talks.open('ipvs', OPEN);
    await crowd.noticedNothing();
    await talks.goOn();
    expect(talks.failures).toEqual([]);
    expect(await program.end()).toBe(0);
  }, 1_200_000);

  it('takes over from kube-proxy in IPVS mode', async () => {
    const { at, talks } = bed;
    await load(at, recordedBy(KUBE_PROXY).ipvs);
    const traffic = await Traffic.start(at, LOAD);
    await talks.open('kube-proxy', TARGETS);
    await traffic.goesOn();
    const proxy = await takeOver(at, 'nftables', KUBE_PROXY.objects);
    await traffic.goesOn();
    await talks.goOn();
    expect((await traffic.stop()).map(({ failures }) => failures)).toEqual([{}, {}]);
    expect(await at.servers(' -w 1')).toEqual([]);
    await talks.goOn();
    await talks.stop();
    expect(talks.failures).toEqual([]);
    await proxy.end();
  });

  it('takes over from kube-proxy in nftables mode', async () => {
    const { at, talks } = bed;
    const { ip, ip6 } = KUBE_PROXY.kubeProxyDump.nftables;
    await at.feed(['nft', '-f', '-'], `${ip}\n${ip6}`.split('\n'));
    const traffic = await Traffic.start(at, LOAD);
    await talks.open('kube-proxy', TARGETS);
    await traffic.goesOn();
    const proxy = await takeOver(at, 'ipvs', KUBE_PROXY.objects);
    expect(await tables(at)).not.toContain('kube-proxy');
    await traffic.goesOn();
    await talks.goOn();
    expect((await traffic.stop()).map(({ failures }) => failures)).toEqual([{}, {}]);
    expect(talks.failures).toEqual([]);
    await proxy.end();
  });
});

function tables(at: UmlNode): Promise<string> {
  return at.read('nft', 'list', 'tables');
}
