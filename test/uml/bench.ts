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
const CHANGES = 9;

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

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
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

async function oneEndpoint(count: number): Promise<{ time: number; calls: string[]; lines: number }> {
  const place = await createPlace(root);
  const calls: string[] = [];
  const backend = create(noting(place.runner, calls));
  await backend.observe();
  await take(backend, backend.diff(cluster(count)));
  calls.length = 0;
  const times: number[] = [];
  let lines = 0;
  for (let round = 0; round < CHANGES; round += 1) {
    const change = changeOf(7, 4 - (round % 2));
    times.push(
      await seconds(async () => {
        const diff = backend.diff(change);
        lines += diff.steps.reduce((sum, { stdin }) => sum + stdin.length, 0);
        await take(backend, diff);
      }),
    );
  }
  await place.close();
  return { time: median(times), calls: [...new Set(calls)], lines: lines / CHANGES };
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
  ratio: median(ours) / median(bare),
  seconds: median(ours),
});
const [few, many] = [await oneEndpoint(200), await oneEndpoint(2000)];
report({
  what: 'one endpoint changed, 2,000 Services beside 200',
  ratio: many.time / few.time,
  seconds: many.time,
  calls: many.calls,
  lines: many.lines,
});
await root.close();
