/** The loop's promises, on a back end that writes to memory and refuses what a test tells it to. */
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import {
  buildContext,
  buildEndpoint,
  buildNodePlan,
  buildPort,
  buildService,
  buildSlice,
} from '../../test/support/build.ts';
import { until } from '../../test/support/until.ts';
import { Cluster } from '../cluster/cluster.ts';
import type { ObjectKey, ServiceValue } from '../cluster/values.ts';
import { ToolError } from '../node/runner.ts';
import type { NodePlan, ServicePlan } from '../plan/plan.ts';
import type { Backend, Change, Diff, Leftover, Probe, Step } from './backend.ts';
import type { SyncReport } from './observer.ts';
import { Reconciler } from './reconciler.ts';

/** Keeps the ports of each Service, as if they were rules. */
class MemoryBackend implements Backend {
  readonly mode = 'nftables';
  readonly family = 'IPv4';
  readonly rules = new Map<ObjectKey, readonly number[]>();
  readonly changes: Change[] = [];
  observations = 0;
  audits = 0;
  /** Throws to refuse. */
  refuse: (services: ReadonlyMap<ObjectKey, readonly ServicePlan[]>) => void = () => undefined;
  /** Held up until it resolves. */
  gate: Promise<void> = Promise.resolve();
  missing: readonly string[] = [];

  async probe(): Promise<Probe> {
    return { usable: true, versions: {}, missing: [] };
  }
  async observe(): Promise<void> {
    this.observations += 1;
  }
  async audit(): Promise<readonly string[]> {
    this.audits += 1;
    const missing = this.missing;
    this.missing = [];
    return missing;
  }
  diff(change: Change): Diff {
    return { steps: [new MemoryStep(change)], commit: () => this.#commit(change) };
  }
  collect(): Diff {
    return { steps: [], commit: () => undefined };
  }
  async check(step: Step): Promise<void> {
    this.refuse((step as MemoryStep).change.services);
  }
  async apply(step: Step): Promise<void> {
    const { change } = step as MemoryStep;
    await this.gate;
    this.refuse(change.services);
    this.changes.push(change);
  }
  async cleanup(): Promise<readonly Leftover[]> {
    return [];
  }

  #commit({ full, services }: Change): void {
    if (full) this.rules.clear();
    for (const [key, plans] of services) {
      if (plans.length === 0) this.rules.delete(key);
      else
        this.rules.set(
          key,
          plans.flatMap((plan) => plan.frontEnds.map(({ port }) => port)),
        );
    }
  }
}

class MemoryStep implements Step {
  readonly argv = ['memory'] as const;
  readonly stdin: readonly string[];
  readonly change: Change;
  constructor(change: Change) {
    this.change = change;
    this.stdin = [...change.services.keys()].map((key) => `${key}\n`);
  }
  get services(): readonly ObjectKey[] {
    return [...this.change.services.keys()];
  }
  serviceOfLine(line: number): ObjectKey | undefined {
    return this.services[line - 1];
  }
}

function toolError(stderr: string): ToolError {
  return new ToolError(['memory'], 'exit', 1, stderr);
}

function service(name: string, port = 80): ServiceValue {
  return buildService({ name, clusterIPs: [`10.96.0.${name.charCodeAt(0)}`], ports: [buildPort({ port })] });
}

function setUp(timing: { syncPeriodMs?: number } = {}) {
  const backend = new MemoryBackend();
  const cluster = new Cluster();
  const reports: SyncReport[] = [];
  const failures: Error[] = [];
  const setAside: string[] = [];
  const readmitted: string[] = [];
  let node: NodePlan = buildNodePlan();
  const reconciler = new Reconciler({
    backends: [backend],
    feed: cluster,
    input: {
      service: (key) => cluster.service(key),
      slicesOf: (key) => cluster.slicesOf(key),
      serviceKeys: () => cluster.serviceKeys(),
      context: () => buildContext(),
      nodePlan: () => node,
    },
    timing: { minIntervalMs: 1, syncPeriodMs: timing.syncPeriodMs ?? 60_000, fullPeriodMs: 3_600_000 },
    log: pino({ level: 'silent' }),
    observers: [
      {
        synced: (report) => reports.push(report),
        failed: (_, error) => failures.push(error),
        setAside: (_, key) => setAside.push(key),
        readmitted: (_, key) => readmitted.push(key),
      },
    ],
  });
  const over = new AbortController();
  const done = reconciler.run(over.signal);
  stops.push(async () => {
    over.abort();
    await done;
  });
  return {
    backend,
    cluster,
    reports,
    failures,
    setAside,
    readmitted,
    setNode: (fields: Partial<NodePlan>) => {
      node = buildNodePlan(fields);
    },
    list: (...services: ServiceValue[]) => {
      cluster.replace('Service', new Map(services.map((one) => [`default/${one.name}`, one])));
      cluster.replace('EndpointSlice', new Map());
    },
  };
}

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

