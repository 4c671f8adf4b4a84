/**
 * Services with ClientIP affinity have chains of their own: a set per endpoint remembers its clients, for the
 * Service's time. Being per endpoint, a set goes with its endpoint, so that no client stays tied to a dead one;
 * being shared by all front ends of the port, a client has one endpoint however it came in. Names and contents
 * are kube-proxy's, so clients stay with their endpoints across a change from one to the other.
 */
import type { NodePlan, PlanEndpoint, Pool, ServicePlan } from '../../src/plan/plan.ts';
import { reachable, usedPools } from '../shared/reachable.ts';
import { addressType, nftFamily } from './dialect.ts';
import { endpointBase, serviceBase } from './names.ts';
import type { TableObjects } from './objects.ts';

export const AFFINITY_PREFIX = 'affinity-';

/** `service-…` for policy Cluster, `local-…` for Local. */
export function affinityChain(plan: ServicePlan, pool: Pool): string {
  return `${pool === 'cluster' ? 'service' : 'local'}-${serviceBase(plan)}`;
}

export function renderAffinity(plan: ServicePlan, node: NodePlan, out: TableObjects): void {
  const ip = nftFamily(node.family);
  for (const endpoint of reachable(plan)) {
    const base = endpointBase(plan, endpoint);
    const set = `${AFFINITY_PREFIX}${base}`;
    out.set(set, affinitySet(plan, node));
    out.chain(`endpoint-${base}`, [
      `update @${set} { ${ip} saddr }`,
      `meta l4proto ${plan.protocol.toLowerCase()} dnat to ${socketAddress(endpoint)}`,
    ]);
  }
  for (const pool of usedPools(plan)) {
    const bases = plan.pools[pool].map((endpoint) => endpointBase(plan, endpoint));
    const gotos = bases.map((base, index) => `${index} : goto endpoint-${base}`).join(', ');
    out.chain(affinityChain(plan, pool), [
      ...bases.map((base) => `${ip} saddr @${AFFINITY_PREFIX}${base} goto endpoint-${base}`),
      `numgen random mod ${bases.length} vmap { ${gotos} }`,
    ]);
  }
}

/** The size is nft's own default for sets that rules add to; written out, it reads back as it was written. */
function affinitySet(plan: ServicePlan, node: NodePlan): string {
  return `set { type ${addressType(node.family)} ; size 65535 ; flags dynamic,timeout ; timeout ${plan.affinitySeconds}s ; }`;
}

function socketAddress({ address, port }: PlanEndpoint): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
