/**
 * The iptables rules, which do not depend on any single Service: a rule that looks into a set is there while the
 * set has entries, so a module that nothing needs is never loaded. Texts are those of `iptables-save`, names and
 * comments kube-proxy's.
 */
import type { IpFamily } from '../../src/cluster/values.ts';
import type { NodePlan } from '../../src/plan/plan.ts';
import { IPVS_FIREWALL_WAY } from '../shared/mode-overlap.ts';
import { type SetKind, setName } from './sets.ts';

export const TABLES = ['mangle', 'filter', 'nat'] as const;
export type Table = (typeof TABLES)[number];

/** Chain → its rules without `-A CHAIN`. */
export type Chains = ReadonlyMap<string, readonly string[]>;
export type Rules = Readonly<Record<Table, Chains>>;

/** Rules in built-in chains that lead to ours, each table's in the order in which they stand there. */
export const JUMPS: Readonly<Record<Table, readonly (readonly [chain: string, rule: string])[]>> = {
  mangle: [['OUTPUT', IPVS_FIREWALL_WAY]],
  filter: [
    ['INPUT', jump('kubernetes ipvs access filter', 'KUBE-IPVS-FILTER')],
    ['INPUT', IPVS_FIREWALL_WAY],
    ['INPUT', jump('kubernetes health check rules', 'KUBE-NODE-PORT')],
    ['FORWARD', IPVS_FIREWALL_WAY],
    ['FORWARD', jump('kubernetes forwarding rules', 'KUBE-FORWARD')],
    ['OUTPUT', jump('kubernetes ipvs access filter', 'KUBE-IPVS-OUT-FILTER')],
  ],
  nat: [
    ['PREROUTING', jump('kubernetes service portals', 'KUBE-SERVICES')],
    ['OUTPUT', jump('kubernetes service portals', 'KUBE-SERVICES')],
    ['POSTROUTING', jump('kubernetes postrouting rules', 'KUBE-POSTROUTING')],
  ],
};

function jump(comment: string, chain: string): string {
  return `-m comment --comment "${comment}" -j ${chain}`;
}

/**
 * All our chains with their rules.
 * @param used the sets that have entries
 */
export function renderRules(node: NodePlan, used: ReadonlySet<SetKind>, parity: boolean): Rules {
  const rules = new RuleWriter(node.family, used);
  return {
    mangle: new Map(mangleChains(rules)),
    filter: new Map(filterChains(node, rules)),
    nat: new Map(natChains(node, rules, parity)),
  };
}

type ChainRules = [chain: string, rules: string[]];

/**
 * The node's own packets meet IPVS before the filter table: what must be stopped is stopped here, where they
 * still carry the address that was dialled. kube-proxy has one rule per address and port for it.
 */
function mangleChains(rules: RuleWriter): ChainRules[] {
  return [
    ['KUBE-PROXY-FIREWALL', [...sourceRanges(rules), ...dropAll(rules)]],
    ['KUBE-SOURCE-RANGES-FIREWALL', allowedSources(rules)],
  ];
}

