/** What the rules take from the tools, the kernel and the configuration, beside the plans. */
import type { NodePlan } from '../../src/plan/plan.ts';

export interface Features {
  /** MASQUERADE takes `--random-fully` (iptables 1.6.2). */
  readonly randomFully: boolean;
  /** Packets that conntrack cannot place are dropped, unless `nf_conntrack_tcp_be_liberal` is set. */
  readonly dropInvalid: boolean;
  /** nfacct counters exist or can be made. */
  readonly counters: boolean;
  /** Node ports are to answer on 127.0.0.1 (`--iptables-localhost-nodeports`). */
  readonly localhostNodePorts: boolean;
}

/** What a dry run without a look at the machine goes by: the tools and kernels of the last years. */
export const DEFAULT_FEATURES: Features = {
  randomFully: true,
  dropInvalid: true,
  counters: false,
  localhostNodePorts: true,
};

/** Packets that were dropped as INVALID. The names are kube-proxy's: its metrics are read from them. */
export const INVALID_COUNTER = 'ct_state_invalid_dropped_pkts';
/** Connections to node ports on 127.0.0.1. */
export const LOCALHOST_COUNTER = 'localhost_nps_accepted_pkts';

/** The counters that the rules of a family refer to. */
export function countersOf(node: NodePlan, features: Features): string[] {
  if (!features.counters) return [];
  return [
    ...(features.dropInvalid ? [INVALID_COUNTER] : []),
    ...(localhostNodePorts(node, features) ? [LOCALHOST_COUNTER] : []),
  ];
}

/**
 * Whether node ports answer on 127.0.0.1: asked for, and loopback is among the node-port addresses. IPv6 has no
 * such thing, the kernel drops what comes back from ::1.
 */
export function localhostNodePorts(node: NodePlan, features: Features): boolean {
  if (node.family !== 'IPv4' || !features.localhostNodePorts) return false;
  return node.nodePortAddresses === 'any' || node.nodePortAddresses.some(isLoopback);
}

/** Where node ports answer; loopback is among them only where it can be. */
export function nodePortAddresses(node: NodePlan, features: Features): NodePlan['nodePortAddresses'] {
  if (node.nodePortAddresses === 'any' || localhostNodePorts(node, features)) return node.nodePortAddresses;
  return node.nodePortAddresses.filter((address) => !isLoopback(address));
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
}
