/**
 * What the options and the Node object say about this node's rules. Pure: the node's own addresses are passed in.
 */
import type { IpFamily, NodeValue } from '../cluster/values.ts';
import { cidrContains, compareText, disjointCidrs, familyOf, prefixLength } from '../net/ip.ts';
import type { LocalDetector, NodePlan } from '../plan/plan.ts';
import type { Options } from './options.ts';

/**
 * How this node's pods are told from everyone else, for each family (KEP-2450). Of several CIDRs of one family
 * the first counts; a family without one cannot tell, which is what kube-proxy does too.
 */
export function localDetectors(
  options: Pick<Options, 'detectLocalMode' | 'clusterCidr' | 'podBridgeInterface' | 'podInterfaceNamePrefix'>,
  node: Pick<NodeValue, 'podCIDRs'> | undefined,
): Readonly<Record<IpFamily, LocalDetector>> {
  switch (options.detectLocalMode) {
    case 'ClusterCIDR':
      return byCidr(options.clusterCidr);
    case 'NodeCIDR':
      return byCidr(node?.podCIDRs ?? []);
    case 'BridgeInterface':
      return both({ kind: 'interface', name: options.podBridgeInterface });
    case 'InterfaceNamePrefix':
      return both({ kind: 'interface-prefix', prefix: options.podInterfaceNamePrefix });
  }
}

function both(detector: LocalDetector): Record<IpFamily, LocalDetector> {
  return { IPv4: detector, IPv6: detector };
}

function byCidr(cidrs: readonly string[]): Record<IpFamily, LocalDetector> {
  const first = (family: IpFamily): LocalDetector => {
    const cidr = cidrs.find((candidate) => familyOf(candidate) === family);
    return cidr === undefined ? { kind: 'none' } : { kind: 'cidr', cidr };
  };
  return { IPv4: first('IPv4'), IPv6: first('IPv6') };
}

/** The node's address in one family: `--bind-address` where it names one, else the Node object's. */
export function primaryAddress(
  options: Pick<Options, 'bindAddress'>,
  node: Pick<NodeValue, 'addresses'> | undefined,
  family: IpFamily,
): string | undefined {
  const { bindAddress } = options;
  if (familyOf(bindAddress) === family && bindAddress !== '0.0.0.0' && bindAddress !== '::')
    return bindAddress;
  return node?.addresses.find((address) => familyOf(address) === family);
}

/**
 * What one family's rules need to know beside the Services: `serviceCIDRs`, `nodeAddresses` (of all interfaces) and
 * `claimedNodeAddresses` (see `NodePlan`) are canonical and may be of both families. Equal input in any order gives
 * equal output.
 */
export function nodePlan(
  options: Options,
  node: NodeValue | undefined,
  serviceCIDRs: Iterable<string>,
  nodeAddresses: readonly string[],
  family: IpFamily,
  claimedNodeAddresses: readonly string[] = [],
): NodePlan {
  return {
    family,
    detector: localDetectors(options, node)[family],
    masqueradeAll: options.masqueradeAll,
    masqueradeBit: options.masqueradeBit,
    nodePortAddresses: nodePortAddresses(options, node, nodeAddresses, family),
    ...(options.proxyMode === 'ipvs'
      ? {
          localAddresses: localAddresses(nodeAddresses, family),
          claimedNodeAddresses: claimedNodeAddresses.filter((address) => familyOf(address) === family),
        }
      : {}),
    serviceCIDRs: disjointCidrs([...serviceCIDRs].filter((cidr) => familyOf(cidr) === family)),
  };
}

/**
 * Where node ports answer. A family that the configuration says nothing about answers everywhere, also when
 * `primary` finds no address of it: so does kube-proxy, and a Node without addresses yet keeps its node ports.
 */
function nodePortAddresses(
  options: Options,
  node: NodeValue | undefined,
  nodeAddresses: readonly string[],
  family: IpFamily,
): 'any' | readonly string[] {
  const wanted = options.nodeportAddresses ?? (options.proxyMode === 'nftables' ? 'primary' : []);
  if (wanted === 'primary') {
    const address = primaryAddress(options, node, family);
    return address === undefined || isLoopback(address) ? 'any' : [address];
  }
  const cidrs = wanted.filter((cidr) => familyOf(cidr) === family);
  if (cidrs.length === 0 || cidrs.some((cidr) => prefixLength(cidr) === 0)) return 'any';
  const loopbackToo = options.proxyMode === 'iptables' && family === 'IPv4';
  const picked = nodeAddresses.filter(
    (address) => (loopbackToo || !isLoopback(address)) && cidrs.some((cidr) => cidrContains(cidr, address)),
  );
  return [...new Set(picked)].sort(compareText);
}

/** What IPVS has virtual servers on: link-local addresses mean another interface on each link, so they are out. */
function localAddresses(nodeAddresses: readonly string[], family: IpFamily): string[] {
  const own = nodeAddresses.filter(
    (address) => familyOf(address) === family && !isLoopback(address) && !cidrContains('fe80::/10', address),
  );
  return [...new Set(own)].sort(compareText);
}

/** Node ports answer on loopback in iptables mode alone, and only over IPv4; kube-proxy has it so. */
function isLoopback(address: string): boolean {
  return cidrContains(familyOf(address) === 'IPv4' ? '127.0.0.0/8' : '::1/128', address);
}
