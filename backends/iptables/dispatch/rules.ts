/** A plan's rules in the chains that all Services share: what leads to its own chains, rejects or drops. */
import type { Protocol } from '../../../src/cluster/values.ts';
import type { FrontEnd, FrontEndKind, NodePlan, Route, ServicePlan } from '../../../src/plan/plan.ts';
import { type Features, LOCALHOST_COUNTER, localhostNodePorts, nodePortAddresses } from '../features.ts';
import { type DispatchChain, externalChain, firewallChain, poolChain } from '../names.ts';
import type { DispatchRule, RuleObjects } from '../objects.ts';
import { comment, host, portMatch, reject, words } from '../rule.ts';

export function renderDispatch(
  plan: ServicePlan,
  node: NodePlan,
  features: Features,
  out: RuleObjects,
): void {
  const writer = new DispatchWriter(plan, out);
  for (const frontEnd of plan.frontEnds) {
    if (frontEnd.kind === 'nodePort') writeNodePort(plan, frontEnd, node, features, writer);
    else writeAddress(plan, frontEnd, node, writer);
  }
  if (plan.healthCheckNodePort !== 0) {
    const { before, after } = portMatch('TCP', plan.healthCheckNodePort);
    writer.port(
      'filter KUBE-NODEPORTS',
      'TCP',
      plan.healthCheckNodePort,
      words(before, comment(`${plan.key} health check node port`), after, '-j ACCEPT'),
    );
  }
}

/**
 * Gives rules their places: those of older Services first, which are the ones that everybody uses (the API
 * server's, the DNS), then by name. The order is the same on every node and after any history.
 */
class DispatchWriter {
  readonly #out: RuleObjects;
  readonly #prefix: string;
  readonly #numbers = new Map<DispatchChain, number>();

  constructor(plan: ServicePlan, out: RuleObjects) {
    this.#out = out;
    const createdAt = String(Math.max(0, plan.createdAt)).padStart(16, '0');
    this.#prefix = `${createdAt} ${plan.key} ${plan.protocol}`;
  }

  address(chain: DispatchChain, address: string, rule: string): void {
    this.#add({ chain, key: { address }, rule });
  }

  port(chain: DispatchChain, protocol: Protocol, port: number, rule: string): void {
    this.#add({ chain, key: { protocol, port }, rule });
  }

  #add(rule: Omit<DispatchRule, 'order'>): void {
    const number = this.#numbers.get(rule.chain) ?? 0;
    this.#numbers.set(rule.chain, number + 1);
    this.#out.dispatch.push({ ...rule, order: `${this.#prefix} ${String(number).padStart(6, '0')}` });
  }
}

const KIND_WORDS: Record<Exclude<FrontEndKind, 'nodePort'>, string> = {
  clusterIP: 'cluster IP',
  externalIP: 'external IP',
  loadBalancerIP: 'loadbalancer IP',
};

function writeAddress(plan: ServicePlan, frontEnd: FrontEnd, node: NodePlan, writer: DispatchWriter): void {
  const { kind, address } = frontEnd;
  if (kind === 'nodePort') return;
  const { before, after } = portMatch(plan.protocol, frontEnd.port);
  const match = (text: string, source?: string): string =>
    words(source && `-s ${source}`, `-d ${host(address)}`, before, comment(text), after);
  const { node: inside, other: outside } = frontEnd.routes;
  if (inside.action === 'balance') {
    const chain =
      kind === 'clusterIP'
        ? poolChain(plan, inside.pool)
        : frontEnd.allowedSources
          ? firewallChain(plan)
          : externalChain(plan);
    writer.address(
      'nat KUBE-SERVICES',
      address,
      words(match(`${plan.key} ${KIND_WORDS[kind]}`), `-j ${chain}`),
    );
  }
  if (frontEnd.allowedSources) {
    const allowed = inside.action === 'balance' ? [] : new Set(frontEnd.allowedSources);
    // What no chain of the nat table sorts out, because there is no endpoint, is sorted out here.
    for (const source of allowed) {
      writer.address(
        'filter KUBE-PROXY-FIREWALL',
        address,
        words(match(`${plan.key} loadbalancer IP`, source), '-j RETURN'),
      );
    }
    writer.address(
      'filter KUBE-PROXY-FIREWALL',
      address,
      words(match(`${plan.key} traffic not accepted by ${firewallChain(plan)}`), '-j DROP'),
    );
  }
  const refusal = refusalOf(plan, outside);
  if (refusal) {
    const chain = kind === 'clusterIP' ? 'filter KUBE-SERVICES' : 'filter KUBE-EXTERNAL-SERVICES';
    writer.address(chain, address, words(match(refusal.text), refusal.target(node)));
  }
}

function writeNodePort(
  plan: ServicePlan,
  frontEnd: FrontEnd,
  node: NodePlan,
  features: Features,
  writer: DispatchWriter,
): void {
  const { protocol } = plan;
  const { port } = frontEnd;
  const { before, after } = portMatch(protocol, port);
  const { node: inside, other: outside } = frontEnd.routes;
  if (inside.action === 'balance') {
    const jump = `-j ${externalChain(plan)}`;
    const about = comment(plan.key);
    if (features.counters && localhostNodePorts(node, features)) {
      const count = `-m nfacct --nfacct-name ${LOCALHOST_COUNTER}`;
      writer.port(
        'nat KUBE-NODEPORTS',
        protocol,
        port,
        words('-d 127.0.0.0/8', before, about, after, count, jump),
      );
    }
    writer.port('nat KUBE-NODEPORTS', protocol, port, words(before, about, after, jump));
  }
  const refusal = refusalOf(plan, outside);
  if (!refusal) return;
  const chain = 'filter KUBE-EXTERNAL-SERVICES';
  const target = refusal.target(node);
  const addresses = nodePortAddresses(node, features);
  if (addresses === 'any') {
    const local = '-m addrtype --dst-type LOCAL';
    writer.port(chain, protocol, port, words(before, comment(refusal.text), local, after, target));
    return;
  }
  // On other addresses the port is anybody's.
  for (const address of addresses) {
    writer.port(
      chain,
      protocol,
      port,
      words(`-d ${host(address)}`, before, comment(refusal.text), after, target),
    );
  }
}

function refusalOf(
  plan: ServicePlan,
  route: Route,
): { text: string; target(node: NodePlan): string } | undefined {
  switch (route.action) {
    case 'reject':
      return { text: `${plan.key} has no endpoints`, target: (node) => reject(node.family) };
    case 'drop':
      return { text: `${plan.key} has no local endpoints`, target: () => '-j DROP' };
    case 'balance':
      return undefined;
  }
}
