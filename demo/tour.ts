/** The demo with packets, section by section. */
import type { Mode } from '../backends/registry.ts';
import type { IpFamily } from '../src/cluster/values.ts';
import { ADDRESS, NODE1_ADDRESSES } from '../test/support/network/topology.ts';
import { RULE_READERS } from './kernel-rules.ts';
import { differences, type Tally, tally, tallyText, unevenness } from './outcome.ts';
import { type Probe, storiesOf, targetText, WEB } from './probes.ts';
import { bar, columns, type Report } from './report.ts';
import { servicesTable } from './services.ts';
import type { Applied, Stage } from './stage.ts';

/** One step of the demo; they are run in order. */
export type Scene = (report: Report, stage: Stage, mode: Mode) => Promise<void>;

export const SCENES: readonly Scene[] = [network, services, spread, policies, rules, change];

const WEB_TARGET = { address: WEB.address, port: WEB.port, protocol: 'tcp' } as const;

async function network(report: Report): Promise<void> {
  report.heading('The network: six namespaces and a switch');
  const row = (name: 'node1' | 'node2' | 'client1' | 'ext', what: string) => [
    name,
    ADDRESS[name].ipv4,
    ADDRESS[name].ipv6,
    what,
  ];
  for (const line of columns([
    row('node1', 'kube-rulesync runs here'),
    row('node2', 'a second node, here a plain router'),
    ['pods1', '10.244.1.2 to .9', 'fd00:244:1::2 to ::9', 'the pods of node1'],
    ['pods2', '10.244.2.2 to .9', 'fd00:244:2::2 to ::9', 'the pods of node2'],
    row('client1', 'a pod of node1 that makes connections'),
    row('ext', 'outside the cluster; its route to everything is node1'),
  ])) {
    report.line(line);
  }
}

async function services(report: Report, stage: Stage, mode: Mode): Promise<void> {
  report.heading('The Services: demo/manifests, read and programmed');
  await report.during('programming node1', stage.start());
  for (const line of servicesTable(stage.proxy.cluster)) report.line(line);
  report.line();
  for (const line of columns(stage.backends.map(({ family }) => programmed(family, stage))))
    report.line(line);
  const missing = await Promise.all(stage.backends.map((backend) => backend.audit()));
  report.verdict(
    `read back: the kernel has the ${mode} rules of both IP families`,
    missing.flat().map((object) => `${object} is missing or different`),
  );
}

function programmed(family: IpFamily, { applied, syncs }: Stage): string[] {
  const own = applied.filter((one) => one.family === family);
  const lines = own.reduce((sum, { step }) => sum + lineCount(step.stdin), 0);
  const sync = syncs.find((one) => one.family === family);
  const tools = [...new Set(own.map(({ step }) => step.argv[0]))].join(', ');
  return [
    family,
    `${lines} lines`,
    `in ${own.length === 1 ? 'one call' : `${own.length} calls`} of ${tools}`,
    `${milliseconds(((sync?.planSeconds ?? 0) + (sync?.diffSeconds ?? 0)) * 1000)} to plan and render`,
    `${milliseconds((sync?.applySeconds ?? 0) * 1000)} for the tool and the kernel`,
  ];
}

async function spread(report: Report, stage: Stage): Promise<void> {
  report.heading(`300 connections: a pod calls ${WEB.service}, three replicas`);
  const result = await connect300(report, stage);
  printSpread(report, result, WEB.replicas);
  report.verdict('each pod has about its share', unevenness(result, WEB.replicas));
  report.verdict(
    `client address kept: the pods see ${result.clients.join(', ')}`,
    differences({ answers: WEB.replicas, client: 'kept' }, result, addressesOf('client1')),
  );
}

async function connect300(report: Report, stage: Stage): Promise<Tally> {
  const tries = stage.net.agent('client1').tries({ ...WEB_TARGET, count: 300, deadlineMs: ANSWER_MS });
  return tally(await report.during('300 connections', tries));
}

function printSpread(report: Report, { answers, failures }: Tally, replicas: readonly string[]): void {
  report.line(`  client1 → ${WEB.address}:${WEB.port}`);
  const whole = Math.max(...answers.values(), 1);
  const rows = replicas.map((address) => {
    const count = answers.get(address) ?? 0;
    const node = address.startsWith('10.244.1.') ? 'node1' : 'node2';
    return [address, `on ${node}`, `${count}`.padStart(3), bar(count, whole, 40)];
  });
  for (const line of columns(rows, '    ')) report.line(line);
  for (const [failure, count] of failures) report.line(`    ${count} × ${failure}`);
}

/** What should answer may take its time on a busy machine; what should be dropped need not be waited for. */
const ANSWER_MS = 5000;
const SILENCE_MS = 900;
const TRIES = 30;

