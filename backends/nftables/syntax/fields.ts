/** What a rule can ask about a packet, and of which type the answer is. */
import type { Expression } from './ast.ts';
import type { DataType } from './types.ts';

const FIELD_TYPES: Readonly<Record<string, DataType>> = {
  'ip saddr': 'ipv4_addr',
  'ip daddr': 'ipv4_addr',
  'ip protocol': 'inet_proto',
  'ip6 saddr': 'ipv6_addr',
  'ip6 daddr': 'ipv6_addr',
  'ip6 nexthdr': 'inet_proto',
  'th sport': 'inet_service',
  'th dport': 'inet_service',
  'icmp type': 'icmp_type',
  'icmpv6 type': 'icmpv6_type',
  'meta l4proto': 'inet_proto',
  'meta nfproto': 'nf_proto',
  'meta mark': 'mark',
  'meta iif': 'iface_index',
  'meta oif': 'iface_index',
  'meta iifname': 'ifname',
  'meta oifname': 'ifname',
  'ct state': 'ct_state',
  'ct status': 'ct_status',
  'ct direction': 'ct_dir',
  'ct mark': 'mark',
  'ct original ip saddr': 'ipv4_addr',
  'ct original ip daddr': 'ipv4_addr',
  'ct original ip6 saddr': 'ipv6_addr',
  'ct original ip6 daddr': 'ipv6_addr',
  'ct original protocol': 'inet_proto',
  'ct original proto-src': 'inet_service',
  'ct original proto-dst': 'inet_service',
  'fib saddr type': 'fib_addrtype',
  'fib daddr type': 'fib_addrtype',
};

/** The fields that rules in normal form may ask for. */
export const NORMAL_FIELDS: readonly string[] = Object.keys(FIELD_TYPES).filter(
  (field) => field !== 'ip protocol' && field !== 'ip6 nexthdr',
);

/** Headers whose presence says which protocol the packet is of. */
const HEADER_PROTOCOLS: Readonly<Record<string, string>> = {
  tcp: 'tcp',
  udp: 'udp',
  udplite: 'udplite',
  sctp: 'sctp',
  dccp: 'dccp',
  icmp: 'icmp',
  icmpv6: 'ipv6-icmp',
};

/** `meta` may be left out before these. */
export const BARE_META_KEYS: ReadonlySet<string> = new Set(['mark', 'iif', 'oif', 'iifname', 'oifname']);

/** Words that a field can begin with. */
export const FIELD_WORDS: ReadonlySet<string> = new Set([
  'ip',
  'ip6',
  'th',
  'meta',
  'ct',
  'fib',
  ...BARE_META_KEYS,
  ...Object.keys(HEADER_PROTOCOLS),
]);

/** The type of a field; `undefined` when it is not one that is read here. */
export function fieldType(field: string): DataType | undefined {
  return FIELD_TYPES[field] ?? FIELD_TYPES[transportField(field).field];
}

/**
 * `tcp dport` as `th dport`, and the protocol it speaks of; any other field as it is. `icmp type` keeps its
 * name, and speaks of a protocol too.
 */
export function transportField(field: string): { readonly field: string; readonly protocol?: string } {
  const [header = '', key = ''] = field.split(' ');
  const protocol = HEADER_PROTOCOLS[header];
  if (protocol === undefined) return { field };
  return { field: key === 'sport' || key === 'dport' ? `th ${key}` : field, protocol };
}

/** Types whose values are bits: without an operator, nft asks whether one of them is set. */
export const FLAG_TYPES: ReadonlySet<DataType> = new Set(['ct_state', 'ct_status']);

/** The types of an expression's parts; empty where only the ruleset can tell (the data of a map). */
export function expressionTypes(expression: Expression): DataType[] {
  switch (expression.kind) {
    case 'field':
      return [fieldType(expression.field) ?? 'integer'];
    case 'numgen':
      return ['integer'];
    case 'bitwise':
      return expressionTypes(expression.of);
    case 'concat':
      return expression.parts.flatMap(expressionTypes);
    case 'value':
    case 'map':
      return [];
  }
}
