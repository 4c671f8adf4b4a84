/**
 * The data types of nft (`nft describe`), and constants of them as canonical text: whatever way a script or a
 * listing writes a value, the text kept here is the same.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { canonicalCidr } from '../../../src/net/ip.ts';
import { type Interval, intervalText, parseInterval } from './interval.ts';

/** `ipv4_addr`, `inet_service`, `verdict`, …: the name nft has for it. */
export type DataType = string;

const NUMERIC: ReadonlySet<DataType> = new Set(['inet_service', 'mark', 'integer']);

/** Types that nft knows by name and this reader too. */
export const DATA_TYPES: ReadonlySet<DataType> = new Set([
  'ipv4_addr',
  'ipv6_addr',
  'inet_proto',
  'inet_service',
  'mark',
  'ifname',
  'iface_index',
  'ether_addr',
  'verdict',
  'integer',
  'ct_state',
  'ct_status',
  'ct_dir',
  'icmp_type',
  'icmpv6_type',
  'nf_proto',
  'pkt_type',
  'fib_addrtype',
]);

/** Protocol numbers that nft prints as names (`/etc/protocols`), as far as they have to do with ports or ICMP. */
const PROTOCOL_NAMES: Readonly<Record<string, string>> = {
  1: 'icmp',
  6: 'tcp',
  17: 'udp',
  33: 'dccp',
  58: 'ipv6-icmp',
  132: 'sctp',
  136: 'udplite',
};
const PROTOCOLS: ReadonlySet<string> = new Set([
  ...Object.values(PROTOCOL_NAMES),
  'esp',
  'ah',
  'comp',
  'gre',
]);

/** An address as canonical text; `undefined` when it is none. */
export function canonicalAddress(text: string): string | undefined {
  const version = isIP(text);
  if (version === 4) return text;
  if (version !== 6 || text.includes('%')) return undefined;
  return isCanonicalIPv6(text) ? text : ipaddr.IPv6.parse(text).toString();
}

/** Knows most canonical addresses without taking them apart: a listing has a hundred thousand of them. */
function isCanonicalIPv6(text: string): boolean {
  if (PADDED_OR_ZERO.test(text) || text.includes('.')) return false;
  const groups = text.split(':').filter((group) => group !== '').length;
  return groups === 8 || (groups <= 6 && text.includes('::'));
}

/** Upper case, a leading zero, or a group of zero, which may or may not belong to a `::`. */
const PADDED_OR_ZERO = /[A-F]|(?:^|:)0/;

/** `10.1.2.3/8` as `10.0.0.0/8`, a full-length prefix as the address alone; `undefined` when it is none. */
export function canonicalPrefix(address: string, length: number): string | undefined {
  if (length === (address.includes(':') ? 128 : 32)) return canonicalAddress(address);
  return canonicalCidr(`${address}/${length}`);
}

/**
 * A range as nft would list it in a set: as a prefix where it is one. `undefined` when the ends are of
 * different kinds or in the wrong order.
 */
export function canonicalRange(from: string, to: string): string | undefined {
  const type = typeOfText(from);
  if (type !== typeOfText(to)) return undefined;
  const low = parseInterval(type, from);
  const high = parseInterval(type, to);
  if (low === undefined || high === undefined || low.low > high.low) return undefined;
  return intervalText(type, { low: low.low, high: high.low });
}

function typeOfText(text: string): DataType {
  const version = isIP(text);
  return version === 4 ? 'ipv4_addr' : version === 6 ? 'ipv6_addr' : 'integer';
}

/** Whether values of the type are ordered, so that ranges of them make sense. */
export function isOrdered(type: DataType): boolean {
  return type === 'ipv4_addr' || type === 'ipv6_addr' || NUMERIC.has(type);
}

/**
 * Text that was read without knowing its type, as canonical text of the type: `6` as a protocol is `tcp`.
 * `undefined` when it is no value, range or prefix of the type.
 */
export function typedText(type: DataType, text: string): string | undefined {
  if (isOrdered(type)) {
    const interval = parseInterval(type, text);
    return interval !== undefined && fits(type, interval) ? text : undefined;
  }
  if (type === 'inet_proto') {
    const name = PROTOCOL_NAMES[text] ?? text;
    return PROTOCOLS.has(name) || (/^\d+$/.test(name) && Number(name) < 256) ? name : undefined;
  }
  return SYMBOL.test(text) ? text : undefined;
}

const SYMBOL = /^[^\s{},;@]+$/;

const LIMITS: Readonly<Record<DataType, bigint>> = { inet_service: 0xffffn, mark: 0xffff_ffffn };

function fits(type: DataType, { high }: Interval): boolean {
  const limit = LIMITS[type];
  return limit === undefined || high <= limit;
}
