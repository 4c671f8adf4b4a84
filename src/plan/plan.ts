/**
 * What should happen, decided once for every mode. One `ServicePlan` per Service port and IP family;
 * back ends translate it and hold no policy of their own.
 */
import type { IpFamily, ObjectKey, Protocol } from '../cluster/values.ts';

/**
 * Who sent a packet, as far as policy cares: a pod of this node (local-traffic detection says so), this
 * node itself, or anyone else. A packet that is both (the node's own address inside the pod CIDR) is a pod's.
 */
export type SenderClass = 'pod' | 'node' | 'other';
export const SENDER_CLASSES: readonly SenderClass[] = ['pod', 'node', 'other'];

export interface PlanEndpoint {
  readonly address: string;
  readonly port: number;
  /**
   * Whether its own packets may come back to it on this node, so that hairpin masquerade is needed: it is on
   * this node, or nothing proves that it is on another one.
   */
  readonly maybeHere: boolean;
}

/** Why an endpoint is in a pool or in none. */
export type EndpointReason =
  | 'ready'
  | 'terminating-but-serving'
  | 'not-ready'
  | 'terminating'
  | 'terminating-not-needed'
  | 'not-on-this-node'
  | 'no-hint-for-zone'
  | 'no-hint-for-node'
  | 'duplicate';

/** What became of one endpoint, for whoever asks; plans keep the pools alone. */
export interface EndpointDecision {
  readonly address: string;
  readonly port: number;
  readonly nodeName: string;
  /** In the pool of policy Cluster. */
  readonly cluster: boolean;
  /** In the pool of policy Local. */
  readonly local: boolean;
  readonly clusterReason: EndpointReason;
  readonly localReason: EndpointReason;
}

export type Pool = 'cluster' | 'local';

export type Route =
  | { readonly action: 'balance'; readonly pool: Pool; readonly masquerade: boolean }
  | { readonly action: 'reject' }
  | { readonly action: 'drop' };

export type FrontEndKind = 'clusterIP' | 'externalIP' | 'loadBalancerIP' | 'nodePort';

export interface FrontEnd {
  readonly kind: FrontEndKind;
  /** Empty for a node port, which answers on the node's `nodePortAddresses`. */
  readonly address: string;
  readonly port: number;
  readonly routes: Readonly<Record<SenderClass, Route>>;
  /**
   * CIDRs that may use this load-balancer address; others are dropped, all of them where the list is empty.
   * Absent: no restriction. Where the node itself is allowed, the Service's own load-balancer addresses are in
   * the list too, because the node reaches the address it dials with that address as its source (kubernetes/kubernetes#109826).
   */
  readonly allowedSources?: readonly string[];
}

export interface ServicePlan {
  /** `default/web:http`, without the colon part for an unnamed port: as kube-proxy writes it in comments. */
  readonly key: string;
  readonly service: ObjectKey;
  readonly namespace: string;
  readonly name: string;
  readonly portName: string;
  readonly protocol: Protocol;
  readonly family: IpFamily;
  readonly createdAt: number;
  /** 0 for none. */
  readonly affinitySeconds: number;
  /** What the Service asks for, and only IPVS mode can give. */
  readonly ipvsScheduler?: string;
  /** The Service's, the same for each of its ports; 0 for none. A firewall of this node must let it in. */
  readonly healthCheckNodePort: number;
  /** Sorted by address, then port. Equal for the same objects in any order. */
  readonly pools: Readonly<Record<Pool, readonly PlanEndpoint[]>>;
  readonly frontEnds: readonly FrontEnd[];
}

/** How a pod of this node is told from everyone else (`--detect-local-mode`), one family's share of it. */
export type LocalDetector =
  | { readonly kind: 'none' }
  | { readonly kind: 'cidr'; readonly cidr: string }
  | { readonly kind: 'interface'; readonly name: string }
  | { readonly kind: 'interface-prefix'; readonly prefix: string };

/** What the rules of one family need to know beside the Services. */
export interface NodePlan {
  readonly family: IpFamily;
  readonly detector: LocalDetector;
  readonly masqueradeAll: boolean;
  /** 0..31. */
  readonly masqueradeBit: number;
  /** Where node ports answer: any address of the node but loopback, or exactly these. */
  readonly nodePortAddresses: 'any' | readonly string[];
  /**
   * Every address of the node's own interfaces but loopback, sorted; only for a mode whose rules name them one by
   * one. Addresses that the mode itself put on an interface are not the node's.
   */
  readonly localAddresses?: readonly string[];
  /**
   * Addresses of the cluster's Nodes that Services have as external ones, sorted; only for a mode that makes
   * addresses of Services the node's own.
   */
  readonly claimedNodeAddresses?: readonly string[];
  /** Networks that cluster IPs are allocated from; traffic to unallocated ones is dropped. Sorted. */
  readonly serviceCIDRs: readonly string[];
}
