/**
 * The ipsets: kube-proxy's 17, by the names its users know, and three of our own. Rules look into them, so that
 * no rule is written per Service; and they are how we know what is ours, virtual servers having no names.
 */
import type { IpFamily } from '../../src/cluster/values.ts';

/** A kind of set, named as in IPv4. */
export type SetKind = keyof typeof TYPES;

const TYPES = {
  /** Endpoints that may send to themselves. */
  'KUBE-LOOP-BACK': 'hash:ip,port,ip',
  'KUBE-CLUSTER-IP': 'hash:ip,port',
  'KUBE-EXTERNAL-IP': 'hash:ip,port',
  /** External addresses under policy Local: their clients keep their address. */
  'KUBE-EXTERNAL-IP-LOCAL': 'hash:ip,port',
  'KUBE-LOAD-BALANCER': 'hash:ip,port',
  'KUBE-LOAD-BALANCER-LOCAL': 'hash:ip,port',
  /** Load-balancer addresses that not everyone may use, and who may. */
  'KUBE-LOAD-BALANCER-FW': 'hash:ip,port',
  'KUBE-LOAD-BALANCER-SOURCE-CIDR': 'hash:ip,port,net',
  'KUBE-LOAD-BALANCER-SOURCE-IP': 'hash:ip,port,ip',
  'KUBE-NODE-PORT-TCP': 'bitmap:port',
  'KUBE-NODE-PORT-LOCAL-TCP': 'bitmap:port',
  'KUBE-NODE-PORT-UDP': 'bitmap:port',
  'KUBE-NODE-PORT-LOCAL-UDP': 'bitmap:port',
  'KUBE-NODE-PORT-SCTP-HASH': 'hash:ip,port',
  'KUBE-NODE-PORT-LOCAL-SCTP-HASH': 'hash:ip,port',
  'KUBE-HEALTH-CHECK-NODE-PORT': 'bitmap:port',
  /** The addresses on the dummy link: what no virtual server takes there is refused. */
  'KUBE-IPVS-IPS': 'hash:ip',
  /** Ours: the addresses on which node ports have virtual servers. */
  'KUBE-NODE-PORT-IP': 'hash:ip',
  /** Ours: front ends under policy Local without a local endpoint, for everyone or for those outside. */
  'KUBE-DROP': 'hash:ip,port',
  'KUBE-DROP-EXTERNAL': 'hash:ip,port',
} as const;

export const SET_KINDS = Object.keys(TYPES) as readonly SetKind[];

/** Set names end after this many characters (IPSET_MAXNAMELEN less the end mark). */
const MAX_NAME = 31;

/** The name in a family: IPv6 has `KUBE-6-` in front, and is cut where the kernel ends. */
export function setName(kind: SetKind, family: IpFamily): string {
  return family === 'IPv4' ? kind : kind.replace('KUBE-', 'KUBE-6-').slice(0, MAX_NAME);
}

/** kube-proxy's, and ipset's own default. */
export const DEFAULT_MAX_ELEMENTS = 65_536;

/** What follows the name in `create`: `hash:ip,port family inet hashsize 1024 maxelem 65536`. */
export function setDeclaration(kind: SetKind, family: IpFamily, maxElements = DEFAULT_MAX_ELEMENTS): string {
  const type = TYPES[kind];
  if (type === 'bitmap:port') return `${type} range 0-65535`;
  return `${type} family ${family === 'IPv4' ? 'inet' : 'inet6'} hashsize 1024 maxelem ${maxElements}`;
}

/** How many entries a set can hold that was made with the default size; ports are all there are. */
export function isBounded(kind: SetKind): boolean {
  return TYPES[kind] !== 'bitmap:port';
}

/** The kinds by their names in a family. */
export function kindsByName(family: IpFamily): ReadonlyMap<string, SetKind> {
  return new Map(SET_KINDS.map((kind) => [setName(kind, family), kind]));
}

/** The name under which a larger set is filled before it takes the place of a smaller one. */
export function grownName(family: IpFamily): string {
  return family === 'IPv4' ? 'KUBE-GROWN' : 'KUBE-6-GROWN';
}
