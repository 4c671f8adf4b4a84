/**
 * The part of the table that does not depend on any Service: base chains, shared sets and maps, and the chains
 * between them. Hooks and priorities are kube-proxy's, which others order themselves against.
 */
import { type IpFamily, PROTOCOLS, type Protocol } from '../../src/cluster/values.ts';
import { compareText, disjointCidrs } from '../../src/net/ip.ts';
import type { NodePlan } from '../../src/plan/plan.ts';
import {
  addressType,
  markBit,
  markForMasquerade,
  NODE_PORT_KEY,
  nftFamily,
  notFromPod,
  serviceKey,
} from './dialect.ts';
import type { TableObjects } from './objects.ts';

/** Writes the skeleton for a node into `out`. */
export function renderSkeleton(node: NodePlan, out: TableObjects): void {
  declareSets(node, out);
  declareHooks(out);
  for (const [chain, rules] of Object.entries(chainRules(node))) out.chain(chain, rules);
  if (node.nodePortAddresses !== 'any') {
    for (const address of [...node.nodePortAddresses].sort(compareText)) out.element('nodeport-ips', address);
  }
}

function declareSets(node: NodePlan, out: TableObjects): void {
  const { family } = node;
  const address = addressType(family);
  const front = `${address} . inet_proto . inet_service`;
  out.set('cluster-ips', `set { type ${address} ; comment "Active ClusterIPs" ; }`);
  if (node.nodePortAddresses !== 'any') {
    out.set('nodeport-ips', `set { type ${address} ; comment "IPs that accept NodePort traffic" ; }`);
  }
  out.set(
    'hairpin-connections',
    `set { type ${address} . ${front} ; comment "service hairpin connections" ; }`,
  );
  const verdictMap = (key: string, comment: string): string =>
    `map { type ${key} : verdict ; comment "${comment}" ; }`;
  out.set('service-ips', verdictMap(front, 'ClusterIP, ExternalIP and LoadBalancer IP traffic'));
  out.set('service-nodeports', verdictMap('inet_proto . inet_service', 'NodePort traffic'));
  out.set('local-ips', verdictMap(front, 'outside traffic under externalTrafficPolicy Local'));
  out.set(
    'local-nodeports',
    verdictMap('inet_proto . inet_service', 'outside NodePort traffic under externalTrafficPolicy Local'),
  );
  out.set(
    'no-endpoint-services',
    verdictMap(front, 'vmap to drop or reject packets to services with no endpoints'),
  );
  out.set(
    'no-endpoint-nodeports',
    verdictMap(
      'inet_proto . inet_service',
      'vmap to drop or reject packets to service nodeports with no endpoints',
    ),
  );
  out.set('firewall-ips', verdictMap(front, 'destinations that are subject to LoadBalancerSourceRanges'));
  for (const protocol of PROTOCOLS) {
    for (const kind of ENDPOINT_MAPS) {
      out.set(endpointMap(kind, protocol), endpointMapDeclaration(family, kind, protocol));
    }
  }
}

/**
 * Where pick chains find endpoints: by front end and a number from 0 to one less than their count. A node port
 * has no address to be found by. `local` ones are for outside senders under externalTrafficPolicy Local.
 */
const ENDPOINT_MAPS = [
  'endpoints',
  'local-endpoints',
  'nodeport-endpoints',
  'local-nodeport-endpoints',
] as const;

export type EndpointMapKind = (typeof ENDPOINT_MAPS)[number];

/**
 * One map for each protocol: nft (1.0.6) refuses a new rule that looks into a map it finds in the kernel when
 * the map's `typeof` names another protocol than the rule matches.
 */
export function endpointMap(kind: EndpointMapKind, protocol: Protocol): string {
  return `${protocol.toLowerCase()}-${kind}`;
}

/** What an endpoint map is searched by, before the number. */
export function endpointKey(family: IpFamily, kind: EndpointMapKind, protocol: Protocol): string {
  const port = `${protocol.toLowerCase()} dport`;
  const nodePort = kind === 'nodeport-endpoints' || kind === 'local-nodeport-endpoints';
  return nodePort ? port : `${nftFamily(family)} daddr . ${port}`;
}

function endpointMapDeclaration(family: IpFamily, kind: EndpointMapKind, protocol: Protocol): string {
  const key = endpointKey(family, kind, protocol);
  const data = `${nftFamily(family)} daddr . ${protocol.toLowerCase()} dport`;
  return `map { typeof ${key} . numgen random mod 65536 : ${data} ; }`;
}

