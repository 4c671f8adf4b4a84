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
import type { ObjectKey, ServiceValue, SliceValue } from '../cluster/values.ts';
import { type Command, type CommandResult, type CommandRunner, ToolError } from '../node/runner.ts';
import type { ServicePlan } from '../plan/plan.ts';
import { planService } from '../plan/service-plan.ts';
import type { Change } from '../reconcile/backend.ts';
import { type FlowCleanup, UdpFlowCleaner } from './cleaner.ts';

const DNS = buildService({ ports: [buildPort({ name: 'dns', protocol: 'UDP', port: 53 })] });
const WEB = buildService({ name: 'plain', clusterIPs: ['10.96.0.20'] });

/** A table in memory behind the words of the tool. What it is told to do before it answers may hold it up, or throw. */
class FakeConntrack implements CommandRunner {
  readonly ran: string[] = [];
  flows: (readonly [destination: string, answeredBy: string])[] = [];
  before: (argv: readonly string[], signal?: AbortSignal) => Promise<void> | void = () => undefined;

  async run({ argv, onStdout, signal }: Command): Promise<CommandResult> {
    this.ran.push(argv.join(' '));
    await this.before(argv, signal);
    if (signal?.aborted) throw new ToolError(argv, 'cancelled', undefined, '');
    if (argv[1] === '-L') {
      // In pieces that end anywhere.
      const text = this.flows.map(([to, by]) => listed(to, by)).join('');
      for (let at = 0; at < text.length; at += 100) onStdout?.(text.slice(at, at + 100));
      return {
        stdout: '',
        stderr: `conntrack v1.4.7 (conntrack-tools): ${this.flows.length} flow entries have been shown.\n`,
      };
    }
    const option = (name: string): string | undefined => argv.find((_, at) => argv[at - 1] === name);
    const kept = this.flows.filter(
      ([to, by]) =>
        to !== `${option('--orig-dst')} ${option('--orig-port-dst')}` ||
        (option('--reply-src') !== undefined &&
          by !== `${option('--reply-src')} ${option('--reply-port-src')}`),
    );
    const deleted = this.flows.length - kept.length;
    this.flows = kept;
    const stderr = `conntrack v1.4.7 (conntrack-tools): ${deleted} flow entries have been deleted.\n`;
    if (deleted === 0) throw new ToolError(argv, 'exit', 1, stderr);
    return { stdout: '', stderr };
  }

  count(verb: '-L' | '-D'): number {
    return this.ran.filter((command) => command.startsWith(`conntrack ${verb}`)).length;
  }
}

function listed(to: string, by: string): string {
  const [toAddress, toPort] = to.split(' ');
  const [byAddress, byPort] = by.split(' ');
  return `ipv4     2 udp      17 29 src=10.244.1.100 dst=${toAddress} sport=40000 dport=${toPort} src=${byAddress} dst=10.244.1.100 sport=${byPort} dport=40000 mark=0 use=1\n`;
}

let cleaner: UdpFlowCleaner | undefined;
afterEach(() => cleaner?.close());

/** A cleaner, the table it cleans, and the cluster that the proxy would have: `sync` is a sync that went through. */
function setUp() {
  const table = new FakeConntrack();
  const slices = new Map<ObjectKey, SliceValue>();
  const rounds: FlowCleanup[] = [];
  const said: string[] = [];
  const log = pino(
    { level: 'warn' },
    { write: (line) => said.push((JSON.parse(line) as { msg: string }).msg) },
  );
  const slicesOf = (key: ObjectKey): SliceValue[] =>
    [...slices.values()].filter((one) => `default/${one.serviceName}` === key);
  const own = new UdpFlowCleaner({
    runner: table,
    slicesOf,
    nodeAddresses: () => ['172.30.0.11'],
    log,
    cleaned: (round) => rounds.push(round),
    firstRetryMs: 1,
  });
  cleaner = own;
  const plans = (service: ServiceValue): ServicePlan[] =>
    planService(service, slicesOf(`${service.namespace}/${service.name}`), buildContext());
  return {
    table,
    rounds,
    said,
    cleaner: own,
    endpoints: (...addresses: string[]): void => {
      const endpoints = addresses.map((address) => buildEndpoint(address));
      slices.set(
        'default/web',
        buildSlice(endpoints, { ports: [{ name: 'dns', protocol: 'UDP', port: 8053 }] }),
      );
    },
    sync: (...services: ServiceValue[]): void => {
      const changed = new Map(services.map((service) => [`default/${service.name}`, plans(service)]));
      own.programmed({ node: buildNodePlan(), services: changed, full: false });
    },
    remove: (name: string): void => {
      own.programmed({ node: buildNodePlan(), services: new Map([[`default/${name}`, []]]), full: false });
    },
  };
}

