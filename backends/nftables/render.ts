/**
 * One plan to its objects in the table. Shared objects (a chain per number of endpoints, a chain per list of
 * sources) are written by every plan that needs them, always with the same content.
 */

import type { Protocol } from '../../src/cluster/values.ts';
import { disjointCidrs } from '../../src/net/ip.ts';
import type { FrontEnd, NodePlan, Route, ServicePlan } from '../../src/plan/plan.ts';
import { reachable } from '../shared/reachable.ts';
import { shortHash } from '../shared/short-hash.ts';
import { affinityChain, renderAffinity } from './affinity.ts';
import { fromPod, markForMasquerade, nftFamily } from './dialect.ts';
import { commentText, serviceBase } from './names.ts';
import type { TableObjects } from './objects.ts';
import { type EndpointMapKind, endpointKey, endpointMap } from './skeleton.ts';

type Balance = Extract<Route, { action: 'balance' }>;

/** Writes a plan's objects into `out`. Pure; equal plans give equal text. */
export function renderPlan(plan: ServicePlan, node: NodePlan, out: TableObjects): void {
  for (const frontEnd of plan.frontEnds) renderFrontEnd(plan, frontEnd, node, out);
  for (const endpoint of reachable(plan)) {
    if (endpoint.maybeHere) {
      const { address, port } = endpoint;
      out.sharedElement('hairpin-connections', `${address} . ${address} . ${proto(plan)} . ${port}`);
    }
  }
  if (plan.affinitySeconds > 0) renderAffinity(plan, node, out);
}

function proto(plan: ServicePlan): string {
  return plan.protocol.toLowerCase();
}

function renderFrontEnd(plan: ServicePlan, frontEnd: FrontEnd, node: NodePlan, out: TableObjects): void {
  const nodePort = frontEnd.kind === 'nodePort';
  const key = nodePort
    ? `${proto(plan)} . ${frontEnd.port}`
    : `${frontEnd.address} . ${proto(plan)} . ${frontEnd.port}`;
  const value = (target: string): string => ` comment "${commentText(plan.key)}" : ${target}`;
  if (frontEnd.kind === 'clusterIP') out.sharedElement('cluster-ips', frontEnd.address);
  if (frontEnd.allowedSources) {
    out.element('firewall-ips', key, value(`goto ${firewallChain(frontEnd.allowedSources, node, out)}`));
  }

  const { node: inside, other: outside } = frontEnd.routes;
  if (inside.action !== 'balance') {
    const target = inside.action === 'drop' ? 'drop' : 'goto reject-chain';
    out.element(nodePort ? 'no-endpoint-nodeports' : 'no-endpoint-services', key, value(target));
    return;
  }
  const kind = nodePort ? 'nodeport-endpoints' : 'endpoints';
  const target = insideChain(plan, frontEnd, inside, kind, node, out);
  out.element(nodePort ? 'service-nodeports' : 'service-ips', key, value(`goto ${target}`));
  renderEndpoints(plan, frontEnd, kind, inside, out);

  if (outside.action === 'balance' && outside.pool === inside.pool) return;
  const localKind = nodePort ? 'local-nodeport-endpoints' : 'local-endpoints';
  let verdict = 'drop';
  if (outside.action === 'balance') {
    verdict = `goto ${poolChain(plan, outside, localKind, node, out)}`;
    renderEndpoints(plan, frontEnd, localKind, outside, out);
  }
  out.element(nodePort ? 'local-nodeports' : 'local-ips', key, value(verdict));
}

function renderEndpoints(
  plan: ServicePlan,
  frontEnd: FrontEnd,
  kind: EndpointMapKind,
  { pool }: Balance,
  out: TableObjects,
): void {
  if (plan.affinitySeconds > 0) return;
  const map = endpointMap(kind, plan.protocol);
  const key = frontEnd.kind === 'nodePort' ? `${frontEnd.port}` : `${frontEnd.address} . ${frontEnd.port}`;
  plan.pools[pool].forEach(({ address, port }, index) => {
    out.element(map, `${key} . ${index}`, ` : ${address} . ${port}`);
  });
}

/**
 * The chain that senders inside the cluster go to. Traffic to a cluster IP has its mark from the `services`
 * chain already, by the address it dialled; other front ends mark on the way.
 */
function insideChain(
  plan: ServicePlan,
  frontEnd: FrontEnd,
  inside: Balance,
  kind: EndpointMapKind,
  node: NodePlan,
  out: TableObjects,
): string {
  const target = poolChain(plan, inside, kind, node, out);
  if (frontEnd.kind === 'clusterIP') return target;
  const { pod, other } = frontEnd.routes;
  const everyone = [pod, inside, other].every((route) => route.action === 'balance' && route.masquerade);
  const rules = (): string[] => (everyone ? masqueradeRules(node, target) : insideRules(node, target));
  if (plan.affinitySeconds > 0) {
    const name = `external-${serviceBase(plan)}`;
    out.chain(name, rules());
    return name;
  }
  const name = target.replace('pick', everyone ? 'masquerade' : 'inside');
  out.sharedChain(name, rules);
  return name;
}

function masqueradeRules(node: NodePlan, target: string): string[] {
  return [`${markForMasquerade(node)} comment "masquerade"`, `goto ${target}`];
}

function insideRules(node: NodePlan, target: string): string[] {
  const pods = fromPod(node);
  return [
    ...(pods === undefined ? [] : [`${pods}goto ${target} comment "short-circuit pod traffic"`]),
    `fib saddr type local ${markForMasquerade(node)} comment "masquerade local traffic"`,
    `goto ${target}`,
  ];
}

/** The chain that balances over a pool: shared by all Services with as many endpoints, or an affine Service's own. */
function poolChain(
  plan: ServicePlan,
  route: Balance,
  kind: EndpointMapKind,
  node: NodePlan,
  out: TableObjects,
): string {
  if (plan.affinitySeconds > 0) return affinityChain(plan, route.pool);
  return pickChain(plan.protocol, kind, plan.pools[route.pool].length, node, out);
}

/**
 * `numgen` draws a number below the count of endpoints; the front end and that number find the endpoint. Should
 * the number be missing, in the instant in which a packet meets the old verdict and the new elements, the first
 * endpoint takes it.
 */
function pickChain(
  protocol: Protocol,
  kind: EndpointMapKind,
  count: number,
  node: NodePlan,
  out: TableObjects,
): string {
  const name = `pick-${endpointMap(kind, protocol).replace(/-?endpoints$/, '')}-${count}`;
  const first = count === 1 ? undefined : pickChain(protocol, kind, 1, node, out);
  out.sharedChain(name, () => {
    const key = `${endpointKey(node.family, kind, protocol)} . numgen random mod ${count}`;
    const target = `${nftFamily(node.family)} addr . port to ${key} map @${endpointMap(kind, protocol)}`;
    const pick = `meta l4proto ${protocol.toLowerCase()} dnat ${target}`;
    return first === undefined ? [pick] : [pick, `goto ${first}`];
  });
  return name;
}

/** Services with the same list of allowed sources share one chain. */
function firewallChain(sources: readonly string[], node: NodePlan, out: TableObjects): string {
  const cidrs = disjointCidrs(sources);
  const name = `firewall-${shortHash(cidrs.join(','), 16)}`;
  const others = cidrs.length > 0 ? `${nftFamily(node.family)} saddr != { ${cidrs.join(', ')} } ` : '';
  out.sharedChain(name, () => [`${others}drop`]);
  return name;
}
