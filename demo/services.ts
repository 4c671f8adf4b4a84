/** The Services as a table, from what was read of them. */
import type { Cluster } from '../src/cluster/cluster.ts';
import type { ServiceValue } from '../src/cluster/values.ts';
import { columns } from './report.ts';

export function servicesTable(cluster: Cluster): string[] {
  const rows = [...cluster.serviceKeys()].sort().map((key) => {
    const service = cluster.service(key);
    const endpoints = new Set(
      cluster
        .slicesOf(key)
        .flatMap((slice) => slice.endpoints.filter(({ ready }) => ready).map(({ address }) => address)),
    );
    return service
      ? [key, service.type, addressesOf(service), [...endpoints].sort().join(', ') || 'none ready']
      : [key];
  });
  return columns([['SERVICE', 'TYPE', 'ADDRESSES', 'PODS'], ...rows]);
}

function addressesOf({ clusterIPs, loadBalancerIPs, ports }: ServiceValue): string {
  const nodePorts = ports
    .filter(({ nodePort }) => nodePort !== 0)
    .map(({ nodePort }) => `node port ${nodePort}`);
  return [...clusterIPs, ...loadBalancerIPs, ...nodePorts].join(', ');
}
