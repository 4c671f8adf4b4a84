/** Where UDP Services answer on this node, and which endpoints a flow there may have: from desired state alone. */
import type { ObjectKey, SliceValue } from '../cluster/values.ts';
import { familyOf, specialAddress } from '../net/ip.ts';
import type { NodePlan, ServicePlan } from '../plan/plan.ts';
import { type SocketKey, socketKey } from './flow.ts';

/** Plans as they were written, with the node they were written for. */
export interface InForce {
  readonly node: NodePlan;
  /** Of one family, claims settled. Those of other protocols than UDP are passed over. */
  readonly plans: Iterable<ServicePlan>;
}

export interface UdpFrontEnd {
  /** It is no more. */
  readonly former: boolean;
  /** Endpoints whose flows are good. */
  readonly endpoints: ReadonlySet<SocketKey>;
  /** A flow that no rule translated is nothing of ours here. */
  readonly onlyTranslated: boolean;
}

export type UdpFrontEnds = ReadonlyMap<SocketKey, UdpFrontEnd>;

export interface FrontEndInput {
  readonly now: InForce;
  /** Front ends that were in force before and may have left flows behind. */
  readonly former: Iterable<SocketKey>;
  /** Addresses of this node's interfaces, of any family. */
  readonly nodeAddresses: readonly string[];
  readonly slicesOf: (service: ObjectKey) => readonly SliceValue[];
}

/**
 * The front ends of now, and former ones that are no more: there no flow that was translated is good, and one that
 * was not is not ours.
 */
export function udpFrontEnds({ now, former, nodeAddresses, slicesOf }: FrontEndInput): UdpFrontEnds {
  const frontEnds = new Map<SocketKey, UdpFrontEnd>();
  const atNodePorts = new Map<SocketKey, UdpFrontEnd>();
  for (const plan of udpPlans(now)) {
    const endpoints = goodEndpoints(plan, slicesOf(plan.service));
    for (const { key, kind } of sockets(plan, now.node, nodeAddresses)) {
      const ours = { former: false, endpoints, onlyTranslated: kind === 'loopback' };
      (kind === 'address' ? frontEnds : atNodePorts).set(key, ours);
    }
  }
  // Rules look for an address before they look for a node port.
  for (const [key, own] of atNodePorts) if (!frontEnds.has(key)) frontEnds.set(key, own);
  for (const key of former) if (!frontEnds.has(key)) frontEnds.set(key, FORMER);
  return frontEnds;
}

/** Where these plans answer. */
export function* udpSockets(inForce: InForce, nodeAddresses: readonly string[]): Generator<SocketKey> {
  for (const plan of udpPlans(inForce)) {
    for (const { key } of sockets(plan, inForce.node, nodeAddresses)) yield key;
  }
}

const FORMER: UdpFrontEnd = { former: true, endpoints: new Set(), onlyTranslated: true };

function* udpPlans({ plans }: InForce): Generator<ServicePlan> {
  for (const plan of plans) if (plan.protocol === 'UDP') yield plan;
}

/**
 * Every endpoint that a rule may lead to, or might have a moment ago and still answers: policies and topology choose
 * among these for new flows, and are no reason to cut one that works. A pod that is not ready counts where its
 * Service publishes it all the same (`publishNotReadyAddresses` sets `ready`, not `serving`).
 */
function goodEndpoints(plan: ServicePlan, slices: readonly SliceValue[]): ReadonlySet<SocketKey> {
  const good = new Set<SocketKey>();
  for (const slice of slices) {
    if (slice.family !== plan.family) continue;
    for (const port of slice.ports) {
      if (port.name !== plan.portName || port.protocol !== plan.protocol) continue;
      for (const { address, ready, serving } of slice.endpoints) {
        if (ready || serving) good.add(socketKey(address, port.port));
      }
    }
  }
  return good;
}

interface Socket {
  readonly key: SocketKey;
  /**
   * Loopback has node ports in one mode only; in the others whatever listens there is a program of the node's own.
   */
  readonly kind: 'address' | 'node-port' | 'loopback';
}

function* sockets(plan: ServicePlan, node: NodePlan, nodeAddresses: readonly string[]): Generator<Socket> {
  for (const { address, port } of plan.frontEnds) {
    if (address !== '') yield { key: socketKey(address, port), kind: 'address' };
    else {
      for (const own of nodePortAddresses(node, nodeAddresses)) {
        const kind = specialAddress(own) === 'loopback' ? 'loopback' : 'node-port';
        yield { key: socketKey(own, port), kind };
      }
    }
  }
}

function nodePortAddresses(node: NodePlan, nodeAddresses: readonly string[]): readonly string[] {
  if (node.nodePortAddresses !== 'any') return node.nodePortAddresses;
  return (node.localAddresses ?? nodeAddresses).filter((address) => familyOf(address) === node.family);
}