function filterChains(node: NodePlan, rules: RuleWriter): ChainRules[] {
  const mark = markOf(node);
  const reject = node.family === 'IPv4' ? 'icmp-port-unreachable' : 'icmp6-port-unreachable';
  const named = [
    'KUBE-LOAD-BALANCER',
    'KUBE-CLUSTER-IP',
    'KUBE-EXTERNAL-IP',
    'KUBE-EXTERNAL-IP-LOCAL',
  ] as const;
  return [
    [
      'KUBE-FORWARD',
      [
        `${comment('kubernetes forwarding rules')} -m mark --mark ${mark}/${mark} -j ACCEPT`,
        `${comment('kubernetes forwarding conntrack rule')} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
      ],
    ],
    [
      'KUBE-IPVS-FILTER',
      [
        ...named.map((set) => `${rules.match(set, 'dst,dst')} -j RETURN`),
        `${rules.match('KUBE-HEALTH-CHECK-NODE-PORT', 'dst')} -j RETURN`,
        `-m conntrack --ctstate NEW ${rules.match('KUBE-IPVS-IPS', 'dst')} -j REJECT --reject-with ${reject}`,
      ],
    ],
    ['KUBE-IPVS-OUT-FILTER', []],
    [
      'KUBE-NODE-PORT',
      [
        `${comment('Kubernetes health check node port')} ${rules.match('KUBE-HEALTH-CHECK-NODE-PORT', 'dst')} -j ACCEPT`,
      ],
    ],
    ['KUBE-PROXY-FIREWALL', [...sourceRanges(rules), ...dropAll(rules), ...dropOutsiders(node, rules)]],
    ['KUBE-SOURCE-RANGES-FIREWALL', allowedSources(rules)],
  ];
}

function sourceRanges(rules: RuleWriter): string[] {
  return rules.when(
    'KUBE-LOAD-BALANCER-FW',
    'dst,dst',
    'Kubernetes service load balancer ip + port for load balancer with sourceRange',
    '-j KUBE-SOURCE-RANGES-FIREWALL',
  );
}

function allowedSources(rules: RuleWriter): string[] {
  return [
    ...rules.when(
      'KUBE-LOAD-BALANCER-SOURCE-CIDR',
      'dst,dst,src',
      'Kubernetes service load balancer ip + port + source cidr for packet filter purpose',
      '-j RETURN',
    ),
    ...rules.when(
      'KUBE-LOAD-BALANCER-SOURCE-IP',
      'dst,dst,src',
      'Kubernetes service load balancer ip + port + source IP for packet filter purpose',
      '-j RETURN',
    ),
    '-j DROP',
  ];
}

/** Only new connections: those that are there may end on the endpoint that left. */
function dropAll(rules: RuleWriter): string[] {
  if (!rules.used.has('KUBE-DROP')) return [];
  return [`-m conntrack --ctstate NEW ${rules.match('KUBE-DROP', 'dst,dst')} -j DROP`];
}

function dropOutsiders(node: NodePlan, rules: RuleWriter): string[] {
  if (!rules.used.has('KUBE-DROP-EXTERNAL')) return [];
  const outside = `${notFromPod(node)}-m conntrack --ctstate NEW -m addrtype ! --src-type LOCAL`;
  return [`${outside} ${rules.match('KUBE-DROP-EXTERNAL', 'dst,dst')} -j DROP`];
}

function natChains(node: NodePlan, rules: RuleWriter, parity: boolean): ChainRules[] {
  const mark = markOf(node);
  return [
    ['KUBE-SERVICES', servicesChain(node, rules, parity)],
    ['KUBE-LOAD-BALANCER', [...loadBalancerLocal(rules, parity), '-j KUBE-MARK-MASQ']],
    ['KUBE-NODE-PORT', nodePortChain(rules, parity)],
    ['KUBE-MARK-MASQ', [`-j MARK --set-xmark ${mark}/${mark}`]],
    [
      'KUBE-POSTROUTING',
      [
        ...rules.when(
          'KUBE-LOOP-BACK',
          'dst,dst,src',
          'Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose',
          '-j MASQUERADE',
        ),
        `-m mark ! --mark ${mark}/${mark} -j RETURN`,
        `-j MARK --set-xmark ${mark}/0x0`,
        `${comment('kubernetes service traffic requiring SNAT')} -j MASQUERADE --random-fully`,
      ],
    ],
  ];
}

/** `ACCEPT` at the end keeps other NAT rules away from traffic that IPVS takes. */
function servicesChain(node: NodePlan, rules: RuleWriter, parity: boolean): string[] {
  const accept = (['KUBE-CLUSTER-IP', 'KUBE-LOAD-BALANCER'] as const).filter((set) => rules.used.has(set));
  return [
    `-s ${node.family === 'IPv4' ? '127.0.0.0/8' : '::1/128'} -j RETURN`,
    ...rules.when('KUBE-LOAD-BALANCER', 'dst,dst', 'Kubernetes service lb portal', '-j KUBE-LOAD-BALANCER'),
    ...masqueradeClusterIPs(node, rules),
    ...externalIPs(rules, parity),
    '-m addrtype --dst-type LOCAL -j KUBE-NODE-PORT',
    ...accept.map((set) => `${rules.match(set, 'dst,dst')} -j ACCEPT`),
  ];
}

/**
 * Where pods cannot be told from others, only the node's own connections are masqueraded: it dials a cluster IP
 * with that very address as its source, as it is its own, on the dummy link.
 */
function masqueradeClusterIPs(node: NodePlan, rules: RuleWriter): string[] {
  const text = 'Kubernetes service cluster ip + port for masquerade purpose';
  const target = '-j KUBE-MARK-MASQ';
  if (node.masqueradeAll) return rules.when('KUBE-CLUSTER-IP', 'dst,dst', text, target);
  if (node.detector.kind === 'none') return rules.when('KUBE-CLUSTER-IP', 'src,dst', text, target);
  return rules.when('KUBE-CLUSTER-IP', 'dst,dst', text, target).map((rule) => `${notFromPod(node)}${rule}`);
}

function externalIPs(rules: RuleWriter, parity: boolean): string[] {
  const cluster = 'Kubernetes service external ip + port for masquerade and filter purpose';
  const local = 'Kubernetes service external ip + port with externalTrafficPolicy=local';
  const accepts = [
    '-m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j ACCEPT',
    `${TO_LOCAL} -j ACCEPT`,
  ];
  const forLocal = parity ? accepts : [`${FROM_LOCAL} -j KUBE-MARK-MASQ`, ...accepts];
  return [
    ...['-j KUBE-MARK-MASQ', ...accepts].flatMap((rest) =>
      rules.when('KUBE-EXTERNAL-IP', 'dst,dst', cluster, rest),
    ),
    ...forLocal.flatMap((rest) => rules.when('KUBE-EXTERNAL-IP-LOCAL', 'dst,dst', local, rest)),
  ];
}

const TO_LOCAL = '-m addrtype --dst-type LOCAL';
const FROM_LOCAL = '-m addrtype --src-type LOCAL';

/**
 * Policy Local keeps the client's address; the node's own connections are masqueraded all the same, because
 * their source is the address they dial, which no endpoint on another node can answer to. kube-proxy leaves
 * them to time out.
 */
function unlessFromNode(parity: boolean): string {
  return parity ? '-j RETURN' : '-m addrtype ! --src-type LOCAL -j RETURN';
}

function loadBalancerLocal(rules: RuleWriter, parity: boolean): string[] {
  return rules.when(
    'KUBE-LOAD-BALANCER-LOCAL',
    'dst,dst',
    'Kubernetes service load balancer ip + port with externalTrafficPolicy=local',
    unlessFromNode(parity),
  );
}

function nodePortChain(rules: RuleWriter, parity: boolean): string[] {
  return (['TCP', 'UDP', 'SCTP'] as const).flatMap((protocol) => {
    const sctp = protocol === 'SCTP';
    const suffix = sctp ? 'SCTP-HASH' : protocol;
    const kind = sctp ? " with type 'hash ip:port'" : '';
    const flags = sctp ? 'dst,dst' : 'dst';
    const text = `Kubernetes nodeport ${protocol} port`;
    return [
      ...rules.when(
        `KUBE-NODE-PORT-LOCAL-${suffix}` as SetKind,
        flags,
        `${text} with externalTrafficPolicy=local${kind}`,
        unlessFromNode(parity),
      ),
      ...rules.when(
        `KUBE-NODE-PORT-${suffix}` as SetKind,
        flags,
        `${text} for masquerade purpose${kind}`,
        '-j KUBE-MARK-MASQ',
      ),
    ].map((rule) => `-p ${protocol.toLowerCase()} ${rule}`);
  });
}

/** As iptables-save prints the mark: without leading zeros. */
function markOf(node: NodePlan): string {
  return `0x${(2 ** node.masqueradeBit).toString(16)}`;
}

/** Matches senders that are none of this node's pods, with a space behind; empty when that cannot be told. */
function notFromPod({ detector }: NodePlan): string {
  switch (detector.kind) {
    case 'none':
      return '';
    case 'cidr':
      return `! -s ${detector.cidr} `;
    case 'interface':
      return `! -i ${detector.name} `;
    case 'interface-prefix':
      return `! -i ${detector.prefix}+ `;
  }
}

function comment(text: string): string {
  return `-m comment --comment "${text}"`;
}

class RuleWriter {
  readonly used: ReadonlySet<SetKind>;
  readonly #family: IpFamily;

  constructor(family: IpFamily, used: ReadonlySet<SetKind>) {
    this.#family = family;
    this.used = used;
  }

  match(set: SetKind, flags: string): string {
    return `-m set --match-set ${setName(set, this.#family)} ${flags}`;
  }

  /** The rule, if the set has entries. */
  when(set: SetKind, flags: string, text: string, rest: string): string[] {
    return this.used.has(set) ? [`${comment(text)} ${this.match(set, flags)} ${rest}`] : [];
  }
}
