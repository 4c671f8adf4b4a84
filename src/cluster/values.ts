/**
 * The cluster as this program keeps it: small plain values cut from API objects as they arrive.
 * Addresses are canonical text (RFC 5952 for IPv6) and already split by family; everything kube-proxy does
 * not read is gone. Which API fields are read, and how, is decided in `project/`.
 */

export type IpFamily = 'IPv4' | 'IPv6';
export const IP_FAMILIES: readonly IpFamily[] = ['IPv4', 'IPv6'];

export type Protocol = 'TCP' | 'UDP' | 'SCTP';
export const PROTOCOLS: readonly Protocol[] = ['TCP', 'UDP', 'SCTP'];

export type TrafficPolicy = 'Cluster' | 'Local';

/** `namespace/name`. */
export type ObjectKey = string;

export interface ServicePortValue {
  /** Empty for the unnamed port of a single-port Service. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** 0 when there is none. */
  readonly nodePort: number;
}

/** A Service that a proxy serves: never headless, never ExternalName, never another proxy's. */
export interface ServiceValue {
  readonly kind: 'Service';
  readonly namespace: string;
  readonly name: string;
  /** Milliseconds since the epoch; 0 when unknown. The older of two Services claiming one address keeps it. */
  readonly createdAt: number;
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer';
  /** At most one per family. */
  readonly clusterIPs: readonly string[];
  readonly externalIPs: readonly string[];
  /** `status.loadBalancer.ingress[].ip` whose ipMode is not `Proxy`. */
  readonly loadBalancerIPs: readonly string[];
  /** `spec.loadBalancerSourceRanges`: the CIDRs that could be read, both families mixed. */
  readonly sourceRanges: readonly string[];
  /**
   * The families `spec.loadBalancerSourceRanges` speaks of, readable or not. A family that is not here has no
   * restriction; one that is here without a CIDR in `sourceRanges` admits nobody: a typing error must not
   * open a load balancer to the world.
   */
  readonly restrictedFamilies: readonly IpFamily[];
  readonly externalTrafficPolicy: TrafficPolicy;
  readonly internalTrafficPolicy: TrafficPolicy;
  /** ClientIP affinity: seconds a client stays with its endpoint; 0 means no affinity. */
  readonly affinitySeconds: number;
  /** 0 when there is none; only for type LoadBalancer with externalTrafficPolicy Local. */
  readonly healthCheckNodePort: number;
  /** Annotation `kube-rulesync.io/ipvs-scheduler`, as it is written. */
  readonly ipvsScheduler?: string;
  readonly ports: readonly ServicePortValue[];
}

export interface SlicePortValue {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
}

export interface EndpointValue {
  /** `addresses[0]`; the API's further addresses are not used by any Service proxy. */
  readonly address: string;
  /** Empty when the API object names none. */
  readonly nodeName: string;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  /** Zone and node names; empty when the endpoint has no such hint. */
  readonly zoneHints: readonly string[];
  readonly nodeHints: readonly string[];
}

export interface SliceValue {
  readonly kind: 'EndpointSlice';
  readonly namespace: string;
  readonly name: string;
  /** The Service it belongs to (label `kubernetes.io/service-name`), in the same namespace. */
  readonly serviceName: string;
  readonly family: IpFamily;
  readonly ports: readonly SlicePortValue[];
  readonly endpoints: readonly EndpointValue[];
  /** `endpoints.kubernetes.io/last-change-trigger-time`, milliseconds since the epoch; 0 when absent. */
  readonly lastChangeAt: number;
}

export interface NodeValue {
  readonly kind: 'Node';
  readonly name: string;
  /** Primary addresses: first InternalIP (else ExternalIP), then the first of the other family. */
  readonly addresses: readonly string[];
  /** Every InternalIP and ExternalIP, in the order of the API. */
  readonly allAddresses: readonly string[];
  readonly podCIDRs: readonly string[];
  /** Label `topology.kubernetes.io/zone`; empty when absent. */
  readonly zone: string;
  /** It has a deletionTimestamp or the taint `ToBeDeletedByClusterAutoscaler`: health checks steer away. */
  readonly leaving: boolean;
}

export interface ServiceCidrValue {
  readonly kind: 'ServiceCIDR';
  readonly name: string;
  readonly cidrs: readonly string[];
}

export type ClusterValue = ServiceValue | SliceValue | NodeValue | ServiceCidrValue;
export type ValueKind = ClusterValue['kind'];

/** The key under which a value is kept: `namespace/name`, or the name of a cluster-scoped object. */
export function valueKey(value: ClusterValue): ObjectKey {
  return value.kind === 'Service' || value.kind === 'EndpointSlice'
    ? `${value.namespace}/${value.name}`
    : value.name;
}