/** A first sync in the other family, of a Service without endpoints. */
function ipv6(): Change {
  const service = buildService({ ...DNS, clusterIPs: ['fd00:10:96::a'] });
  const plans = planService(service, [], buildContext({ family: 'IPv6' }));
  return { node: buildNodePlan({ family: 'IPv6' }), services: new Map([['default/web', plans]]), full: true };
}

describe('UdpFlowCleaner', () => {
  it('lists once and deletes by endpoint, after the sync that it follows', async () => {
    const { table, rounds, endpoints, sync } = setUp();
    endpoints('10.244.1.2');
    table.flows = [
      ['10.96.0.10 53', '10.244.1.2 8053'],
      ['10.96.0.10 53', '10.244.1.9 8053'],
      ['10.96.0.10 53', '10.244.1.9 8053'],
      ['10.96.0.10 54', '10.244.1.9 8053'],
    ];
    sync(DNS);
    expect(table.ran).toEqual([]);
    await until(() => rounds.length === 1);
    expect(table.ran).toEqual([
      'conntrack -L -p udp -f ipv4 -o extended',
      'conntrack -D -p udp -f ipv4 --orig-dst 10.96.0.10 --orig-port-dst 53 --reply-src 10.244.1.9 --reply-port-src 8053',
    ]);
    expect(table.flows).toEqual([
      ['10.96.0.10 53', '10.244.1.2 8053'],
      ['10.96.0.10 54', '10.244.1.9 8053'],
    ]);
    expect(rounds).toEqual([{ family: 'IPv4', listed: 4, deleted: 2, seconds: expect.any(Number) }]);
  });

  it('asks in the words of IPv6 for IPv6', async () => {
    const { table, cleaner: own } = setUp();
    table.flows = [['fd00:10:96::a 53', 'fd00:244:1::9 8053']];
    own.programmed(ipv6());
    await until(() => table.count('-D') === 1);
    expect(table.ran).toEqual([
      'conntrack -L -p udp -f ipv6 -o extended',
      'conntrack -D -p udp -f ipv6 --orig-dst fd00:10:96::a --orig-port-dst 53',
    ]);
  });

  it('does nothing where no UDP is concerned', async () => {
    const { table, rounds, sync, remove } = setUp();
    sync(WEB);
    remove('plain');
    sync(DNS);
    await until(() => rounds.length === 1);
    sync(WEB);
    sync(DNS);
    await until(() => rounds.length === 2);
    expect(table.count('-L')).toBe(2);
  });

  it('has one round under way, and one more for all that came meanwhile', async () => {
    const { table, rounds, endpoints, sync } = setUp();
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    table.before = () => held;
    endpoints('10.244.1.2', '10.244.1.3');
    table.flows = [['10.96.0.10 53', '10.244.1.3 8053']];
    sync(DNS);
    await until(() => table.count('-L') === 1);
    for (const addresses of [['10.244.1.3'], ['10.244.1.2', '10.244.1.3'], ['10.244.1.2']]) {
      endpoints(...addresses);
      sync(DNS);
    }
    release();
    await until(() => rounds.length === 2);
    expect(rounds.map(({ deleted }) => deleted)).toEqual([0, 1]);
    expect(table.count('-L')).toBe(2);
    expect(table.flows).toEqual([]);
  });

  it.for([{ verb: '-L' }, { verb: '-D' }] as const)(
    'tries again by itself when $verb fails, and has forgotten nothing',
    async ({ verb }) => {
      const { table, rounds, said, endpoints, sync, remove } = setUp();
      endpoints('10.244.1.2');
      sync(DNS);
      await until(() => rounds.length === 1);
      let failures = 0;
      table.before = (argv) => {
        if (argv[1] !== verb || failures === 3) return;
        failures += 1;
        throw new ToolError(
          argv,
          'exit',
          1,
          'conntrack v1.4.7 (conntrack-tools): Operation failed: Interrupted system call\n',
        );
      };
      table.flows = [['10.96.0.10 53', '10.244.1.2 8053']];
      remove('web');
      await until(() => rounds.length === 2);
      expect(failures).toBe(3);
      expect(rounds[1]?.deleted).toBe(1);
      expect(table.flows).toEqual([]);
      expect(said).toEqual([
        'Stale UDP flows could not be deleted; nothing is forgotten, it will be tried again',
      ]);
    },
  );

  it('looks at a front end that is no more until a round has gone through, and then no longer', async () => {
    const { table, rounds, endpoints, sync, remove } = setUp();
    const other = buildService({ ...DNS, name: 'other', clusterIPs: ['10.96.0.11'] });
    endpoints('10.244.1.2');
    sync(DNS, other);
    await until(() => rounds.length === 1);
    remove('web');
    await until(() => rounds.length === 2);
    table.flows = [['10.96.0.10 53', '10.244.1.2 8053']];
    sync(other);
    await until(() => rounds.length === 3);
    expect(rounds[2]?.deleted).toBe(0);
    expect(table.flows).toHaveLength(1);
  });

  it('takes what a full sync no longer names for gone', async () => {
    const { table, rounds, cleaner: own, endpoints, sync } = setUp();
    endpoints('10.244.1.2');
    sync(DNS);
    await until(() => rounds.length === 1);
    table.flows = [['10.96.0.10 53', '10.244.1.2 8053']];
    own.programmed({ node: buildNodePlan(), services: new Map(), full: true });
    await until(() => rounds.length === 2);
    expect(table.flows).toEqual([]);
  });

  it('spares the flows of an endpoint that came back while others were deleted', async () => {
    const { table, rounds, endpoints, sync } = setUp();
    endpoints('10.244.1.2');
    const gone = ['10.244.1.3', '10.244.1.4', '10.244.1.5'];
    table.flows = gone.map((address) => ['10.96.0.10 53', `${address} 8053`]);
    table.before = (argv) => {
      if (argv[1] !== '-D') return;
      endpoints('10.244.1.2', ...gone);
      sync(DNS);
    };
    sync(DNS);
    await until(() => rounds.length === 2);
    // The one whose deletion had begun.
    expect(rounds.map(({ deleted }) => deleted)).toEqual([1, 0]);
    expect(table.flows).toHaveLength(2);
  });

  it('minds nothing that is gone by itself before it is deleted', async () => {
    const { table, rounds, said, endpoints, sync } = setUp();
    endpoints('10.244.1.2');
    table.flows = [['10.96.0.10 53', '10.244.1.9 8053']];
    table.before = (argv) => {
      if (argv[1] === '-D') table.flows = [];
    };
    sync(DNS);
    await until(() => rounds.length === 1);
    expect(rounds[0]?.deleted).toBe(0);
    expect(said).toEqual([]);
  });

  it('says once that the tool is missing, and works when it is there', async () => {
    const { table, rounds, said, cleaner: own, endpoints, sync } = setUp();
    endpoints('10.244.1.2');
    table.flows = [['10.96.0.10 53', '10.244.1.9 8053']];
    table.before = (argv) => {
      throw new ToolError(argv, 'missing', undefined, '');
    };
    for (const tries of [1, 2, 3]) {
      sync(DNS);
      await until(() => table.count('-L') === tries);
    }
    own.programmed(ipv6());
    await until(() => table.ran.some((command) => command.includes('ipv6')));
    await until(() => said.length === 1);
    expect(said).toEqual([
      'There is no program conntrack; install the package conntrack (conntrack-tools). Until then UDP clients that keep their port stay with endpoints that are gone',
    ]);
    table.before = () => undefined;
    sync(DNS);
    await until(() => rounds.length === 1);
    expect(table.flows).toEqual([]);
  });

  it('ends what is under way when it is closed, saying nothing', async () => {
    const { table, rounds, said, cleaner: own, sync } = setUp();
    table.before = (_, signal) =>
      new Promise((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
    table.flows = [['10.96.0.10 53', '10.244.1.9 8053']];
    sync(DNS);
    await until(() => table.count('-L') === 1);
    await own.close();
    expect({ rounds, said, flows: table.flows.length }).toEqual({ rounds: [], said: [], flows: 1 });
  });
});
