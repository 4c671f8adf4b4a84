/**
 * How long a new connection takes to the first, the middle and the last of many Services, by mode: iptables with
 * one chain for all of them, iptables with that chain split, and nftables.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { parseArgs } from 'node:util';
import { createIptablesBackend } from '../backends/iptables/backend.ts';
import { createNftablesBackend } from '../backends/nftables/backend.ts';
import { createRunner } from '../src/node/runner.ts';
import type { ServicePlan } from '../src/plan/plan.ts';
import { planService } from '../src/plan/service-plan.ts';
import type { Backend } from '../src/reconcile/backend.ts';
import {
  buildContext,
  buildEndpoint,
  buildNodePlan,
  buildService,
  buildSlice,
} from '../test/support/build.ts';
import { type Latency, plotLatency } from './plot.ts';
import { median, printTable } from './report.ts';

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '10,1000,10000' },
    /** Writes the plot there. */
    svg: { type: 'string' },
    connections: { type: 'string', default: '400' },
  },
});
const CONNECTIONS = Number(values.connections);
/** The modes take turns so often, each making its share of the connections: what slows the machine slows all. */
const TURNS = 8;
const ENDPOINT = '10.199.0.1';
const PORT = 8080;
const runner = createRunner();

const MODES: Readonly<Record<string, () => Backend>> = {
  'iptables, one chain': () => createIptablesBackend({ family: 'IPv4', runner, dispatch: 'flat' }),
  'iptables, split': () => createIptablesBackend({ family: 'IPv4', runner, dispatch: 'split' }),
  nftables: () => createNftablesBackend({ family: 'IPv4', runner }),
};

function clusterIP(index: number): string {
  return `10.${97 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
}

/** Names are in the order of the numbers, and so are the rules. */
function plansOf(count: number): Map<string, readonly ServicePlan[]> {
  const context = buildContext();
  const plans = new Map<string, readonly ServicePlan[]>();
  for (let index = 0; index < count; index++) {
    const name = `svc-${String(index).padStart(6, '0')}`;
    const service = buildService({ name, clusterIPs: [clusterIP(index)] });
    const slice = buildSlice([buildEndpoint(ENDPOINT)], { serviceName: name });
    plans.set(`default/${name}`, planService(service, [slice], context));
  }
  return plans;
}

async function apply(backend: Backend, count: number): Promise<void> {
  await backend.observe();
  const diff = backend.diff({ node: buildNodePlan(), services: plansOf(count), full: true });
  for (const step of diff.steps) await backend.apply(step);
  diff.commit();
}

async function connectOnce(host: string): Promise<number> {
  const started = performance.now();
  const socket = connect({ host, port: 80 });
  await once(socket, 'connect');
  const seconds = (performance.now() - started) / 1000;
  socket.resetAndDestroy();
  return seconds;
}

/** Seconds that connections to each of these Services took, made in turns. */
async function measure(indices: readonly number[], connections: number): Promise<number[][]> {
  const times = indices.map((): number[] => []);
  for (let round = -20; round < connections; round++) {
    for (const [position, index] of indices.entries()) {
      const seconds = await connectOnce(clusterIP(index));
      if (round >= 0) times[position]?.push(seconds);
    }
  }
  return times;
}

/** All modes at one size, each programmed anew at each of its turns. */
async function measureSize(services: number): Promise<Latency[]> {
  const times = new Map(Object.keys(MODES).map((mode) => [mode, [[], [], []] as number[][]]));
  for (let turn = 0; turn < TURNS; turn++) {
    for (const [mode, create] of Object.entries(MODES)) {
      console.error(`${services.toLocaleString('en')} Services, ${mode}, turn ${turn + 1} of ${TURNS} …`);
      const backend = create();
      await apply(backend, services);
      const indices = [0, services >> 1, services - 1];
      const measured = await measure(indices, Math.ceil(CONNECTIONS / TURNS));
      for (const [position, seconds] of measured.entries()) times.get(mode)?.[position]?.push(...seconds);
      await backend.cleanup();
    }
  }
  return Array.from(times, ([mode, positions]) => {
    const [first = 0, middle = 0, last = 0] = positions.map(median);
    return { mode, services, first, middle, last };
  });
}

function print(results: readonly Latency[]): void {
  const microseconds = (seconds: number): string => `${(seconds * 1e6).toFixed(0)} µs`;
  printTable(
    ['Services', 'mode', 'first', 'middle', 'last', 'last by nftables'],
    results.map(({ mode, services, first, middle, last }) => {
      const nftables = results.find((other) => other.services === services && other.mode === 'nftables');
      return [
        services.toLocaleString('en'),
        mode,
        microseconds(first),
        microseconds(middle),
        microseconds(last),
        nftables ? `${(last / nftables.last).toFixed(2)}×` : '',
      ];
    }),
  );
}

async function main(): Promise<void> {
  for (const argv of [
    ['ip', 'address', 'add', `${ENDPOINT}/32`, 'dev', 'lo'],
    ['ip', 'route', 'add', '10.96.0.0/11', 'dev', 'lo'],
  ] as const) {
    await runner.run({ argv });
  }
  const server = createServer((socket) => socket.on('error', () => undefined)).listen(PORT, ENDPOINT);
  await once(server, 'listening');
  const results: Latency[] = [];
  // The first thousand connections of a process take longer, whatever the rules.
  await apply(createNftablesBackend({ family: 'IPv4', runner }), 1);
  await measure([0], 1000);
  await createNftablesBackend({ family: 'IPv4', runner }).cleanup();
  for (const services of values.sizes.split(',').map(Number)) {
    results.push(...(await measureSize(services)));
  }
  server.close();
  print(results);
  if (values.svg !== undefined) await writeFile(values.svg, plotLatency(results));
}

await main();
