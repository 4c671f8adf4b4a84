/**
 * One plan to its objects. IPVS has one list of real servers per front end, whoever the sender is: it is that
 * of senders outside, whom policy Local is about. Where outsiders have none, it is that of senders inside, and
 * outsiders are dropped before they get there.
 */
import type { Problem } from '../../src/cluster/project/project.ts';
import { cidrContains, prefixLength } from '../../src/net/ip.ts';
import type { FrontEnd, NodePlan, PlanEndpoint, Pool, ServicePlan } from '../../src/plan/plan.ts';
import { type FrontEndKey, type IpvsObjects, SERVING, serverKey, socketAddress } from './objects.ts';
import type { SetKind } from './sets.ts';
import { DEFAULT_SCHEDULER, type IpvsSettings, KNOWN_SCHEDULERS } from './settings.ts';

/** What the objects of all Services depend on. */
export interface RenderContext {
  readonly node: NodePlan;
  readonly settings: IpvsSettings;
}

/** Writes what there is without any Service into `out`. */
export function renderNode(context: RenderContext, out: IpvsObjects): void {
  for (const address of nodePortAddresses(context)) out.entry('KUBE-NODE-PORT-IP', address);
}

/** Writes a plan's objects into `out`. Pure; equal plans give equal text. */
export function renderPlan(plan: ServicePlan, context: RenderContext, out: IpvsObjects): void {
  for (const frontEnd of plan.frontEnds) {
    for (const address of addressesOf(frontEnd, context)) {
      if (excludedBy(address, context) === undefined) renderFrontEnd(plan, frontEnd, address, context, out);
    }
  }
  for (const { address, port, maybeHere } of allEndpoints(plan)) {
    if (maybeHere) out.entry('KUBE-LOOP-BACK', `${address},${proto(plan)}:${port},${address}`);
  }
  if (plan.healthCheckNodePort !== 0) {
    out.entry('KUBE-HEALTH-CHECK-NODE-PORT', String(plan.healthCheckNodePort));
  }
}

function renderFrontEnd(
  plan: ServicePlan,
  frontEnd: FrontEnd,
  address: string,
  context: RenderContext,
  out: IpvsObjects,
): void {
  const key: FrontEndKey = { address, protocol: proto(plan), port: String(frontEnd.port) };
  const { pool, drop } = served(frontEnd, context.settings.parity ?? false);
  const endpoints = pool === undefined ? [] : plan.pools[pool];
  out.servers.set(serverKey(key), {
    options: serverOptions(plan, context.settings),
    servers: new Map(endpoints.map((one) => [socketAddress(one.address, one.port), SERVING])),
  });
  const entry = `${address},${key.protocol}:${key.port}`;
  for (const set of setsOf(frontEnd, key.protocol)) {
    out.entry(set, set.startsWith('KUBE-NODE-PORT') && key.protocol !== 'sctp' ? key.port : entry);
  }
  if (drop !== undefined) out.entry(drop, entry);
  if (frontEnd.allowedSources) renderSources(plan, entry, frontEnd.allowedSources, out);
  if (frontEnd.kind !== 'nodePort' && !isOnAnotherLink(address, context) && !isOfANode(address, context)) {
    out.addresses.add(address);
    out.entry('KUBE-IPVS-IPS', address);
  }
}

function serverOptions(plan: ServicePlan, settings: IpvsSettings): string {
  const scheduler = schedulerOf(plan, settings);
  const persistent = plan.affinitySeconds > 0 ? ` -p ${plan.affinitySeconds}` : '';
  const flags = schedulerFlags(scheduler, settings.parity ?? false);
  return `-s ${scheduler}${persistent}${flags.length > 0 ? ` -b ${flags.join(',')}` : ''}`;
}

/**
 * The Service's own, or the node's. A name that no kernel knows must not cost the Service its virtual servers.
 */
function schedulerOf({ ipvsScheduler }: ServicePlan, settings: IpvsSettings): string {
  return KNOWN_SCHEDULERS.find((name) => name === ipvsScheduler) ?? (settings.scheduler || DEFAULT_SCHEDULER);
}

/**
 * The port of a client counts for mh, as in kube-proxy. Schedulers that pick by hash pick real servers that drain as
 * well, and then refuse; with the fallback, which kube-proxy leaves out, they pick another.
 */
function schedulerFlags(scheduler: string, parity: boolean): string[] {
  if (scheduler === 'mh') return parity ? ['mh-port'] : ['mh-fallback', 'mh-port'];
  return scheduler === 'sh' && !parity ? ['sh-fallback'] : [];
}

/** Whose endpoints a front end has, and which senders are dropped before them. */
function served(frontEnd: FrontEnd, parity: boolean): { pool: Pool | undefined; drop: SetKind | undefined } {
  const { node: inside, other: outside } = frontEnd.routes;
  if (outside.action === 'balance') return { pool: outside.pool, drop: undefined };
  if (inside.action === 'balance') {
    return {
      pool: inside.pool,
      drop: outside.action === 'drop' && !parity ? 'KUBE-DROP-EXTERNAL' : undefined,
    };
  }
  // A virtual server without real servers refuses.
  return { pool: undefined, drop: inside.action === 'drop' && !parity ? 'KUBE-DROP' : undefined };
}

