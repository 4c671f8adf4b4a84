/** From one Service and its slices to its plans: every policy decided, for one family. */
import {
  type IpFamily,
  type ServicePortValue,
  type ServiceValue,
  type SliceValue,
  valueKey,
} from '../cluster/values.ts';
import { cidrContains, compareText, familyOf, prefixLength } from '../net/ip.ts';
import type {
  EndpointDecision,
  FrontEnd,
  FrontEndKind,
  LocalDetector,
  PlanEndpoint,
  Pool,
  Route,
  SenderClass,
  ServicePlan,
} from './plan.ts';
import { type Place, type Selected, selectEndpoints } from './select.ts';

/** What planning needs to know beside the Service: the same for all Services of a node and family. */
export interface PlanContext extends Place {
  readonly family: IpFamily;
  readonly detector: LocalDetector;
  readonly masqueradeAll: boolean;
  /** The node's primary addresses, both families. */
  readonly nodeAddresses: readonly string[];
  readonly podCIDRs: readonly string[];
}

/** One plan per port that has an address of this family. Pure; the order of `slices` does not matter. */
export function planService(
  service: ServiceValue,
  slices: readonly SliceValue[],
  context: PlanContext,
): ServicePlan[] {
  const clusterIP = service.clusterIPs.find((address) => familyOf(address) === context.family);
  if (clusterIP === undefined) return [];
  const ours = slices.filter((slice) => slice.family === context.family);
  return service.ports.map((port) => planPort(service, port, clusterIP, ours, context));
}

function planPort(
  service: ServiceValue,
  port: ServicePortValue,
  clusterIP: string,
  slices: readonly SliceValue[],
  context: PlanContext,
): ServicePlan {
  const pools = poolsOf(selectEndpoints(slices, port.name, port.protocol, context), context);
  const serviceKey = valueKey(service);
  return {
    key: port.name === '' ? serviceKey : `${serviceKey}:${port.name}`,
    service: serviceKey,
    namespace: service.namespace,
    name: service.name,
    portName: port.name,
    protocol: port.protocol,
    family: context.family,
    createdAt: service.createdAt,
    affinitySeconds: service.affinitySeconds,
    healthCheckNodePort: service.healthCheckNodePort,
    ...(service.ipvsScheduler === undefined ? {} : { ipvsScheduler: service.ipvsScheduler }),
    pools,
    frontEnds: frontEndsOf(service, port, clusterIP, pools, context),
  };
}

/**
 * Every endpoint that the slices name for a port, and why it is in a pool or in none: `planService`'s own choice,
 * said in full.
 */
export function explainEndpoints(
  slices: readonly SliceValue[],
  port: Pick<ServicePortValue, 'name' | 'protocol'>,
  context: Place & Pick<PlanContext, 'family'>,
): EndpointDecision[] {
  const ours = slices.filter((slice) => slice.family === context.family);
  return selectEndpoints(ours, port.name, port.protocol, context).map(toDecision);
}

/** Nearly all Services have no local pool, and thousands of empty arrays are not nothing. */
const NONE: readonly PlanEndpoint[] = [];

function poolsOf(selected: readonly Selected[], context: PlanContext): Pools {
  const cluster: PlanEndpoint[] = [];
  const local: PlanEndpoint[] = [];
  for (const one of selected) {
    if (!one.cluster && !one.local) continue;
    const { endpoint, port } = one.candidate;
    const { address, nodeName } = endpoint;
    const planned = { address, port, maybeHere: mayBeHere(nodeName, address, context) };
    if (one.cluster) cluster.push(planned);
    if (one.local) local.push(planned);
  }
  return { cluster: cluster.length > 0 ? cluster : NONE, local: local.length > 0 ? local : NONE };
}

/**
 * A pod whose slice names no node, or a proxy that was given another node name than the slices use, must still
 * reach itself through its Service (rancher/rancher#30363).
 */
function mayBeHere(nodeName: string, address: string, context: PlanContext): boolean {
  if (nodeName === '' || nodeName === context.nodeName) return true;
  return context.podCIDRs.some((cidr) => cidrContains(cidr, address));
}

function toDecision(selected: Selected): EndpointDecision {
  const { candidate, cluster, local, clusterReason, localReason } = selected;
  return {
    address: candidate.endpoint.address,
    port: candidate.port,
    nodeName: candidate.endpoint.nodeName,
    cluster,
    local,
    clusterReason,
    localReason,
  };
}

type Pools = ServicePlan['pools'];