describe('a reconciler', () => {
  it('writes nothing before every kind is listed, then everything at once', async () => {
    const { backend, cluster, reports } = setUp();
    cluster.replace('Service', new Map([['default/a', service('a')]]));
    await until(() => backend.observations === 1);
    expect(backend.changes).toEqual([]);
    cluster.replace('EndpointSlice', new Map());
    await until(() => reports.length === 1);
    expect(backend.changes).toMatchObject([{ full: true }]);
    expect([...backend.rules]).toEqual([['default/a', [80]]]);
    // It was read while listing, and not again.
    expect(backend.observations).toBe(1);
  });

  it('gathers what changes during a sync for the next one, and touches nothing else', async () => {
    const { backend, cluster, reports, list } = setUp();
    list(service('a'), service('b'), service('c'));
    await until(() => reports.length === 1);
    let open: () => void = () => undefined;
    backend.gate = new Promise((resolve) => {
      open = resolve;
    });
    cluster.upsert(service('a', 81));
    await until(() => reports.length === 1 && cluster.service('default/a')?.ports[0]?.port === 81);
    for (const port of [81, 82, 83]) cluster.upsert(service('b', port));
    cluster.remove('Service', 'default/c');
    open();
    await until(() => backend.rules.get('default/b')?.[0] === 83 && !backend.rules.has('default/c'));
    const later = backend.changes.slice(1);
    expect(later.every(({ full }) => !full)).toBe(true);
    expect(later.length).toBeLessThanOrEqual(3);
    expect([...backend.rules]).toEqual([
      ['default/a', [81]],
      ['default/b', [83]],
    ]);
  });

  it('forgets nothing of a sync that failed', async () => {
    const { backend, cluster, reports, failures, list } = setUp();
    list(service('a'), service('b'));
    await until(() => reports.length === 1);
    let broken = true;
    backend.refuse = () => {
      if (broken) throw toolError('the lock is held');
    };
    cluster.upsert(service('a', 81));
    await until(() => failures.length > 0);
    cluster.remove('Service', 'default/b');
    broken = false;
    await until(() => backend.rules.size === 1);
    expect([...backend.rules]).toEqual([['default/a', [81]]]);
    // Whatever the kernel holds after a failure is read, not believed.
    expect(backend.observations).toBeGreaterThan(1);
  });

  it.for([
    {
      how: 'by the line that the tool complains of',
      says: (index: number) => `/dev/stdin:${index + 1}:1-2: Error`,
    },
    { how: 'by trying halves', says: () => 'no' },
  ])('sets aside the Service at fault, found $how, and programs the others', async ({ says }) => {
    const { backend, cluster, reports, setAside, readmitted, list } = setUp();
    backend.refuse = (services) => {
      const index = [...services].findIndex(([, plans]) =>
        plans.some((plan) => plan.frontEnds.some(({ port }) => port === 666)),
      );
      if (index >= 0) throw toolError(says(index));
    };
    list(service('a'), service('b', 666), service('c'), service('d'), service('e'));
    await until(() => reports.length === 1);
    expect(setAside).toEqual(['default/b']);
    expect([...backend.rules.keys()]).toEqual(['default/a', 'default/c', 'default/d', 'default/e']);
    // Others go on changing: the one set aside is not tried for that.
    cluster.upsert(service('a', 81));
    await until(() => backend.rules.get('default/a')?.[0] === 81);
    expect(setAside).toEqual(['default/b']);
    cluster.upsert(service('b', 82));
    await until(() => backend.rules.get('default/b')?.[0] === 82);
    expect(readmitted).toEqual(['default/b']);
  });

  it('lets a Service keep what it had when its change is refused', async () => {
    const { backend, cluster, reports, setAside, list } = setUp();
    list(service('a'), service('b'));
    await until(() => reports.length === 1);
    backend.refuse = (services) => {
      if (services.get('default/b')?.[0]?.frontEnds[0]?.port === 666) throw toolError('no');
    };
    cluster.upsert(service('b', 666));
    await until(() => setAside.length === 1);
    cluster.upsert(service('a', 81));
    await until(() => backend.rules.get('default/a')?.[0] === 81);
    expect(backend.rules.get('default/b')).toEqual([80]);
  });

  it('audits on time though the cluster never rests, and puts back what was taken', async () => {
    const { backend, cluster, reports, list } = setUp({ syncPeriodMs: 50 });
    list(service('a'));
    await until(() => reports.length === 1);
    let port = 1000;
    const restless = setInterval(() => cluster.upsert(service('a', port++)), 5);
    try {
      await until(() => backend.audits >= 2);
      const before = backend.observations;
      backend.missing = ['chain services'];
      await until(() => backend.observations > before);
    } finally {
      clearInterval(restless);
    }
    expect(backend.changes.some(({ full }, index) => full && index > 0)).toBe(true);
  });

  it('writes everything anew when the node changes without the API saying so', async () => {
    const { backend, reports, setNode, list } = setUp({ syncPeriodMs: 50 });
    list(service('a'));
    await until(() => reports.length === 1);
    setNode({ nodePortAddresses: ['172.30.0.12'] });
    await until(() => reports.length === 2);
    expect(backend.changes[1]).toMatchObject({ full: true, node: { nodePortAddresses: ['172.30.0.12'] } });
  });

  it('does not lose a change of the node that comes during a sync', async () => {
    const { backend, cluster, reports, setNode, list } = setUp();
    list(service('a'));
    await until(() => reports.length === 1);
    let open: () => void = () => undefined;
    backend.gate = new Promise((resolve) => {
      open = resolve;
    });
    cluster.upsert(service('a', 81));
    await until(() => cluster.service('default/a')?.ports[0]?.port === 81);
    setNode({ serviceCIDRs: ['10.112.0.0/12'] });
    cluster.upsert({ kind: 'ServiceCIDR', name: 'more', cidrs: ['10.112.0.0/12'] });
    open();
    await until(() =>
      backend.changes.some(({ full, node }) => full && node.serviceCIDRs[0] === '10.112.0.0/12'),
    );
  });

  it('notes when the change it writes was caused', async () => {
    const { cluster, reports, list } = setUp();
    list(service('a'));
    await until(() => reports.length === 1);
    cluster.upsert(
      buildSlice([buildEndpoint('10.244.1.2')], { name: 'a-1', serviceName: 'a', lastChangeAt: 1234 }),
    );
    await until(() => reports.length === 2);
    expect(reports[1]?.changedAt).toEqual([1234]);
  });
});
