/**
 * Changes between IPVS and nftables mode. Debian's user-mode Linux has no nf_tables for IP;
 * `scripts/uml-kernel.sh` builds one that has both (docs/testing.md).
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRunner } from '../../src/node/runner.ts';
import type { ProxyMode } from '../../src/reconcile/backend.ts';
import { loadScenario, scenarioObjects } from '../support/scenarios.ts';
import { until } from '../support/until.ts';
import { UmlNode } from './node.ts';
import { buildProgram, PATIENCE_MS, Program, Talks, Traffic, takeOver } from './switching.ts';
import {
  CLUSTER_IP,
  ENDPOINTS,
  FROM_EVERYWHERE,
  LOAD_BALANCER,
  NODE_PORT,
  OTHER_ENDPOINTS,
  RESTRICTED,
  WEB,
} from './switching-cluster.ts';
import { carried, ipvsRemains, load, recordedBy, repeatedSyns } from './switching-state.ts';

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

function whyNot(): string | undefined {
  const { status } = spawnSync('unshare', ['--net', '--', 'nft', 'add', 'table', 'ip', 'kube-proxy']);
  return status === 0
    ? undefined
    : 'this kernel has no nf_tables for IP; UML_KERNEL names one that scripts/uml-kernel.sh has built';
}

const reason = whyNot();
const name = 'a change between IPVS and nftables mode';

describe.skipIf(reason !== undefined)(reason === undefined ? name : `${name} (skipped: ${reason})`, () => {
  let build: string;
  let main: string;
  let at: UmlNode;
  let directory: string;
  let talks: Talks;
  const programs: Program[] = [];
  beforeAll(async () => {
    const runner = createRunner();
    await runner.run({ argv: ['sysctl', '-q', '-w', 'net.netfilter.nf_conntrack_max=262144'] });
    build = await mkdtemp(join(tmpdir(), 'krs-build-'));
    main = await buildProgram(runner, build);
  });
  afterAll(() => rm(build, { recursive: true }));
  beforeEach(async () => {
    at = await UmlNode.create();
    directory = await mkdtemp(join(tmpdir(), 'krs-mode-'));
    talks = new Talks(at);
  });
  afterEach(async () => {
    await talks.stop();
    for (const program of programs.splice(0)) await program.end();
    await rm(directory, { recursive: true });
    await at.close();
  });

  function start(mode: ProxyMode): Program {
    const program = new Program(at, main, mode, directory);
    programs.push(program);
    return program;
  }

  it('goes ipvs → nftables → ipvs under up to 200 connections a second: none refused, none reset', async () => {
    const objects = scenarioObjects({ ...loadScenario('clusterip'), objects: [...WEB, ...RESTRICTED] });
    await writeFile(join(directory, 'all.yaml'), objects.map((one) => JSON.stringify(one)).join('\n---\n'));
    const targets = [...FROM_EVERYWHERE, { host: 'ext', ...LOAD_BALANCER } as const];
    let program = start('ipvs');
    await program.inForce();
    const traffic = await Traffic.start(
      at,
      [
        { host: 'ext', ...NODE_PORT, perSecond: 80 } as const,
        { host: 'client1', ...CLUSTER_IP, perSecond: 80 } as const,
        { host: 'ext', ...LOAD_BALANCER, perSecond: 40 } as const,
      ].map((one) => ({ ...one, atOnce: 20, deadlineMs: PATIENCE_MS })),
    );
    const denied = await at.net.agent('pods1').load({ ...LOAD_BALANCER, perSecond: 2 });
    await traffic.goesOn();
    await talks.open('ipvs', targets);
    expect(await program.end()).toBe(0);

    program = start('nftables');
    await program.inForce();
    const before = await carried(at);
    await traffic.goesOn();
    await talks.goOn();
    // IPVS has what it had, and nothing new.
    expect(before).toBeGreaterThan(100);
    expect(await carried(at)).toBe(before);
    expect(await at.servers(' -w 1')).toEqual([]);
    expect(await at.read('ip', 'link', 'show')).not.toContain('kube-ipvs0');
    await talks.open('nftables', targets);
    expect(await program.end()).toBe(0);

    // Back while connections that began in IPVS mode are still open.
    program = start('ipvs');
    await program.inForce();
    expect(await tables(at)).not.toContain('kube-proxy');
    await traffic.goesOn();
    expect(await carried(at)).toBeGreaterThan(before);
    await talks.goOn();
    await talks.open('ipvs again', targets);
    expect(await program.end()).toBe(0);

    program = start('nftables');
    await program.inForce();
    await traffic.goesOn();
    const reports = await traffic.stop();
    expect(reports.map(({ failures }) => failures)).toEqual([{}, {}, {}]);
    for (const { answered, started } of reports) expect(answered).toBe(started);
    expect(reports.map(({ backends }) => Object.keys(backends).sort())).toEqual(
      [ENDPOINTS, ENDPOINTS, OTHER_ENDPOINTS].map((all) => all.map((one) => `${one}:8080`)),
    );
    expect({ ext: await repeatedSyns(at, 'ext'), client1: await repeatedSyns(at, 'client1') }).toEqual({
      ext: 0,
      client1: 0,
    });
    const { answered, failures } = await denied.stop();
    expect({ answered, failures }).toEqual({ answered: 0, failures: { timeout: expect.any(Number) } });

    await talks.goOn();
    await talks.close('ipvs');
    await until(() => program.said.includes('their last connection has ended'), 300_000);
    expect(await ipvsRemains(at)).toEqual([]);
    await talks.goOn();
    expect(talks.failures).toEqual([]);
    expect(await program.end()).toBe(0);
  }, 1_200_000);

  it('takes over from kube-proxy in IPVS mode', async () => {
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
