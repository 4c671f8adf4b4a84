/**
 * What happens to a packet, by the plans alone: the oracle that every back end's rules are held against, and
 * the core of `explain`.
 */
import type { Protocol } from '../cluster/values.ts';
import { cidrContains } from '../net/ip.ts';
import type { FrontEnd, NodePlan, PlanEndpoint, SenderClass, ServicePlan } from './plan.ts';

/** The first packet of a connection, as it reaches this node. */
export interface Packet {
  readonly source: string;
  readonly destination: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** The interface it came in by; empty when the node itself sends it. */
  readonly inInterface: string;
}

/** What the node knows of itself beside the plans. */
export interface NodeFacts {
  /** Every address of the node, loopback included. */
  readonly localAddresses: ReadonlySet<string>;
}

export interface Target {
  readonly endpoint: PlanEndpoint;
  /** The endpoint sees this node's address instead of the sender's. */
  readonly masquerade: boolean;
}

export type Verdict =
  | {
      readonly action: 'balance';
      readonly plan: ServicePlan;
      readonly frontEnd: FrontEnd;
      /** Each as likely as the others. */
      readonly targets: readonly Target[];
    }
  | { readonly action: 'reject'; readonly reason: 'no-endpoints' | 'undefined-port' }
  | { readonly action: 'drop'; readonly reason: 'no-local-endpoints' | 'source-not-allowed' | 'unallocated' }
  /** Not a Service's business: routed as any packet. */
  | { readonly action: 'pass' };

/** Plans by what they answer on, for `verdict`. Later plans do not replace earlier ones. */
export class PlanIndex {
  readonly #byFrontEnd = new Map<string, { plan: ServicePlan; frontEnd: FrontEnd }>();
  readonly #clusterIPs = new Set<string>();

  constructor(plans: Iterable<ServicePlan>) {
    for (const plan of plans) {
      for (const frontEnd of plan.frontEnds) {
        const key = `${plan.protocol} ${frontEnd.address} ${frontEnd.port}`;
        if (!this.#byFrontEnd.has(key)) this.#byFrontEnd.set(key, { plan, frontEnd });
        if (frontEnd.kind === 'clusterIP') this.#clusterIPs.add(frontEnd.address);
      }
    }
  }

  /** @param address empty for a node port. */
  find(
    protocol: Protocol,
    address: string,
    port: number,
  ): { plan: ServicePlan; frontEnd: FrontEnd } | undefined {
    return this.#byFrontEnd.get(`${protocol} ${address} ${port}`);
  }

  isClusterIP(address: string): boolean {
    return this.#clusterIPs.has(address);
  }
}

/** Which class of sender policy takes a packet to be from. */
export function senderClass(packet: Packet, node: NodePlan, facts: NodeFacts): SenderClass {
  if (isFromPod(packet, node)) return 'pod';
  return facts.localAddresses.has(packet.source) ? 'node' : 'other';
}

function isFromPod(packet: Packet, { detector }: NodePlan): boolean {
  switch (detector.kind) {
    case 'none':
      return false;
    case 'cidr':
      return cidrContains(detector.cidr, packet.source);
    case 'interface':
      return packet.inInterface === detector.name;
    case 'interface-prefix':
      return packet.inInterface.startsWith(detector.prefix);
  }
}

/**
 * @param index the plans of the packet's family, claims settled
 * @returns the verdict; probability is even over `targets`
 */
export function verdict(index: PlanIndex, node: NodePlan, facts: NodeFacts, packet: Packet): Verdict {
  const hit =
    index.find(packet.protocol, packet.destination, packet.port) ??
    (acceptsNodePorts(packet.destination, node, facts)
      ? index.find(packet.protocol, '', packet.port)
      : undefined);
  if (hit === undefined) return unclaimed(index, node, facts, packet);
  const { plan, frontEnd } = hit;
  const allowed = frontEnd.allowedSources;
  if (allowed && !allowed.some((cidr) => cidrContains(cidr, packet.source))) {
    return { action: 'drop', reason: 'source-not-allowed' };
  }
  const route = frontEnd.routes[senderClass(packet, node, facts)];
  if (route.action === 'reject') return { action: 'reject', reason: 'no-endpoints' };
  if (route.action === 'drop') return { action: 'drop', reason: 'no-local-endpoints' };
  const targets = plan.pools[route.pool].map((endpoint) => ({
    endpoint,
    masquerade: route.masquerade || (endpoint.maybeHere && endpoint.address === packet.source),
  }));
  return { action: 'balance', plan, frontEnd, targets };
}

function acceptsNodePorts(destination: string, node: NodePlan, facts: NodeFacts): boolean {
  if (node.nodePortAddresses !== 'any') return node.nodePortAddresses.includes(destination);
  return facts.localAddresses.has(destination) && !isLoopback(destination);
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
}

/** A cluster IP's other ports are closed; the rest of the Service networks leads nowhere. */
function unclaimed(index: PlanIndex, node: NodePlan, facts: NodeFacts, packet: Packet): Verdict {
  if (facts.localAddresses.has(packet.destination)) return { action: 'pass' };
  if (index.isClusterIP(packet.destination)) return { action: 'reject', reason: 'undefined-port' };
  if (node.serviceCIDRs.some((cidr) => cidrContains(cidr, packet.destination))) {
    return { action: 'drop', reason: 'unallocated' };
  }
  return { action: 'pass' };
}
