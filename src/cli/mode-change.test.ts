import { pino } from 'pino';
import { expect, test } from 'vitest';
import { until } from '../../test/support/until.ts';
import { IP_FAMILIES } from '../cluster/values.ts';
import type { Backend, ProxyMode, Retreat } from '../reconcile/backend.ts';
import { ModeChange } from './mode-change.ts';

/** A change to a mode, with back ends whose retreats come from a script. */
class Bench {
  /** `ipvs IPv4 for iptables`, in the order of calls. */
  readonly calls: string[] = [];
  readonly said: string[] = [];
  readonly change: ModeChange;
  readonly #retreats: Record<string, (Retreat | Error)[]>;

  constructor(mode: ProxyMode, retreats: Record<string, (Retreat | Error)[]> = {}) {
    this.#retreats = retreats;
    this.change = new ModeChange({
      mode,
      families: IP_FAMILIES,
      createBackend: async (other, family) => this.#backend(`${other} ${family}`, other),
      periodMs: 1,
      log: pino({ level: 'info' }, { write: (line) => this.said.push(JSON.parse(line).msg) }),
    });
  }

  #backend(name: string, mode: ProxyMode): Backend {
    const part: Pick<Backend, 'mode' | 'family' | 'giveWay'> = {
      mode,
      family: name.endsWith('IPv4') ? 'IPv4' : 'IPv6',
      giveWay: async (successor) => {
        this.calls.push(`${name} for ${successor}`);
        const retreat = this.#retreats[name]?.shift() ?? { leftovers: [], waiting: [] };
        if (retreat instanceof Error) throw retreat;
        return retreat;
      },
    };
    return part as Backend;
  }
}

const WAITING: Retreat = { leftovers: [], waiting: ['virtual server -t 10.96.0.10:80'] };

test('other modes give way once all families are in force, iptables mode before IPVS mode', async () => {
  const bench = new Bench('nftables');
  bench.change.synced({ family: 'IPv6' });
  bench.change.synced({ family: 'IPv6' });
  await new Promise(setImmediate);
  expect(bench.calls).toEqual([]);
  bench.change.synced({ family: 'IPv4' });
  await bench.change.done;
  expect(bench.calls).toEqual([
    'iptables IPv4 for nftables',
    'iptables IPv6 for nftables',
    'ipvs IPv4 for nftables',
    'ipvs IPv6 for nftables',
  ]);
  expect(bench.said).toEqual(['Other proxy modes have given way']);
});

test.each<[ProxyMode, ProxyMode[]]>([
  ['iptables', ['nftables', 'ipvs']],
  // A retreat of its own that did not come to its end is over.
  ['ipvs', ['nftables', 'iptables', 'ipvs']],
])('%s mode makes the others give way', async (mode, others) => {
  const bench = new Bench(mode);
  for (const family of IP_FAMILIES) bench.change.synced({ family });
  await bench.change.done;
  expect(bench.calls).toEqual(
    others.flatMap((other) => IP_FAMILIES.map((family) => `${other} ${family} for ${mode}`)),
  );
});

test('what waits for connections is looked at again until nothing does', async () => {
  const bench = new Bench('iptables', { 'ipvs IPv4': [WAITING, WAITING, WAITING] });
  for (const family of IP_FAMILIES) bench.change.synced({ family });
  await bench.change.done;
  expect(bench.calls.slice(4)).toEqual(Array(3).fill('ipvs IPv4 for iptables'));
  expect(bench.said).toEqual([
    'What connections of another proxy mode go through is removed when they have ended',
    'Other proxy modes have given way: their last connection has ended',
  ]);
});

test('when it is stopped, what waits stays', async () => {
  const bench = new Bench('iptables', { 'ipvs IPv6': Array(1000).fill(WAITING) });
  for (const family of IP_FAMILIES) bench.change.synced({ family });
  await bench.change.passed;
  await until(() => bench.calls.length > 6);
  await bench.change.stop();
  const count = bench.calls.length;
  await new Promise((wake) => setTimeout(wake, 20));
  expect(bench.calls).toHaveLength(count);
  expect(bench.said).not.toContain('Other proxy modes have given way: their last connection has ended');
});

test('stopped before anything is in force, it has nothing to do', async () => {
  const bench = new Bench('ipvs');
  bench.change.synced({ family: 'IPv4' });
  await bench.change.stop();
  expect(bench.calls).toEqual([]);
});

test('what cannot be removed is said once, and keeps nobody waiting', async () => {
  const held = { object: 'chain KUBE-MARK-MASQ', reason: 'CNI-HOSTPORT leads to it' };
  const retreat: Retreat = { leftovers: [held], waiting: ['virtual server -t 10.96.0.10:80'] };
  const bench = new Bench('nftables', {
    // Each pass looks twice at what was left.
    'ipvs IPv4': [retreat, retreat, retreat, retreat],
    'iptables IPv4': [new Error('the lock is held'), new Error('the lock is held')],
  });
  for (const family of IP_FAMILIES) bench.change.synced({ family });
  await bench.change.done;
  const left = 'Something of another proxy mode could not be removed';
  expect(bench.said.filter((message) => message === left)).toHaveLength(2);
});
