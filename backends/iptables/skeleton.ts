/** What stands whatever the Services: the fixed chains, and the jumps to them from the kernel's own. */
import { compareText } from '../../src/net/ip.ts';
import type { NodePlan } from '../../src/plan/plan.ts';
import { IPVS_FIREWALL_WAY } from '../shared/mode-overlap.ts';
import { type Features, INVALID_COUNTER, localhostNodePorts, nodePortAddresses } from './features.ts';
import { type ChainId, type DispatchChain, FIREWALL } from './names.ts';
import { comment, host, markBit, words } from './rule.ts';

/** The fixed chains and the canaries. */
export function fixedChains(node: NodePlan, features: Features): Map<ChainId, readonly string[]> {
  const bit = markBit(node);
  return new Map<ChainId, readonly string[]>([
    ['nat KUBE-MARK-MASQ', [`-j MARK --set-xmark ${bit}/${bit}`]],
    [
      'nat KUBE-POSTROUTING',
      [
        `-m mark ! --mark ${bit}/${bit} -j RETURN`,
        // The bit goes before the packet is encapsulated, so that its outer form is not masqueraded again.
        `-j MARK --set-xmark ${bit}/0x0`,
        words(
          comment('kubernetes service traffic requiring SNAT'),
          '-j MASQUERADE',
          features.randomFully && '--random-fully',
        ),
      ],
    ],
    ['filter KUBE-FORWARD', forwardRules(bit, features)],
    ['nat KUBE-PROXY-CANARY', []],
    ['filter KUBE-PROXY-CANARY', []],
    ['mangle KUBE-PROXY-CANARY', []],
  ]);
}

function forwardRules(bit: string, features: Features): string[] {
  const forwarding = comment('kubernetes forwarding rules');
  return [
    // A packet outside the window of a translated connection would leave untranslated, and the peer reset it
    // (kubernetes/kubernetes#74839).
    ...(features.dropInvalid
      ? [
          words(
            '-m conntrack --ctstate INVALID',
            features.counters && `-m nfacct --nfacct-name ${INVALID_COUNTER}`,
            '-j DROP',
          ),
        ]
      : []),
    words(forwarding, `-m mark --mark ${bit}/${bit} -j ACCEPT`),
    words(
      comment('kubernetes forwarding conntrack rule'),
      '-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT',
    ),
  ];
}

/** The rules that end a dispatch chain: node ports come behind every address. */
export function tailOf(chain: DispatchChain, node: NodePlan, features: Features): readonly string[] {
  if (chain !== 'nat KUBE-SERVICES') return [];
  const about = comment('kubernetes service nodeports; NOTE: this must be the last rule in this chain');
  const jump = '-j KUBE-NODEPORTS';
  const addresses = nodePortAddresses(node, features);
  if (addresses === 'any') {
    const localhost = localhostNodePorts(node, features);
    const loopback = node.family === 'IPv6' ? '! -d ::1/128' : !localhost && '! -d 127.0.0.0/8';
    return [words(loopback, about, '-m addrtype --dst-type LOCAL', jump)];
  }
  return [...addresses].sort(compareText).map((address) => words(`-d ${host(address)}`, about, jump));
}

/** A rule in a chain that is not this program's alone: it is inserted where it is missing. */
export interface EnsuredRule {
  readonly chain: ChainId;
  readonly rule: string;
}

/**
 * In the order in which they are inserted, each before those that are there: the last one comes first.
 * KUBE-EXTERNAL-SERVICES is consulted for the node's own packets too, which kube-proxy leaves to time out.
 */
export function ensuredRules(node: NodePlan, features: Features): EnsuredRule[] {
  const jumps: EnsuredRule[] = [];
  const jump = (
    table: 'filter' | 'nat',
    chains: readonly string[],
    to: string,
    about: string,
    ...match: string[]
  ) => {
    for (const from of chains) {
      jumps.push({ chain: `${table} ${from}`, rule: words(...match, about && comment(about), `-j ${to}`) });
    }
  };
  const isNew = '-m conntrack --ctstate NEW';
  jump(
    'filter',
    ['INPUT', 'FORWARD', 'OUTPUT'],
    'KUBE-EXTERNAL-SERVICES',
    'kubernetes externally-visible service portals',
    isNew,
  );
  jump('filter', ['INPUT'], 'KUBE-NODEPORTS', 'kubernetes health check service ports');
  jump('filter', ['FORWARD', 'OUTPUT'], 'KUBE-SERVICES', 'kubernetes service portals', isNew);
  jump('filter', ['FORWARD'], 'KUBE-FORWARD', 'kubernetes forwarding rules');
  jump(
    'filter',
    ['INPUT', 'OUTPUT', 'FORWARD'],
    'KUBE-PROXY-FIREWALL',
    'kubernetes load balancer firewall',
    isNew,
  );
  jump('nat', ['OUTPUT', 'PREROUTING'], 'KUBE-SERVICES', 'kubernetes service portals');
  jump('nat', ['POSTROUTING'], 'KUBE-POSTROUTING', 'kubernetes postrouting rules');
  if (node.family === 'IPv4' && features.localhostNodePorts) {
    jumps.push({ chain: FIREWALL, rule: LOCALNET_RULE });
  }
  jump('filter', ['INPUT', 'OUTPUT'], 'KUBE-FIREWALL', '');
  return jumps;
}

/**
 * Rules by which IPVS mode comes into a chain that both modes have. In contrast to ours they are for packets of open
 * connections too, which our rules in that chain would drop: they go when it becomes ours.
 */
export const IPVS_WAYS: readonly EnsuredRule[] = (['filter INPUT', 'filter FORWARD'] as const).map(
  (chain) => ({
    chain,
    rule: IPVS_FIREWALL_WAY,
  }),
);

/** Neighbours must not reach services on 127.0.0.1 through route_localnet (CVE-2020-8558). */
const LOCALNET_RULE = words(
  '! -s 127.0.0.0/8 -d 127.0.0.0/8',
  comment('block incoming localnet connections'),
  '-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
);
