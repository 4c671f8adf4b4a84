/** A UDP Service, named `dns` unless told otherwise, and what goes with it in the test network; both families. */
import { ADDRESS } from './network/topology.ts';
import type { ApiObject } from './scenarios.ts';

/** What tests need in each family: a Service's addresses, this node's, and three pods'. */
export const FAMILIES = [
  {
    family: 'IPv4',
    flag: 'ipv4',
    clusterIP: '10.96.50.10',
    otherIP: '10.96.50.11',
    balancer: '203.0.113.7',
    node: ADDRESS.node1.ipv4,
    pods: ['10.244.1.2', '10.244.1.3', '10.244.2.2'],
    backend: (address: string) => `${address}:8053`,
    stranger: (number: number) => `198.51.${100 + (number >> 8)}.${number & 255}`,
  },
  {
    family: 'IPv6',
    flag: 'ipv6',
    clusterIP: 'fd00:10:96::50:10',
    otherIP: 'fd00:10:96::50:11',
    balancer: '2001:db8:113::7',
    node: ADDRESS.node1.ipv6,
    pods: ['fd00:244:1::2', 'fd00:244:1::3', 'fd00:244:2::2'],
    backend: (address: string) => `[${address}]:8053`,
    stranger: (number: number) => `2001:db8:51::${(number + 1).toString(16)}`,
  },
] as const;
export type Family = (typeof FAMILIES)[number];

/** A line for `conntrack -R`: makes the kernel believe that a stranger was led from the cluster IP to an endpoint. */
export function strangersFlow({ clusterIP, stranger }: Family, number: number, by: string): string {
  const client = stranger(number);
  return `-A -p udp -s ${client} -d ${clusterIP} --sport 5000 --dport 53 -r ${by} -q ${client} --reply-port-src 8053 --reply-port-dst 5000 -t 600\n`;
}

export interface DnsFields {
  readonly name?: string;
  readonly clusterIP?: string;
  readonly port?: number;
  readonly balancer?: boolean;
  readonly terminating?: readonly string[];
}

/** UDP and TCP on one port, with a node port and, unless told otherwise, a load balancer's address. */
export function dnsService({ family, ...own }: Family, fields: DnsFields = {}): ApiObject {
  const { name = 'dns', clusterIP = own.clusterIP, port = 53, balancer = name === 'dns' } = fields;
  const ports = ['UDP', 'TCP'].map((protocol) => ({
    name: protocol.toLowerCase(),
    protocol,
    port,
    ...(name === 'dns' ? { nodePort: 30_053 } : {}),
  }));
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'default', name },
    spec: { type: 'LoadBalancer', clusterIP, clusterIPs: [clusterIP], ipFamilies: [family], ports },
    ...(balancer ? { status: { loadBalancer: { ingress: [{ ip: own.balancer }] } } } : {}),
  };
}

export function dnsSlice({ family }: Family, ready: readonly string[], fields: DnsFields = {}): ApiObject {
  const { name = 'dns', terminating = [] } = fields;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace: 'default',
      name: `${name}-a`,
      labels: { 'kubernetes.io/service-name': name },
    },
    addressType: family,
    ports: [
      { name: 'udp', protocol: 'UDP', port: 8053 },
      { name: 'tcp', protocol: 'TCP', port: 8053 },
    ],
    endpoints: [
      ...ready.map((address) => endpoint(address, { ready: true, serving: true, terminating: false })),
      ...terminating.map((address) => endpoint(address, { ready: false, serving: true, terminating: true })),
    ],
  };
}

function endpoint(address: string, conditions: object): object {
  return {
    addresses: [address],
    nodeName: /^10\.244\.1|:244:1:/.test(address) ? 'node1' : 'node2',
    conditions,
  };
}
