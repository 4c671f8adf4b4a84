/** One plan to its chains and to its rules in the chains that all Services share. */
import type { FrontEnd, NodePlan, Pool, Route, ServicePlan } from '../../src/plan/plan.ts';
import { reachable, usedPools } from '../shared/reachable.ts';
import { renderDispatch } from './dispatch/rules.ts';
import type { Features } from './features.ts';
import {
  endpointChain,
  externalChain,
  firewallChain,
  lower,
  MARK_MASQ,
  poolChain,
  socketAddress,
} from './names.ts';
import type { RuleObjects } from './objects.ts';
import { comment, fromPod, host, notFromPod, portMatch, words } from './rule.ts';

type Balance = Extract<Route, { action: 'balance' }>;

/** Writes a plan's objects into `out`. Pure; equal plans give equal text. */
export function renderPlan(plan: ServicePlan, node: NodePlan, features: Features, out: RuleObjects): void {
  const chains = new Map(
    reachable(plan).map((endpoint) => [socketAddress(endpoint), endpointChain(plan, endpoint)]),
  );
  renderEndpoints(plan, chains, out);
  for (const pool of usedPools(plan)) renderPool(plan, pool, node, chains, out);
  renderExternal(plan, node, out);
  renderDispatch(plan, node, features, out);
}

/** Names of endpoint chains by `10.244.1.2:8080`: hashing is most of the work. */
type EndpointChains = ReadonlyMap<string, string>;

function renderEndpoints(plan: ServicePlan, chains: EndpointChains, out: RuleObjects): void {
  const proto = lower(plan.protocol);
  const about = comment(plan.key);
  for (const endpoint of reachable(plan)) {
    const target = socketAddress(endpoint);
    const chain = chains.get(target) ?? '';
    const remember = plan.affinitySeconds > 0 && `-m recent --set ${recentList(chain, plan)}`;
    out.chain(`nat ${chain}`, [
      words('-s', host(endpoint.address), about, `-j ${MARK_MASQ}`),
      words(`-p ${proto}`, about, remember, `-m ${proto} -j DNAT --to-destination ${target}`),
    ]);
  }
}

/** The list of an endpoint's clients, one for each endpoint: it goes with the endpoint. */
function recentList(chain: string, plan: ServicePlan): string {
  const mask = plan.family === 'IPv4' ? '255.255.255.255' : 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff';
  return `--name ${chain} --mask ${mask} --rsource`;
}

/**
 * A client that is known goes to its endpoint; everyone else is dealt out evenly: each endpoint takes its share
 * of what those before it left.
 */
function renderPool(
  plan: ServicePlan,
  pool: Pool,
  node: NodePlan,
  chains: EndpointChains,
  out: RuleObjects,
): void {
  const endpoints = plan.pools[pool].map(socketAddress).map((target) => ({
    chain: chains.get(target) ?? '',
    about: comment(`${plan.key} -> ${target}`),
  }));
  const known = endpoints.map(({ chain, about }) =>
    words(
      about,
      `-m recent --rcheck --seconds ${plan.affinitySeconds} --reap ${recentList(chain, plan)}`,
      `-j ${chain}`,
    ),
  );
  const dealt = endpoints.map(({ chain, about }, index) => {
    const left = endpoints.length - index;
    return words(about, left > 1 && `-m statistic --mode random ${probability(left)}`, `-j ${chain}`);
  });
  out.chain(`nat ${poolChain(plan, pool)}`, [
    ...masqueradeClusterIP(plan, pool, node),
    ...(plan.affinitySeconds > 0 ? known : []),
    ...dealt,
  ]);
}

/** Ten decimals tell apart up to 100,000 endpoints (kubernetes/kubernetes#83599). */
function probability(left: number): string {
  return `--probability ${(1 / left).toFixed(10)}`;
}

function masqueradeClusterIP(plan: ServicePlan, pool: Pool, node: NodePlan): string[] {
  const frontEnd = plan.frontEnds.find(({ kind }) => kind === 'clusterIP');
  if (frontEnd === undefined) return [];
  const { pod, other } = frontEnd.routes;
  if (other.action !== 'balance' || other.pool !== pool || !other.masquerade) return [];
  const everyone = pod.action === 'balance' && pod.masquerade;
  const strangers = notFromPod(node.detector);
  if (!everyone && strangers === undefined) return [];
  const { before, after } = portMatch(plan.protocol, frontEnd.port);
  return [
    words(
      !everyone && strangers?.source,
      `-d ${host(frontEnd.address)}`,
      !everyone && strangers?.inInterface,
      before,
      comment(`${plan.key} cluster IP`),
      after,
      `-j ${MARK_MASQ}`,
    ),
  ];
}

/** All external front ends of a plan have the same routes, and one chain. */
function renderExternal(plan: ServicePlan, node: NodePlan, out: RuleObjects): void {
  const external = plan.frontEnds.filter(({ kind }) => kind !== 'clusterIP');
  const [first] = external;
  const inside = first?.routes.node;
  if (first === undefined || inside?.action !== 'balance') return;
  out.chain(`nat ${externalChain(plan)}`, externalRules(plan, first, inside, node));
  const restricted = external.find(({ allowedSources }) => allowedSources !== undefined);
  if (restricted?.allowedSources === undefined) return;
  out.chain(`nat ${firewallChain(plan)}`, [
    ...[...new Set(restricted.allowedSources)].map((cidr) =>
      words(`-s ${cidr}`, comment(`${plan.key} loadbalancer IP`), `-j ${externalChain(plan)}`),
    ),
    comment(`other traffic to ${plan.key} will be dropped by KUBE-PROXY-FIREWALL`),
  ]);
}

/** Senders inside the cluster take every endpoint; what comes from outside has what the policy leaves it. */
function externalRules(plan: ServicePlan, frontEnd: FrontEnd, inside: Balance, node: NodePlan): string[] {
  const { pod, other } = frontEnd.routes;
  const outside = other.action === 'balance' && `-j ${poolChain(plan, other.pool)}`;
  const everyone = [pod, inside, other].every((route) => route.action === 'balance' && route.masquerade);
  const traffic = (before: string): string => comment(`${before} ${plan.key} external destinations`);
  if (everyone && outside) return [words(traffic('masquerade traffic for'), `-j ${MARK_MASQ}`), outside];
  const pods = fromPod(node.detector);
  const everywhere = `-j ${poolChain(plan, inside.pool)}`;
  const local = '-m addrtype --src-type LOCAL';
  return [
    ...(pods ? [words(pods.source, pods.inInterface, traffic('pod traffic for'), everywhere)] : []),
    words(traffic('masquerade LOCAL traffic for'), local, `-j ${MARK_MASQ}`),
    words(traffic('route LOCAL traffic for'), local, everywhere),
    ...(outside ? [outside] : []),
  ];
}
