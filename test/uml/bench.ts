/**
 * What IPVS mode costs beside the bare tools, in one user-mode Linux: `node scripts/uml-suite.ts --bench`. Times there
 * mean little, their ratios do. Prints one JSON object per line.
 */
import { createIpvsBackend } from '../../backends/ipvs/backend.ts';
import type { ServiceValue, SliceValue } from '../../src/cluster/values.ts';
import type { Command, CommandRunner } from '../../src/node/runner.ts';
import type { ServicePlan } from '../../src/plan/plan.ts';
import { Planner } from '../../src/plan/planner.ts';
import type { Backend, Change, Diff } from '../../src/reconcile/backend.ts';
import { buildContext, buildEndpoint, buildNodePlan, buildService, buildSlice } from '../support/build.ts';
import { createPlace } from '../support/uml/place.ts';
import { createShellRunner } from '../support/uml/shell-runner.ts';

const NODE = buildNodePlan({ localAddresses: ['172.30.0.11'] });
const ROUNDS = 3;
const CHANGES = 20;

/** `svc-N` at 10.96.x.y with endpoints that no other Service has. */
function planOf(number: number, endpoints: number): readonly ServicePlan[] {
  const name = `svc-${number}`;
  const service: ServiceValue = buildService({ name, clusterIPs: [`10.96.${number >> 8}.${number & 255}`] });
  const addresses = Array.from(
    { length: endpoints },
    (_, index) => `10.${128 + index}.${number >> 8}.${number & 255}`,
  );
  const slices: SliceValue[] = [
    buildSlice(
      addresses.map((address) => buildEndpoint(address, { nodeName: 'node2' })),
      { serviceName: name },
    ),
  ];
  const planner = new Planner({ service: () => service, slicesOf: () => slices }, buildContext());
  return planner.update([`default/${name}`]).plans.get(`default/${name}`) ?? [];
}

function cluster(count: number): Change {
  const services = new Map(
    Array.from({ length: count }, (_, number) => [`default/svc-${number}`, planOf(number, 3)] as const),
  );
  return { node: NODE, services, full: true };
}

function changeOf(number: number, endpoints: number): Change {
  return {
    node: NODE,
    services: new Map([[`default/svc-${number}`, planOf(number, endpoints)]]),
    full: false,
  };
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}

async function take(backend: Backend, diff: Diff): Promise<void> {
  for (const step of diff.steps) await backend.apply(step);
  diff.commit();
}

/** The round that other work on the machine disturbed least. */
function least(values: readonly number[]): number {
  return Math.min(...values);
}

const root = createShellRunner();

/** A runner that also notes what was run. */
function noting(runner: CommandRunner, calls: string[]): CommandRunner {
  return {
    run(command: Command) {
      calls.push(command.argv.join(' '));
      return runner.run(command);
    },
  };
}

function create(runner: CommandRunner): Backend {
  return createIpvsBackend({ family: 'IPv4', runner, variant: 'legacy' });
}

/** The same lines, tool by tool, without anything around them. */
async function bareTools(change: Change): Promise<number> {
  const place = await createPlace(root);
  const steps = create(place.runner)
    .diff(change)
    .steps.filter(({ argv }) => argv[0] !== 'sysctl');
  const time = await seconds(async () => {
    for (const { argv, stdin } of steps) await place.runner.run({ argv, stdin });
  });
  await place.close();
  return time;
}

async function firstSync(change: Change): Promise<number> {
  const place = await createPlace(root);
  const backend = create(place.runner);
  const time = await seconds(async () => {
    await backend.observe();
    await take(backend, backend.diff(change));
  });
  await place.close();
  return time;
}

interface Programmed {
  readonly backend: Backend;
  /** What was run since it was programmed. */
  readonly calls: string[];
  close(): Promise<void>;
}

async function programmed(count: number): Promise<Programmed> {
  const place = await createPlace(root);
  const calls: string[] = [];
  const backend = create(noting(place.runner, calls));
  await backend.observe();
  await take(backend, backend.diff(cluster(count)));
  calls.length = 0;
  return { backend, calls, close: () => place.close() };
}

/** @returns seconds, and lines given to tools */
async function changeOne({ backend }: Programmed, round: number): Promise<{ time: number; lines: number }> {
  let lines = 0;
  const time = await seconds(async () => {
    const diff = backend.diff(changeOf(7, 4 - (round % 2)));
    lines = diff.steps.reduce((sum, { stdin }) => sum + stdin.length, 0);
    await take(backend, diff);
  });
  return { time, lines };
}

function report(result: object): void {
  console.log(JSON.stringify(result));
}

const large = cluster(2000);
const bare: number[] = [];
const ours: number[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  bare.push(await bareTools(large));
  ours.push(await firstSync(large));
}
report({
  what: 'first sync, 2,000 Services with 3 endpoints, beside the bare tools',
  ratio: least(ours) / least(bare),
  seconds: least(ours),
});

const [few, many] = [await programmed(200), await programmed(2000)];
const times: Record<'few' | 'many' | 'lines', number[]> = { few: [], many: [], lines: [] };
for (let round = 0; round < CHANGES; round += 1) {
  times.few.push((await changeOne(few, round)).time);
  const { time, lines } = await changeOne(many, round);
  times.many.push(time);
  times.lines.push(lines);
}
report({
  what: 'one endpoint changed, 2,000 Services beside 200',
  ratio: least(times.many) / least(times.few),
  seconds: least(times.many),
  calls: [...new Set(many.calls)],
  lines: Math.max(...times.lines),
});
await few.close();
await many.close();
await root.close();
