/** Metrics of iptables mode alone: how many rules there are, and what its packet counters have counted. */
import type { IpFamily } from '../cluster/values.ts';
import type { CommandRunner } from '../node/runner.ts';
import type { Backend, Step } from '../reconcile/backend.ts';
import { Counter, Gauge } from './metric.ts';
import type { Registry } from './registry.ts';

/** kube-proxy counts in these two tables. */
const TABLES = ['nat', 'filter'] as const;
type Table = (typeof TABLES)[number];

const LABELS = ['table', 'ip_family'] as const;

export class IptablesMetrics {
  readonly #total = new Gauge(
    'kubeproxy_sync_proxy_rules_iptables_total',
    '[ALPHA] Rules of ours in the table',
    LABELS,
  );
  readonly #last = new Gauge(
    'kubeproxy_sync_proxy_rules_iptables_last',
    '[ALPHA] Rules written by the last sync',
    LABELS,
  );
  readonly #written = new Map<IpFamily, Map<Table, number>>();
  readonly #counts = new Map<IpFamily, () => ReadonlyMap<string, number>>();

  constructor(registry: Registry) {
    registry.register(this.#total, this.#last);
  }

  /** The same back end, which is counted from now on. */
  counted(backend: Backend): Backend {
    const { family } = backend;
    this.#counts.set(family, () => backend.ruleCounts?.() ?? new Map());
    return {
      mode: backend.mode,
      family,
      probe: () => backend.probe(),
      observe: () => backend.observe(),
      audit: () => backend.audit(),
      diff: (change) => backend.diff(change),
      collect: () => backend.collect(),
      check: (step) => backend.check(step),
      apply: async (step) => {
        await backend.apply(step);
        this.#count(family, step);
      },
      cleanup: () => backend.cleanup(),
    };
  }

  synced({ family }: { readonly family: IpFamily }): void {
    const written = this.#written.get(family);
    const total = this.#counts.get(family)?.();
    for (const table of TABLES) {
      const labels = { table, ip_family: family };
      this.#last.set(labels, written?.get(table) ?? 0);
      this.#total.set(labels, total?.get(table) ?? 0);
    }
    this.#written.delete(family);
  }

  failed(family: IpFamily): void {
    this.#written.delete(family);
  }

  #count(family: IpFamily, { stdin }: Step): void {
    const written = this.#written.get(family) ?? new Map<Table, number>();
    this.#written.set(family, written);
    let table: Table | undefined;
    for (const line of stdin) {
      if (line.startsWith('*')) table = TABLES.find((name) => line.trim() === `*${name}`);
      else if (table && (line.startsWith('-A ') || line.startsWith('-I '))) {
        written.set(table, (written.get(table) ?? 0) + 1);
      }
    }
  }
}

/** Each asks a process; however often metrics are read, it is asked no more often than this. */
const COUNTERS_AGE_MS = 5000;

const PACKET_COUNTERS = [
  [
    'ct_state_invalid_dropped_pkts',
    'kubeproxy_iptables_ct_state_invalid_dropped_packets_total',
    '[ALPHA] Packets dropped because connection tracking could make nothing of them',
  ],
  [
    'localhost_nps_accepted_pkts',
    'kubeproxy_iptables_localhost_nodeports_accepted_packets_total',
    '[ALPHA] Packets to node ports on 127.0.0.1',
  ],
] as const;

/** Registers what the kernel's packet accounting has counted. Without it, or without `nfacct`, there is nothing. */
export function registerPacketCounters(registry: Registry, runner: CommandRunner): void {
  const counters = PACKET_COUNTERS.map(([object, name, help]) => ({
    object,
    counter: new Counter(name, help, []),
  }));
  registry.register(...counters.map(({ counter }) => counter));
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;
  const ask = async () => {
    askedAt = performance.now();
    try {
      const { stdout } = await runner.run({ argv: ['nfacct', 'list'], timeoutMs: 2000 });
      const packets = readCounters(stdout);
      for (const { object, counter } of counters) {
        const count = packets.get(object);
        if (count !== undefined) counter.set({}, count);
      }
    } catch {
      // Counters are for who has them.
    } finally {
      asking = undefined;
    }
  };
  registry.beforeReading(() => {
    if (!asking && performance.now() - askedAt >= COUNTERS_AGE_MS) asking = ask();
    return asking;
  });
}

/** Packets by object: `{ pkts = 00000000000000000042, bytes = 00000000000000004200 } = name;`. */
export function readCounters(listing: string): Map<string, number> {
  const lines = listing.matchAll(/pkts = (\d+), bytes = \d+ \} = (\S+?);/g);
  return new Map(Array.from(lines, ([, packets = '', name = '']) => [name, Number(packets)]));
}
