/** The cluster of the recordings in `../shared/reference/scale`, at any size. */
import type { KubeObject } from '../test/support/apiserver/apiserver.ts';

export interface Size {
  readonly services: number;
  readonly endpoints: number;
}

export function sizeText({ services, endpoints }: Size): string {
  return `${services.toLocaleString('en')} × ${endpoints}`;
}

function address(base: number, index: number): string {
  return `10.${base + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
}

/** Service `svc-i`, cluster IP 10.97.0.0 and up. */
export function benchService(index: number): KubeObject {
  const clusterIP = address(97, index);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: `svc-${index}`, namespace: 'default' },
    spec: {
      type: 'ClusterIP',
      clusterIP,
      clusterIPs: [clusterIP],
      ipFamilies: ['IPv4'],
      ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }],
      selector: { app: `svc-${index}` },
    },
  };
}

/** Its slice; `replaced` gives the first endpoint another address, as when a pod is replaced. */
export function benchSlice(index: number, endpoints: number, replaced = 0): KubeObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `svc-${index}-x`,
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': `svc-${index}` },
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: Array.from({ length: endpoints }, (_, number) => {
      const k = index * endpoints + number;
      return {
        addresses: [number === 0 && replaced > 0 ? `10.240.0.${replaced}` : address(200, k)],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: number % 2 === 1 ? 'node1' : 'node2',
        targetRef: { kind: 'Pod', namespace: 'default', name: `svc-${index}-${number}` },
      };
    }),
  };
}

export function* benchObjects({ services, endpoints }: Size): Generator<KubeObject> {
  yield {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node1' },
    spec: { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24'] },
    status: { addresses: [{ type: 'InternalIP', address: '172.30.0.11' }] },
  };
  yield {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name: 'kubernetes' },
    spec: { cidrs: ['10.96.0.0/12'] },
  };
  for (let index = 0; index < services; index++) {
    yield benchService(index);
    yield benchSlice(index, endpoints);
  }
}
