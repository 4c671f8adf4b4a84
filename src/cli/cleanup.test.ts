import { expect, test } from 'vitest';
import { IptablesNotFoundError } from '../node/iptables-variant.ts';
import { ToolError } from '../node/runner.ts';
import type { Backend, Leftover, ProxyMode, Retreat } from '../reconcile/backend.ts';
import { cleanUp, giveWay } from './cleanup.ts';

/** A back end whose `cleanup` does one after the other. */
function backend(mode: ProxyMode, ...outcomes: (readonly Leftover[] | Error)[]) {
  let calls = 0;
  const unused = () => {
    throw new Error('only cleanup is to be called');
  };
  const made: Backend & { readonly calls: () => number } = {
    mode,
    family: 'IPv4',
    probe: unused,
    observe: unused,
    audit: unused,
    diff: unused,
    collect: unused,
    check: unused,
    apply: unused,
    async cleanup() {
      const outcome = outcomes[Math.min(calls++, outcomes.length - 1)] ?? [];
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    calls: () => calls,
  };
  return made;
}

const HELD = [{ object: 'chain KUBE-MARK-MASQ', reason: 'CNI-HOSTPORT jumps to it' }];

test('all are cleaned, and once is enough where nothing is left', async () => {
  const backends = [backend('iptables', []), backend('ipvs', []), backend('nftables', [])];
  expect(await cleanUp(backends)).toEqual({ leftovers: [], skipped: [] });
  expect(backends.map(({ calls }) => calls())).toEqual([1, 1, 1]);
});

test('what another mode held on to goes in the second round', async () => {
  const backends = [backend('iptables', HELD, []), backend('ipvs', [])];
  expect(await cleanUp(backends)).toEqual({ leftovers: [], skipped: [] });
  expect(backends.map(({ calls }) => calls())).toEqual([2, 1]);
});

test('what stays is named with its mode, and does not keep the others from going', async () => {
  const failed = new ToolError(['nft', '-f', '-'], 'exit', 1, 'Operation not permitted');
  const backends = [backend('iptables', HELD), backend('nftables', failed), backend('ipvs', [])];
  expect(await cleanUp(backends)).toEqual({
    leftovers: [
      { object: 'chain KUBE-MARK-MASQ (iptables IPv4)', reason: 'CNI-HOSTPORT jumps to it' },
      { object: 'rules (nftables IPv4)', reason: 'nft -f -: exit code 1: Operation not permitted' },
    ],
    skipped: [],
  });
  expect(backends.map(({ calls }) => calls())).toEqual([2, 2, 1]);
});

test('a tool that is not installed and a kernel without IPVS have nothing of ours', async () => {
  const noIpvs =
    "Can't initialize ipvs: Protocol not available\nAre you sure that IP Virtual Server is built in the kernel or as module?\n";
  expect(
    await cleanUp([
      backend('iptables', new IptablesNotFoundError('install it')),
      backend('ipvs', new ToolError(['ipvsadm', '-Sn'], 'exit', 2, noIpvs)),
      backend('nftables', new ToolError(['nft', '-f', '-'], 'missing', undefined, '')),
    ]),
  ).toEqual({
    leftovers: [],
    skipped: [
      'iptables IPv4: iptables is not installed',
      'ipvs IPv4: the kernel has no IPVS',
      'nftables IPv4: nft is not installed',
    ],
  });
});

test('a kernel without nf_tables has no tables of ours', async () => {
  const stderr = '/dev/stdin:1:1-24: Error: Could not process rule: Operation not supported\n';
  const without = backend('nftables', new ToolError(['nft', '-f', '-'], 'exit', 1, stderr));
  expect(await cleanUp([without])).toEqual({
    leftovers: [],
    skipped: ['nftables IPv4: the kernel has no nf_tables'],
  });
});

test('giving way, a back end that shares nothing is cleaned up, and others say what waits', async () => {
  const successors: ProxyMode[] = [];
  const retreating = (...retreats: Retreat[]): Backend => ({
    ...backend('ipvs', new Error('only giveWay is to be called')),
    async giveWay(successor) {
      successors.push(successor);
      return retreats.shift() ?? { leftovers: [], waiting: [] };
    },
  });
  const nftables = backend('nftables', []);
  const busy = retreating({ leftovers: [], waiting: ['address 10.96.0.1'] });
  // What held it in the first round is gone in the second, and the connections as well.
  const held = retreating({ leftovers: HELD, waiting: ['address 10.96.0.1'] });
  const { leftovers, skipped, waiting } = await giveWay([nftables, busy, held], 'iptables');
  expect({ leftovers, skipped }).toEqual({ leftovers: [], skipped: [] });
  expect([...waiting]).toEqual([[busy, ['address 10.96.0.1']]]);
  expect(nftables.calls()).toBe(1);
  expect(successors).toEqual(['iptables', 'iptables', 'iptables']);
});
