/** The demo without packets: the plans' verdicts on the same connections, and the text that would be loaded. */
import type { Mode } from '../backends/registry.ts';
import { printingBackend } from '../src/cli/dry-run.ts';
import type { IpFamily } from '../src/cluster/values.ts';
import { createRunner } from '../src/node/runner.ts';
import { type NodeFacts, PlanIndex, type Verdict, verdict } from '../src/plan/verdict.ts';
import type { Backend, Change } from '../src/reconcile/backend.ts';
import { ADDRESS, NODE1_ADDRESSES } from '../test/support/network/topology.ts';
import { createBackends, createNode } from './node.ts';
import { type Expected, type Probe, storiesOf, targetText, WEB } from './probes.ts';
import { columns, type Report } from './report.ts';
import { servicesTable } from './services.ts';
import { MANIFESTS } from './stage.ts';

/** @param reasons why there are no packets, a sentence or clause each */
export async function dryRun(report: Report, mode: Mode, reasons: readonly string[]): Promise<void> {
  report.line();
  report.line('No packets this time: this demo makes network namespaces and loads rules into them,');
  report.line('which cannot be done here:');
  for (const reason of reasons) report.line(`  ${reason}`);
  report.line('The rest needs none of that: what follows is read, planned and rendered as on a node.');

  const texts: string[] = [];
  const changes = new Map<IpFamily, Change>();
  const backends = (await createBackends(mode, createRunner())).map(
    (backend): Backend => ({
      ...printingBackend(backend, (text) => texts.push(text)),
      diff: (change) => {
        changes.set(backend.family, change);
        return backend.diff(change);
      },
    }),
  );
  const proxy = await createNode({ manifests: MANIFESTS, watch: false, mode, backends, observeFirst: false });
  await proxy.syncOnce(new AbortController().signal);

  report.heading('The Services: demo/manifests');
  for (const line of servicesTable(proxy.cluster)) report.line(line);
  verdicts(report, changes, mode);
  report.heading(`What would be loaded on node1, in ${mode} mode`);
  for (const line of texts.join('').trimEnd().split('\n'))
    report.quoted(`  ${line.replaceAll('\t', '    ')}`);
}

const WEB_STORY = {
  service: WEB.service,
  about: 'three replicas',
  probes: [
    {
      from: 'client1',
      address: WEB.address,
      port: WEB.port,
      protocol: 'tcp',
      expect: { answers: WEB.replicas, client: 'kept' },
      meaning: 'each pod gets about its share; client address kept',
    },
  ],
} as const;

function verdicts(report: Report, changes: ReadonlyMap<IpFamily, Change>, mode: Mode): void {
  report.heading('Who would get where: the verdict of the plans');
  const stories = [WEB_STORY, ...storiesOf(mode)];
  const decided = stories.flatMap(({ probes }) => probes.map((probe) => verdictOn(probe, changes)));
  const lines = columns([
    ['FROM', 'TO', 'WHAT WOULD HAPPEN', 'CLIENT ADDRESS SEEN'],
    ...stories
      .flatMap(({ probes }): readonly Probe[] => probes)
      .map((probe, index) => [probe.from, targetText(probe), ...words(decided[index], probe)]),
  ]);
  report.faint(lines.shift() ?? '');
  for (const { service, about, probes } of stories) {
    report.line();
    report.line(`  ${service}: ${about}`);
    for (const { expect, meaning } of probes) {
      report.line(lines.shift() ?? '');
      report.verdict(meaning, objections(expect, decided.shift()), '           ');
    }
  }
}

const FACTS: NodeFacts = { localAddresses: new Set([...NODE1_ADDRESSES, '127.0.0.1', '::1']) };

function verdictOn(probe: Probe, changes: ReadonlyMap<IpFamily, Change>): Verdict | undefined {
  const six = probe.address.includes(':');
  const change = changes.get(six ? 'IPv6' : 'IPv4');
  if (change === undefined) return undefined;
  return verdict(new PlanIndex([...change.services.values()].flat()), change.node, FACTS, {
    source: ADDRESS[probe.from][six ? 'ipv6' : 'ipv4'],
    destination: probe.address,
    protocol: probe.protocol === 'tcp' ? 'TCP' : 'UDP',
    port: probe.port,
    inInterface: 'eth0',
  });
}

function words(decision: Verdict | undefined, { address, from }: Probe): [string, string] {
  if (decision === undefined) return ['no plan for this IP family', '-'];
  if (decision.action !== 'balance') {
    return [
      decision.action === 'pass' ? 'nothing: not a Service' : `${decision.action}: ${decision.reason}`,
      '-',
    ];
  }
  const { plan, targets } = decision;
  const addresses = targets.map(({ endpoint }) => endpoint.address);
  const choice = addresses.length > 1 && plan.affinitySeconds > 0 ? 'always the same: ' : '';
  const client = targets.some(({ masquerade }) => masquerade)
    ? "node1's"
    : ADDRESS[from][address.includes(':') ? 'ipv6' : 'ipv4'];
  return [choice + addresses.join(' or '), client];
}

/** What the plans decide otherwise than the demo expects. */
function objections(expect: Expected, decision: Verdict | undefined): string[] {
  if (decision === undefined) return ['there is no plan for this IP family'];
  if ('failure' in expect) {
    const action = expect.failure === 'refused' ? 'reject' : 'drop';
    return decision.action === action ? [] : [`the plan says ${decision.action}`];
  }
  if (decision.action !== 'balance') return [`the plan says ${decision.action}`];
  const { targets } = decision;
  const addresses = targets.map(({ endpoint }) => endpoint.address);
  const kept = targets.every(({ masquerade }) => !masquerade);
  return [
    ...addresses
      .filter((address) => !expect.answers.includes(address))
      .map((address) => `${address} is among them`),
    ...expect.answers
      .filter((address) => !addresses.includes(address))
      .map((address) => `${address} is not among them`),
    ...(kept === (expect.client === 'kept') ? [] : [`the client address is ${kept ? 'kept' : 'replaced'}`]),
  ];
}