function frontEndsOf(
  service: ServiceValue,
  port: ServicePortValue,
  clusterIP: string,
  pools: Pools,
  context: PlanContext,
): FrontEnd[] {
  const external = externalRoutes(service, pools);
  const frontEnds: FrontEnd[] = [];
  const seen = new Set<string>();
  const add = (kind: FrontEndKind, address: string, routes: FrontEnd['routes'], sources?: string[]): void => {
    // One address may be listed twice, as an external and a load-balancer one: the stricter reading is first.
    if (seen.has(address)) return;
    seen.add(address);
    frontEnds.push({
      kind,
      address,
      port: kind === 'nodePort' ? port.nodePort : port.port,
      routes,
      ...(sources ? { allowedSources: sources } : {}),
    });
  };
  const ofFamily = (addresses: readonly string[]): string[] =>
    addresses.filter((address) => familyOf(address) === context.family).sort(compareText);

  add('clusterIP', clusterIP, internalRoutes(service, pools, context));
  const loadBalancerIPs = ofFamily(service.loadBalancerIPs);
  const allowed = allowedSources(service, loadBalancerIPs, context);
  for (const address of loadBalancerIPs) add('loadBalancerIP', address, external, allowed);
  for (const address of ofFamily(service.externalIPs)) add('externalIP', address, external);
  if (port.nodePort !== 0) add('nodePort', '', external);
  return frontEnds;
}

type Routes = Readonly<Record<SenderClass, Route>>;

// There are few ways to route, and as many front ends as Services: each way is made once.
const DROP: Route = { action: 'drop' };
const BALANCE: Record<Pool, Record<'plain' | 'masquerade', Route>> = {
  cluster: {
    plain: { action: 'balance', pool: 'cluster', masquerade: false },
    masquerade: { action: 'balance', pool: 'cluster', masquerade: true },
  },
  local: {
    plain: { action: 'balance', pool: 'local', masquerade: false },
    masquerade: { action: 'balance', pool: 'local', masquerade: true },
  },
};
const ALL_REJECT = sameForAll({ action: 'reject' });
const ALL_DROP = sameForAll(DROP);
const EXTERNAL_CLUSTER = sameForAll(BALANCE.cluster.masquerade);
const EXTERNAL_LOCAL: Routes = {
  pod: BALANCE.cluster.plain,
  node: BALANCE.cluster.masquerade,
  other: BALANCE.local.plain,
};
const EXTERNAL_LOCAL_EMPTY: Routes = { ...EXTERNAL_LOCAL, other: DROP };
const INTERNAL: Record<Pool, Record<'nobody' | 'strangers' | 'everyone', Routes>> = {
  cluster: internalTo(BALANCE.cluster),
  local: internalTo(BALANCE.local),
};

function sameForAll(route: Route): Routes {
  return { pod: route, node: route, other: route };
}

/** By who is masqueraded. */
function internalTo({ plain, masquerade }: Record<'plain' | 'masquerade', Route>) {
  return {
    nobody: sameForAll(plain),
    strangers: { pod: plain, node: masquerade, other: masquerade },
    everyone: sameForAll(masquerade),
  };
}

/**
 * Cluster IPs obey internalTrafficPolicy. Senders that are not this node's pods are masqueraded, so that the
 * answer comes back through this node; without a way to tell pods apart nobody is (kube-proxy does the same).
 */
function internalRoutes(service: ServiceValue, pools: Pools, context: PlanContext): Routes {
  if (!hasAny(pools)) return ALL_REJECT;
  const pool = service.internalTrafficPolicy === 'Local' ? 'local' : 'cluster';
  if (pools[pool].length === 0) return ALL_DROP;
  const strangers = context.detector.kind === 'none' ? 'nobody' : 'strangers';
  return INTERNAL[pool][context.masqueradeAll ? 'everyone' : strangers];
}

/**
 * External addresses and node ports obey externalTrafficPolicy. Under Local, pods and the node are inside the
 * cluster and use every endpoint (kubernetes/kubernetes#131765); only what comes from outside is kept local, with
 * its source address.
 */
function externalRoutes(service: ServiceValue, pools: Pools): Routes {
  if (!hasAny(pools)) return ALL_REJECT;
  if (service.externalTrafficPolicy === 'Cluster') return EXTERNAL_CLUSTER;
  return pools.local.length > 0 ? EXTERNAL_LOCAL : EXTERNAL_LOCAL_EMPTY;
}

/** The cluster pool is empty only when no endpoint anywhere is ready, or serving while it terminates. */
function hasAny(pools: Pools): boolean {
  return pools.cluster.length > 0;
}

function allowedSources(
  service: ServiceValue,
  loadBalancerIPs: readonly string[],
  context: PlanContext,
): string[] | undefined {
  if (!service.restrictedFamilies.includes(context.family)) return undefined;
  const ranges = service.sourceRanges.filter((cidr) => familyOf(cidr) === context.family);
  if (ranges.some((cidr) => prefixLength(cidr) === 0)) return undefined;
  const nodeAllowed = context.nodeAddresses.some((address) =>
    ranges.some((cidr) => cidrContains(cidr, address)),
  );
  const length = context.family === 'IPv4' ? 32 : 128;
  return nodeAllowed ? [...ranges, ...loadBalancerIPs.map((address) => `${address}/${length}`)] : ranges;
}
