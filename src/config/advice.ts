/** What is allowed and perhaps not meant, and what cannot be meant on a node that serves one IP family alone. */
import type { IpFamily } from '../cluster/values.ts';
import { familyOf, specialAddress } from '../net/ip.ts';
import type { OptionName } from './flags.ts';
import { flagName, type NameOf, type Options } from './options.ts';

/**
 * kube-proxy's own warnings (`checkBadConfig` and `checkBadIPConfig` in `cmd/kube-proxy/app/server.go`), to be said
 * once at the start.
 * @param families those that are served
 */
export function adviceOn(
  options: Pick<
    Options,
    'nodeportAddresses' | 'proxyMode' | 'ipvsExcludeCidrs' | 'healthzBindAddress' | 'metricsBindAddress'
  >,
  families: readonly IpFamily[],
  nameOf: NameOf = flagName,
): string[] {
  return [...nodePortAdvice(options, families, nameOf), ...familyAdvice(options, families, nameOf)];
}

function nodePortAdvice(
  { nodeportAddresses, proxyMode }: Pick<Options, 'nodeportAddresses' | 'proxyMode'>,
  families: readonly IpFamily[],
  nameOf: NameOf,
): string[] {
  const name = nameOf('nodeportAddresses');
  if (nodeportAddresses === 'primary') return [];
  if (nodeportAddresses === undefined || nodeportAddresses.length === 0) {
    if (nodeportAddresses === undefined && proxyMode === 'nftables') return [];
    return [
      `${name} is not set: node ports answer on all addresses of this node; "primary" keeps them to those of its Node`,
    ];
  }
  return families
    .filter((family) => !nodeportAddresses.some((cidr) => familyOf(cidr) === family))
    .map(
      (family) =>
        `${name} has no ${family} network: over ${family} node ports answer on all addresses of this node`,
    );
}

function familyAdvice(
  {
    ipvsExcludeCidrs,
    healthzBindAddress,
    metricsBindAddress,
  }: Pick<Options, 'ipvsExcludeCidrs' | 'healthzBindAddress' | 'metricsBindAddress'>,
  families: readonly IpFamily[],
  nameOf: NameOf,
): string[] {
  const hosts = (address: Options['healthzBindAddress']) =>
    address === undefined || isUnspecified(address.host) ? [] : [address.host];
  const settings: readonly (readonly [OptionName, readonly string[], string])[] = [
    ['ipvsExcludeCidrs', ipvsExcludeCidrs, 'it keeps nothing here'],
    ['healthzBindAddress', hosts(healthzBindAddress), 'nothing can listen there'],
    ['metricsBindAddress', hosts(metricsBindAddress), 'nothing can listen there'],
  ];
  return settings
    .filter(([, addresses]) => noneServed(addresses, families))
    .map(
      ([option, addresses, effect]) =>
        `${nameOf(option)} ${JSON.stringify(addresses.join(','))}: this node serves ${families.join(' and ')} alone: ${effect}`,
    );
}

/**
 * What kube-proxy ends for on a node that serves one IP family alone, and so does this program: with such settings
 * no sender would count as a pod of the cluster, or the node would have no address.
 * @param families those that are served
 */
export function familyProblems(
  {
    detectLocalMode,
    clusterCidr,
    bindAddress,
  }: Pick<Options, 'detectLocalMode' | 'clusterCidr' | 'bindAddress'>,
  families: readonly IpFamily[],
  nameOf: NameOf = flagName,
): string[] {
  const served = families.join(' or ');
  const problems: string[] = [];
  if (detectLocalMode === 'ClusterCIDR' && noneServed(clusterCidr, families)) {
    problems.push(
      `${nameOf('clusterCidr')} ${JSON.stringify(clusterCidr.join(','))}: must have an ${served} CIDR, or be left out, as this node serves no other IP family`,
    );
  }
  if (!isUnspecified(bindAddress) && noneServed([bindAddress], families)) {
    problems.push(
      `${nameOf('bindAddress')} ${JSON.stringify(bindAddress)}: must be an ${served} address, or be left out, as this node serves no other IP family`,
    );
  }
  return problems;
}

function isUnspecified(address: string): boolean {
  return specialAddress(address) === 'unspecified';
}

/** Whether there are addresses or CIDRs, and all of them are of a family that is not served. */
function noneServed(addresses: readonly string[], families: readonly IpFamily[]): boolean {
  return addresses.length > 0 && !addresses.some((address) => families.includes(familyOf(address)));
}