function setsOf(frontEnd: FrontEnd, protocol: FrontEndKey['protocol']): SetKind[] {
  const local = keepsClientAddress(frontEnd);
  switch (frontEnd.kind) {
    case 'clusterIP':
      return ['KUBE-CLUSTER-IP'];
    case 'externalIP':
      return [local ? 'KUBE-EXTERNAL-IP-LOCAL' : 'KUBE-EXTERNAL-IP'];
    case 'loadBalancerIP':
      return local ? ['KUBE-LOAD-BALANCER', 'KUBE-LOAD-BALANCER-LOCAL'] : ['KUBE-LOAD-BALANCER'];
    case 'nodePort': {
      const [all, kept] = NODE_PORT_SETS[protocol];
      return local ? [all, kept] : [all];
    }
  }
}

const NODE_PORT_SETS = {
  tcp: ['KUBE-NODE-PORT-TCP', 'KUBE-NODE-PORT-LOCAL-TCP'],
  udp: ['KUBE-NODE-PORT-UDP', 'KUBE-NODE-PORT-LOCAL-UDP'],
  sctp: ['KUBE-NODE-PORT-SCTP-HASH', 'KUBE-NODE-PORT-LOCAL-SCTP-HASH'],
} as const satisfies Record<string, readonly [SetKind, SetKind]>;

/** Under policy Local nobody but the node itself is masqueraded on the way to an external front end. */
function keepsClientAddress({ routes }: FrontEnd): boolean {
  return routes.pod.action === 'balance' && !routes.pod.masquerade;
}

function renderSources(plan: ServicePlan, entry: string, sources: readonly string[], out: IpvsObjects): void {
  out.entry('KUBE-LOAD-BALANCER-FW', entry);
  for (const cidr of sources) {
    const network = cidr.slice(0, cidr.indexOf('/'));
    const single = prefixLength(cidr) === (plan.family === 'IPv4' ? 32 : 128);
    // The Service's own addresses, which are the node's source when it dials them.
    const own =
      single && plan.frontEnds.some((one) => one.kind === 'loadBalancerIP' && one.address === network);
    const set = own ? 'KUBE-LOAD-BALANCER-SOURCE-IP' : 'KUBE-LOAD-BALANCER-SOURCE-CIDR';
    out.entry(set, `${entry},${single ? network : cidr}`);
  }
}

function proto(plan: ServicePlan): FrontEndKey['protocol'] {
  return plan.protocol === 'TCP' ? 'tcp' : plan.protocol === 'UDP' ? 'udp' : 'sctp';
}

function allEndpoints({ pools }: ServicePlan): Iterable<PlanEndpoint> {
  return pools.local.length === 0 ? pools.cluster : [...pools.cluster, ...pools.local];
}

function addressesOf(frontEnd: FrontEnd, context: RenderContext): readonly string[] {
  return frontEnd.kind === 'nodePort' ? nodePortAddresses(context) : [frontEnd.address];
}

/** Node ports have a virtual server on each address that they answer on. */
function nodePortAddresses({ node }: RenderContext): readonly string[] {
  return node.nodePortAddresses === 'any' ? (node.localAddresses ?? []) : node.nodePortAddresses;
}

function excludedBy(address: string, { settings }: RenderContext): string | undefined {
  return settings.excludeCIDRs?.find((cidr) => cidrContains(cidr, address));
}

/** On the dummy link such an address would be there twice, and everything on it but the Service refused. */
function isOnAnotherLink(address: string, { node }: RenderContext): boolean {
  return node.localAddresses?.includes(address) ?? false;
}

/** On the dummy link such an address would cut this node off from that one (kubernetes/kubernetes#127410). */
function isOfANode(address: string, { node }: RenderContext): boolean {
  return node.claimedNodeAddresses?.includes(address) ?? false;
}

/** What of a Service is left out, and why: for people. */
export function problemsOf(plans: readonly ServicePlan[], context: RenderContext): Problem[] {
  const problems = new Map<string, Problem>();
  for (const plan of plans) {
    if (plan.ipvsScheduler !== undefined && schedulerOf(plan, context.settings) !== plan.ipvsScheduler) {
      problems.set('scheduler', {
        object: `Service ${plan.service}`,
        field: 'metadata.annotations[kube-rulesync.io/ipvs-scheduler]',
        message: `${JSON.stringify(plan.ipvsScheduler)} is none of ${KNOWN_SCHEDULERS.join(', ')}; the node's is used`,
      });
    }
    for (const { kind, address } of plan.frontEnds) {
      if (kind === 'nodePort') continue;
      const message = problemWith(address, context);
      if (message !== undefined) {
        problems.set(address, { object: `Service ${plan.service}`, field: FIELDS[kind], message });
      }
    }
  }
  return [...problems.values()];
}

function problemWith(address: string, context: RenderContext): string | undefined {
  const cidr = excludedBy(address, context);
  if (cidr !== undefined)
    return `${address} is in ${cidr}, which is excluded from IPVS: this address is not served`;
  if (isOnAnotherLink(address, context)) {
    return `${address} is an address of this node: it is served, and not put on the dummy link`;
  }
  if (isOfANode(address, context)) {
    return `${address} is an address of another Node: it is not put on the dummy link, so that this node still reaches that one`;
  }
  return undefined;
}

const FIELDS = {
  clusterIP: 'spec.clusterIPs',
  externalIP: 'spec.externalIPs',
  loadBalancerIP: 'status.loadBalancer.ingress',
} as const;
