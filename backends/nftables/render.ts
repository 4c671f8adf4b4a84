/**
 * One plan to its objects in the table. Shared objects (a chain per number of endpoints, a chain per list of
 * sources) are written by every plan that needs them, always with the same content.
 */
import { disjointCidrs } from '../../src/net/ip.ts';
import type { FrontEnd, NodePlan, PlanEndpoint, Route, ServicePlan } from '../../src/plan/plan.ts';
import { affinityChain, renderAffinity } from './affinity.ts';
import { fromPod, markForMasquerade, NODE_PORT_KEY, nftFamily, serviceKey } from './dialect.ts';
import { commentText, serviceBase, shortHash } from './names.ts';
import type { TableObjects } from './objects.ts';
import { reachable } from './reachable.ts';
import type { EndpointMap } from './skeleton.ts';

type Balance = Extract<Route, { action: 'balance' }>;

/** Writes a plan's objects into `out`. Pure; equal plans give equal text. */
export function renderPlan(plan: ServicePlan, node: NodePlan, out: TableObjects): void {
  for (const frontEnd of plan.frontEnds) renderFrontEnd(plan, frontEnd, node, out);
  for (const endpoint of reachable(plan)) {
    if (endpoint.maybeHere) {
      const { address, port } = endpoint;
      out.element('hairpin-connections', `${address} . ${address} . ${proto(plan)} . ${port}`);
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
  if (frontEnd.kind === 'clusterIP') out.element('cluster-ips', frontEnd.address);
  if (frontEnd.allowedSources) {
    out.element('firewall-ips', key, value(`goto ${firewallChain(frontEnd.allowedSources, node, out)}`));
  }

  const { node: inside, other: outside } = frontEnd.routes;
  if (inside.action !== 'balance') {
    const target = inside.action === 'drop' ? 'drop' : 'goto reject-chain';
    out.element(nodePort ? 'no-endpoint-nodeports' : 'no-endpoint-services', key, value(target));
    return;
  }
  const map = nodePort ? 'nodeport-endpoints' : 'endpoints';
  const target = insideChain(plan, frontEnd, inside, map, node, out);
  out.element(nodePort ? 'service-nodeports' : 'service-ips', key, value(`goto ${target}`));
  if (plan.affinitySeconds === 0) renderEndpoints(map, key, plan.pools[inside.pool], out);

  if (outside.action === 'balance' && outside.pool === inside.pool) return;
  const localMap = nodePort ? 'local-nodeport-endpoints' : 'local-endpoints';
  let verdict = 'drop';
  if (outside.action === 'balance') {
    verdict = `goto ${poolChain(plan, outside, localMap, node, out)}`;
    if (plan.affinitySeconds === 0) renderEndpoints(localMap, key, plan.pools[outside.pool], out);
  }
  out.element(nodePort ? 'local-nodeports' : 'local-ips', key, value(verdict));
}

function renderEndpoints(
  map: EndpointMap,
  key: string,
  endpoints: readonly PlanEndpoint[],
  out: TableObjects,
): void {
  endpoints.forEach(({ address, port }, index) => {
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
  map: EndpointMap,
  node: NodePlan,
  out: TableObjects,
): string {
  const target = poolChain(plan, inside, map, node, out);
  if (frontEnd.kind === 'clusterIP') return target;
  const { pod, other } = frontEnd.routes;
  const everyone = [pod, inside, other].every((route) => route.action === 'balance' && route.masquerade);
  const name =
    plan.affinitySeconds > 0
      ? `external-${serviceBase(plan)}`
      : target.replace('pick', everyone ? 'masquerade' : 'inside');
  if (everyone) {
    out.chain(name, [`${markForMasquerade(node)} comment "masquerade"`, `goto ${target}`]);
  } else {
    const pods = fromPod(node);
    out.chain(name, [
      ...(pods === undefined ? [] : [`${pods}goto ${target} comment "short-circuit pod traffic"`]),
      `fib saddr type local ${markForMasquerade(node)} comment "masquerade local traffic"`,
      `goto ${target}`,
    ]);
  }
  return name;
}

/** The chain that balances over a pool: shared by all Services with as many endpoints, or an affine Service's own. */
function poolChain(
  plan: ServicePlan,
  route: Balance,
  map: EndpointMap,
  node: NodePlan,
  out: TableObjects,
): string {
  if (plan.affinitySeconds > 0) return affinityChain(plan, route.pool);
  return pickChain(map, plan.pools[route.pool].length, node, out);
}

/**
 * `numgen` draws a number below the count of endpoints; the front end and that number find the endpoint. Should
 * the number be missing, in the instant in which a packet meets the old verdict and the new elements, the first
 * endpoint takes it.
 */
function pickChain(map: EndpointMap, count: number, node: NodePlan, out: TableObjects): string {
  const name = `${PICK_PREFIX[map]}-${count}`;
  if (out.chains.has(name)) return name;
  const ip = nftFamily(node.family);
  const key =
    map === 'nodeport-endpoints' || map === 'local-nodeport-endpoints'
      ? NODE_PORT_KEY
      : serviceKey(node.family);
  const pick = `meta l4proto { tcp, udp, sctp } dnat ${ip} addr . port to ${key} . numgen random mod ${count} map @${map}`;
  if (count === 1) {
    out.chain(name, [pick]);
  } else {
    out.chain(name, [pick, `goto ${pickChain(map, 1, node, out)}`]);
  }
  return name;
}

const PICK_PREFIX: Record<EndpointMap, string> = {
  endpoints: 'pick',
  'local-endpoints': 'pick-local',
  'nodeport-endpoints': 'pick-nodeport',
  'local-nodeport-endpoints': 'pick-local-nodeport',
};

/** Services with the same list of allowed sources share one chain. */
function firewallChain(sources: readonly string[], node: NodePlan, out: TableObjects): string {
  const cidrs = disjointCidrs(sources);
  const name = `firewall-${shortHash(cidrs.join(','), 16)}`;
  const others = cidrs.length > 0 ? `${nftFamily(node.family)} saddr != { ${cidrs.join(', ')} } ` : '';
  out.chain(name, [`${others}drop`]);
  return name;
}
