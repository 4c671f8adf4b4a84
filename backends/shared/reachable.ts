import type { PlanEndpoint, Pool, ServicePlan } from '../../src/plan/plan.ts';

/** The pools that some front end of a plan sends traffic to. */
export function usedPools(plan: ServicePlan): Set<Pool> {
  const pools = new Set<Pool>();
  for (const { routes } of plan.frontEnds) {
    for (const route of [routes.pod, routes.node, routes.other]) {
      if (route.action === 'balance') pools.add(route.pool);
    }
  }
  return pools;
}

/** The endpoints of those pools, each once. */
export function reachable(plan: ServicePlan): readonly PlanEndpoint[] {
  const pools = usedPools(plan);
  const [first] = pools;
  if (first === undefined) return [];
  if (pools.size === 1) return plan.pools[first];
  const found = new Map<string, PlanEndpoint>();
  for (const pool of pools) {
    for (const endpoint of plan.pools[pool]) found.set(`${endpoint.address} ${endpoint.port}`, endpoint);
  }
  return [...found.values()];
}
