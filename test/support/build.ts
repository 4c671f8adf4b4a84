/** Cluster values for tests: what matters is written out, the rest is as plain as can be. */
import type {
  EndpointValue,
  NodeValue,
  ServicePortValue,
  ServiceValue,
  SliceValue,
} from '../../src/cluster/values.ts';
import type { NodePlan } from '../../src/plan/plan.ts';
import type { PlanContext } from '../../src/plan/service-plan.ts';

/** `default/web` with cluster IP 10.96.0.10 and port `http` 80. */
export function buildService(fields: Partial<ServiceValue> = {}): ServiceValue {
  return {
    kind: 'Service',
    namespace: 'default',
    name: 'web',
    createdAt: 0,
    type: 'ClusterIP',
    clusterIPs: ['10.96.0.10'],
    externalIPs: [],
    loadBalancerIPs: [],
    sourceRanges: [],
    restrictedFamilies: [],
    externalTrafficPolicy: 'Cluster',
    internalTrafficPolicy: 'Cluster',
    affinitySeconds: 0,
    healthCheckNodePort: 0,
    ports: [buildPort()],
    ...fields,
  };
}

/** node1, of which nothing else is known. */
export function buildNode(fields: Partial<NodeValue> = {}): NodeValue {
  return {
    kind: 'Node',
    name: 'node1',
    addresses: [],
    allAddresses: [],
    podCIDRs: [],
    zone: '',
    leaving: false,
    ...fields,
  };
}

export function buildPort(fields: Partial<ServicePortValue> = {}): ServicePortValue {
  return { name: 'http', protocol: 'TCP', port: 80, nodePort: 0, ...fields };
}

/** A ready endpoint on node1. */
export function buildEndpoint(address: string, fields: Partial<EndpointValue> = {}): EndpointValue {
  return {
    address,
    nodeName: 'node1',
    ready: true,
    serving: true,
    terminating: false,
    zoneHints: [],
    nodeHints: [],
    ...fields,
  };
}

/** `default/web-a` of Service `web`, port `http` 8080. */
export function buildSlice(
  endpoints: readonly EndpointValue[],
  fields: Partial<SliceValue> = {},
): SliceValue {
  return {
    kind: 'EndpointSlice',
    namespace: 'default',
    name: 'web-a',
    serviceName: 'web',
    family: 'IPv4',
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    endpoints,
    lastChangeAt: 0,
    ...fields,
  };
}

/** node1 in zone z1, pods in 10.244.0.0/16. */
export function buildContext(fields: Partial<PlanContext> = {}): PlanContext {
  return {
    family: 'IPv4',
    nodeName: 'node1',
    zone: 'z1',
    detector: { kind: 'cidr', cidr: '10.244.0.0/16' },
    masqueradeAll: false,
    nodeAddresses: ['172.30.0.11'],
    podCIDRs: ['10.244.1.0/24'],
    ...fields,
  };
}

/** node1: node ports on 172.30.0.11, Service network 10.96.0.0/12. */
export function buildNodePlan(fields: Partial<NodePlan> = {}): NodePlan {
  return {
    family: 'IPv4',
    detector: { kind: 'cidr', cidr: '10.244.0.0/16' },
    masqueradeAll: false,
    masqueradeBit: 14,
    nodePortAddresses: ['172.30.0.11'],
    serviceCIDRs: ['10.96.0.0/12'],
    ...fields,
  };
}