function declareHooks(out: TableObjects): void {
  const hooks: Record<string, string> = {
    'filter-prerouting-pre-dnat': 'type filter hook prerouting priority -110',
    'filter-output-pre-dnat': 'type filter hook output priority -110',
    'filter-input': 'type filter hook input priority 0',
    'filter-forward': 'type filter hook forward priority 0',
    'filter-output': 'type filter hook output priority 0',
    'nat-prerouting': 'type nat hook prerouting priority -100',
    'nat-output': 'type nat hook output priority -100',
    'nat-postrouting': 'type nat hook postrouting priority 100',
  };
  for (const [chain, hook] of Object.entries(hooks)) out.hooks.set(chain, hook);
}

function chainRules(node: NodePlan): Record<string, readonly string[]> {
  const ip = nftFamily(node.family);
  const front = serviceKey(node.family);
  const nodePort = `${nodePortMatch(node)}${NODE_PORT_KEY}`;
  return {
    'filter-prerouting-pre-dnat': ['ct state new jump firewall-check'],
    'filter-output-pre-dnat': ['ct state new jump firewall-check'],
    'filter-input': [
      'ct state new jump nodeport-endpoints-check',
      'ct state new jump service-endpoints-check',
    ],
    'filter-forward': ['ct state new jump service-endpoints-check', 'ct state new jump cluster-ips-check'],
    'filter-output': ['ct state new jump service-endpoints-check', 'ct state new jump cluster-ips-check'],
    'nat-prerouting': ['jump services'],
    'nat-output': ['jump services'],
    'nat-postrouting': ['jump masquerading'],
    'firewall-check': [`${front} vmap @firewall-ips`],
    services: servicesChain(node, front, nodePort),
    'nodeport-endpoints-check': [`${nodePort} vmap @no-endpoint-nodeports`],
    'service-endpoints-check': [`${front} vmap @no-endpoint-services`],
    'cluster-ips-check': [
      `${ip} daddr @cluster-ips reject comment "Reject traffic to invalid ports of ClusterIPs"`,
      ...unallocated(node),
    ],
    'reject-chain': ['reject'],
    masquerading: [
      `meta mark and ${markBit(node)} != 0 meta mark set meta mark xor ${markBit(node)} masquerade fully-random`,
      `ct status dnat ${ip} saddr . ${front} @hairpin-connections masquerade fully-random`,
    ],
  };
}

/**
 * Senders from outside are sorted out first where a Service keeps external traffic local; everyone then meets
 * one map for addresses and one for node ports, whatever the number of Services.
 */
function servicesChain(node: NodePlan, front: string, nodePort: string): string[] {
  const outside = `${notFromPod(node)}fib saddr type != local `;
  return [
    ...masqueradeClusterIPs(node),
    `${outside}${front} vmap @local-ips`,
    `${front} vmap @service-ips`,
    `${outside}${nodePort} vmap @local-nodeports`,
    `${nodePort} vmap @service-nodeports`,
  ];
}

function masqueradeClusterIPs(node: NodePlan): string[] {
  const toClusterIP = `${nftFamily(node.family)} daddr @cluster-ips `;
  const mark = markForMasquerade(node);
  if (node.masqueradeAll) return [`${toClusterIP}${mark} comment "masquerade all traffic to ClusterIPs"`];
  if (node.detector.kind === 'none') return [];
  return [
    `${toClusterIP}${notFromPod(node)}${mark} comment "masquerade clusterIP traffic from outside cluster"`,
  ];
}

/** Node ports answer on chosen addresses, or on any of the node's but loopback. */
function nodePortMatch(node: NodePlan): string {
  const ip = nftFamily(node.family);
  if (node.nodePortAddresses !== 'any') return `${ip} daddr @nodeport-ips `;
  return `fib daddr type local ${ip} daddr != ${node.family === 'IPv4' ? '127.0.0.0/8' : '::1'} `;
}

function unallocated(node: NodePlan): string[] {
  const cidrs = disjointCidrs(node.serviceCIDRs);
  if (cidrs.length === 0) return [];
  const networks = cidrs.length === 1 ? cidrs[0] : `{ ${cidrs.join(', ')} }`;
  return [
    `${nftFamily(node.family)} daddr ${networks} drop comment "Drop traffic to unallocated ClusterIPs"`,
  ];
}
