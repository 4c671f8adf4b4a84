/** What the packet answers when a rule asks for a field. */
import type { Flow, Tuple, WalkEnvironment } from '../flow.ts';
import { WalkError } from '../flow.ts';

type Value = (flow: Flow, environment: WalkEnvironment) => string | undefined;

const OF_IPV4 =
  (value: (flow: Flow) => string): Value =>
  (flow) =>
    flow.family === 'IPv4' ? value(flow) : undefined;

const OF_IPV6 =
  (value: (flow: Flow) => string): Value =>
  (flow) =>
    flow.family === 'IPv6' ? value(flow) : undefined;

const ORIGINAL = (key: keyof Tuple) => (flow: Flow) => String(flow.original[key]);

/** `undefined` where the packet has no such thing, and no comparison with it holds. */
const VALUES: Readonly<Record<string, Value>> = {
  'ip saddr': OF_IPV4((flow) => flow.source),
  'ip daddr': OF_IPV4((flow) => flow.destination),
  'ip6 saddr': OF_IPV6((flow) => flow.source),
  'ip6 daddr': OF_IPV6((flow) => flow.destination),
  'th sport': (flow) => String(flow.original.sourcePort),
  'th dport': (flow) => String(flow.destinationPort),
  'icmp type': () => undefined,
  'icmpv6 type': () => undefined,
  'meta l4proto': (flow) => flow.protocol,
  'meta nfproto': (flow) => flow.family.toLowerCase(),
  'meta mark': (flow) => String(flow.mark),
  'meta iif': (flow) => flow.inInterface,
  'meta oif': (flow) => flow.outInterface,
  'meta iifname': (flow) => flow.inInterface,
  'meta oifname': (flow) => flow.outInterface,
  'ct state': () => 'new',
  'ct direction': () => 'original',
  'ct mark': (flow) => String(flow.connectionMark),
  'ct original ip saddr': OF_IPV4(ORIGINAL('source')),
  'ct original ip daddr': OF_IPV4(ORIGINAL('destination')),
  'ct original ip6 saddr': OF_IPV6(ORIGINAL('source')),
  'ct original ip6 daddr': OF_IPV6(ORIGINAL('destination')),
  'ct original protocol': (flow) => flow.protocol,
  'ct original proto-src': ORIGINAL('sourcePort'),
  'ct original proto-dst': ORIGINAL('destinationPort'),
  'fib saddr type': (flow, environment) => addressType(flow.source, environment),
  'fib daddr type': (flow, environment) => addressType(flow.destination, environment),
};

/** The fields that `fieldValue` knows. */
export const WALKED_FIELDS: ReadonlySet<string> = new Set([...Object.keys(VALUES), 'ct status']);

/** The value of a field as canonical text; `undefined` when the packet has none. */
export function fieldValue(field: string, flow: Flow, environment: WalkEnvironment): string | undefined {
  const value = VALUES[field];
  if (value === undefined) throw new WalkError(`there is no telling the value of "${field}"`);
  return value(flow, environment);
}

/** The flags that are set in a field of bits. */
export function fieldFlags(field: string, flow: Flow): string[] {
  if (field === 'ct state') return ['new'];
  if (field !== 'ct status') throw new WalkError(`there is no telling the flags of "${field}"`);
  return [...(flow.dnat ? ['dnat'] : []), ...(flow.masquerade || flow.snat !== undefined ? ['snat'] : [])];
}

/** What kind of address this is to the node's routing. */
function addressType(address: string, { localAddresses }: WalkEnvironment): string {
  if (isLocal(address, localAddresses)) return 'local';
  const first = Number.parseInt(address, address.includes(':') ? 16 : 10);
  const multicast = address.includes(':') ? first >= 0xff00 : first >= 224 && first < 240;
  if (multicast) return 'multicast';
  return address === '255.255.255.255' ? 'broadcast' : 'unicast';
}

/** Whether the node itself answers on the address. */
export function isLocal(address: string, localAddresses: ReadonlySet<string>): boolean {
  return localAddresses.has(address) || address.startsWith('127.') || address === '::1';
}
