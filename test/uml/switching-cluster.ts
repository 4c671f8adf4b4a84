/** What is in the cluster while modes are changed, and where it is dialled from. */
import type { ApiObject } from '../support/scenarios.ts';
import { service, slice } from './node.ts';

export const ENDPOINTS = ['10.244.1.2', '10.244.1.3', '10.244.2.2'];
/** IPVS cannot tell answers apart that one endpoint gives to one port of a client in two connections. */
export const OTHER_ENDPOINTS = ['10.244.1.4', '10.244.1.5', '10.244.2.4'];
export const HTTP = { name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' };

export const CLUSTER_IP = { address: '10.96.50.1', port: 80, protocol: 'tcp' } as const;
export const NODE_PORT = { address: '172.30.0.11', port: 30050, protocol: 'tcp' } as const;
export const LOAD_BALANCER = { address: '203.0.113.80', port: 80, protocol: 'tcp' } as const;

/** From a pod, from outside, and from the node itself. */
export const FROM_EVERYWHERE = [
  { host: 'client1', ...CLUSTER_IP },
  { host: 'ext', ...NODE_PORT },
  { host: 'node1', ...CLUSTER_IP },
] as const;

export const WEB: readonly ApiObject[] = [
  service('web', { type: 'NodePort', clusterIP: '10.96.50.1', ports: [{ ...HTTP, nodePort: 30050 }] }),
  slice('web', ENDPOINTS),
];

/** For those outside alone. */
export const RESTRICTED: readonly ApiObject[] = [
  service(
    'lb',
    {
      type: 'LoadBalancer',
      clusterIP: '10.96.50.3',
      ports: [{ ...HTTP, nodePort: 30051 }],
      loadBalancerSourceRanges: ['172.30.0.0/24'],
    },
    { loadBalancer: { ingress: [{ ip: LOAD_BALANCER.address }] } },
  ),
  slice('lb', OTHER_ENDPOINTS),
];
