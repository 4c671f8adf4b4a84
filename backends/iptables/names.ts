/**
 * Names of tables and chains. Those of per-Service chains are kube-proxy's own, hash and all: operators' scripts
 * know them, and either program takes over the other's chains.
 */
import type { IpFamily, Protocol } from '../../src/cluster/values.ts';
import type { PlanEndpoint, Pool, ServicePlan } from '../../src/plan/plan.ts';
import { shortHash } from '../shared/short-hash.ts';

export type Table = 'nat' | 'filter' | 'mangle';

/** A chain and its table: `nat KUBE-SERVICES`. */
export type ChainId = `${Table} ${string}`;

export function tableOf(chain: ChainId): Table {
  return chain.slice(0, chain.indexOf(' ')) as Table;
}

export function nameOf(chain: ChainId): string {
  return chain.slice(chain.indexOf(' ') + 1);
}

export const MARK_MASQ = 'KUBE-MARK-MASQ';

/** Chains in which several Services have rules. */
export const DISPATCH_CHAINS = [
  'nat KUBE-NODEPORTS',
  'nat KUBE-SERVICES',
  'filter KUBE-SERVICES',
  'filter KUBE-EXTERNAL-SERVICES',
  'filter KUBE-NODEPORTS',
  'filter KUBE-PROXY-FIREWALL',
] as const satisfies readonly ChainId[];

export type DispatchChain = (typeof DISPATCH_CHAINS)[number];

/** Chains with the same rules whatever the Services. */
export const FIXED_CHAINS = [
  'nat KUBE-MARK-MASQ',
  'nat KUBE-POSTROUTING',
  'filter KUBE-FORWARD',
] as const satisfies readonly ChainId[];

/** Empty chains whose absence tells that somebody flushed the table. */
export const CANARIES = [
  'mangle KUBE-PROXY-CANARY',
  'nat KUBE-PROXY-CANARY',
  'filter KUBE-PROXY-CANARY',
] as const satisfies readonly ChainId[];

/** Kubelet's too: its rule and its jumps are added when they are missing, and never removed. */
export const FIREWALL: ChainId = 'filter KUBE-FIREWALL';

const OWN: ReadonlySet<string> = new Set([...DISPATCH_CHAINS, ...FIXED_CHAINS, ...CANARIES]);
const OWN_PREFIX = /^(nat KUBE-(SVC|SVL|EXT|FW|SEP)|filter KUBE-(SVC|EXT|FW))-/;

/** Whether a chain is this program's (or kube-proxy's, whose place it takes). */
export function isOwn(chain: ChainId): boolean {
  return OWN.has(chain) || OWN_PREFIX.test(chain);
}

/** `KUBE-SVC-XPGD46QRK7WJZT7O` balances over the endpoints of policy Cluster, `KUBE-SVL-…` over those of Local. */
export function poolChain(plan: ServicePlan, pool: Pool): string {
  return `KUBE-${pool === 'cluster' ? 'SVC' : 'SVL'}-${planHash(plan)}`;
}

/** What external addresses and node ports lead to. */
export function externalChain(plan: ServicePlan): string {
  return `KUBE-EXT-${planHash(plan)}`;
}

/** Lets the allowed sources of a load balancer through. */
export function firewallChain(plan: ServicePlan): string {
  return `KUBE-FW-${planHash(plan)}`;
}

export function endpointChain(plan: ServicePlan, endpoint: PlanEndpoint): string {
  return `KUBE-SEP-${shortHash(`${plan.key}${lower(plan.protocol)}${socketAddress(endpoint)}`, 16)}`;
}

const planHashes = new WeakMap<ServicePlan, string>();

function planHash(plan: ServicePlan): string {
  let hash = planHashes.get(plan);
  if (hash === undefined) {
    hash = shortHash(`${plan.key}${lower(plan.protocol)}`, 16);
    planHashes.set(plan, hash);
  }
  return hash;
}

/** `10.244.1.2:8080`, `[fd00::2]:8080`. */
export function socketAddress({ address, port }: PlanEndpoint): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

export function lower(protocol: Protocol): string {
  return protocol.toLowerCase();
}

/**
 * First part of the names of the chains that a dispatch chain is split into. In the nat table kube-proxy
 * deletes unknown chains of these names when it takes over, so that none is left behind that holds its own
 * in use.
 */
const SPLIT_PREFIX: Readonly<Record<DispatchChain, string>> = {
  'nat KUBE-SERVICES': 'KUBE-SVC-',
  'nat KUBE-NODEPORTS': 'KUBE-SVC-',
  'filter KUBE-SERVICES': 'KUBE-SVC-',
  'filter KUBE-EXTERNAL-SERVICES': 'KUBE-EXT-',
  'filter KUBE-NODEPORTS': 'KUBE-SVC-',
  'filter KUBE-PROXY-FIREWALL': 'KUBE-FW-',
};

/** XT_EXTENSION_MAXNAMELEN less the closing zero. */
const MAX_CHAIN_NAME = 28;

/**
 * The chain for one part of a dispatch chain's rules, after the network (`10.96.16.0/20`) or the range of
 * ports (`tcp-30720-30975`) it is for, or after a hash where that is too long. It never looks like the name of
 * a Service's chain.
 */
export function splitChain(top: DispatchChain, part: string): string {
  const name = `${SPLIT_PREFIX[top]}${part}`;
  if (name.length <= MAX_CHAIN_NAME) return name;
  const length = part.slice(part.lastIndexOf('/') + 1);
  const room = MAX_CHAIN_NAME - SPLIT_PREFIX[top].length - length.length - 1;
  return `${SPLIT_PREFIX[top]}${length}-${shortHash(part, room)}`;
}

/** Whether a chain of ours holds a part of a dispatch chain, rather than belong to one Service. */
export function isSplitChain(name: string): boolean {
  return /^KUBE-(SVC|EXT|FW)-(?![A-Z2-7]{16}$)/.test(name);
}

/** `iptables` or `ip6tables`: the first part of the tools' names. */
export function toolFamily(family: IpFamily): 'iptables' | 'ip6tables' {
  return family === 'IPv4' ? 'iptables' : 'ip6tables';
}