async function policies(report: Report, stage: Stage, mode: Mode): Promise<void> {
  report.heading(`Who gets where: ${TRIES} connections each`);
  const results: { readonly probe: Probe; readonly result: Tally }[] = [];
  const stories = storiesOf(mode);
  for (const probe of stories.flatMap(({ probes }) => probes)) {
    const text = `${probe.from} → ${targetText(probe)}`;
    results.push({ probe, result: await report.during(text, send(stage, probe)) });
  }
  const lines = columns([
    ['FROM', 'TO', 'WHO ANSWERED', 'CLIENT ADDRESS SEEN'],
    ...results.map(({ probe, result }) => [
      probe.from,
      targetText(probe),
      tallyText(result),
      result.clients.join(', ') || '-',
    ]),
  ]);
  report.faint(lines.shift() ?? '');
  for (const { service, about, probes } of stories) {
    report.line();
    report.line(`  ${service}: ${about}`);
    for (const _ of probes) {
      const line = lines.shift();
      const done = results.shift();
      if (line === undefined || done === undefined) return;
      report.line(line);
      const { expect, meaning, from } = done.probe;
      report.verdict(meaning, differences(expect, done.result, addressesOf(from)), '           ');
    }
  }
}

async function send(stage: Stage, { from, address, port, protocol, expect }: Probe): Promise<Tally> {
  const outcomes = await stage.net.agent(from).tries({
    address,
    port,
    protocol,
    count: TRIES,
    // A client that comes once it is known is what affinity is about.
    inTurn: 'sticky' in expect,
    deadlineMs: 'failure' in expect && expect.failure === 'timeout' ? SILENCE_MS : ANSWER_MS,
  });
  return tally(outcomes);
}

function addressesOf(host: Probe['from']) {
  return { client: Object.values(ADDRESS[host]), node: NODE1_ADDRESSES };
}

async function rules(report: Report, stage: Stage, mode: Mode): Promise<void> {
  report.heading(`The rules behind ${WEB.service}, as the kernel has them`);
  const reader = RULE_READERS[mode];
  if (reader === undefined) {
    report.line(`  This demo cannot take ${mode} rules apart. What was written and names the Service:`);
    const pieces = stage.applied.flatMap(({ step }) => step.stdin);
    for (const line of pieces.join('').split('\n')) {
      if (line.includes(WEB.address)) report.quoted(`    ${line}`);
    }
    return;
  }
  const argv = reader.listing(stage.applied.map(({ step }) => step.argv[0]));
  const { stdout } = await stage.net.exec('node1', argv);
  const excerpts = reader.excerpts(stdout, WEB_TARGET);
  report.faint(`  cut from: ${argv.join(' ')}`);
  const width = Math.max(...excerpts.map(({ object }) => object.length));
  for (const { object, note, lines } of excerpts) {
    report.line(`  ${object.padEnd(width)}  ${note}`);
    for (const line of lines) report.quoted(`      ${line}`);
  }
  report.line();
  report.line(`  ${reader.summary}`);
  const text = excerpts.flatMap(({ lines }) => lines).join('\n');
  report.verdict(
    `they lead to the three pods of ${WEB.service}`,
    WEB.replicas.filter((address) => !text.includes(address)).map((address) => `not to ${address}`),
  );
}

async function change(report: Report, stage: Stage): Promise<void> {
  const { moreReplicas, manifest } = WEB;
  report.heading(`A change under traffic: ${WEB.service} scaled from 3 to 5`);
  const client = stage.net.agent('client1');
  const load = await client.load({ ...WEB_TARGET, perSecond: 200, deadlineMs: ANSWER_MS });
  const before = stage.applied.length;
  const synced = stage.syncs.length;
  const writtenAt = await stage.scale(manifest, moreReplicas);
  await report.during(
    'waiting for the change',
    stage.until(() => stage.syncs.slice(synced).some(({ family }) => family === 'IPv4')),
  );
  const { started, answered, failures } = await load.stop();
  const steps = stage.applied.slice(before);
  printChange(report, writtenAt, steps);
  report.line();
  const result = await connect300(report, stage);
  printSpread(report, result, moreReplicas);
  report.verdict(
    '300 connections later, each of the five has about its share',
    unevenness(result, moreReplicas),
  );
  report.verdict(
    `${started} connections were made while it changed: none failed`,
    answered === started ? [] : [`${started - answered} did: ${JSON.stringify(failures)}`],
  );
}

function printChange(report: Report, writtenAt: number, steps: readonly Applied[]): void {
  const [first] = steps;
  const last = steps.at(-1);
  if (first === undefined || last === undefined) return;
  const rows = [
    ['0 ms', `${WEB.manifest} is written`],
    [milliseconds(first.startedAt - writtenAt), 'the change was noticed, planned and rendered'],
    [milliseconds(last.endedAt - writtenAt), 'the kernel has it'],
  ];
  const width = Math.max(...rows.map(([time = '']) => time.length));
  for (const line of columns(rows.map(([time = '', what = '']) => [time.padStart(width), what])))
    report.line(line);
  const count = steps.reduce((sum, { step }) => sum + lineCount(step.stdin), 0);
  report.line();
  report.line(`  All that ${first.step.argv.join(' ')} was given, ${count} lines:`);
  for (const { step } of steps) {
    for (const line of step.stdin.join('').trimEnd().split('\n'))
      report.quoted(`      ${line.replaceAll('\t', '  ')}`);
  }
}

function lineCount(pieces: readonly string[]): number {
  return pieces.reduce((sum, piece) => sum + piece.split('\n').length - 1, 0);
}

function milliseconds(value: number): string {
  return `${Math.round(value)} ms`;
}
