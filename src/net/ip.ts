/**
 * Addresses and networks as canonical text. Parsing is ipaddr.js's, gated by `net.isIP`, because ipaddr.js
 * alone also takes forms that Kubernetes does not (`127.1`, `0x7f.1`).
 */
import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { IpFamily } from '../cluster/values.ts';

/**
 * The canonical form of an address: RFC 5952 for IPv6, no leading zeros in IPv4 (old API objects may have
 * them, read as decimal), plain IPv4 for an IPv4-mapped one. `undefined` for anything else.
 */
export function canonicalIP(text: string): string | undefined {
  const kind = isIP(text);
  if (kind === 4) return text;
  if (kind === 6) {
    // A zone names an interface of one machine (RFC 4007): no meaning in an object of the cluster.
    if (text.includes('%')) return undefined;
    const address = ipaddr.IPv6.parse(withoutDots(text));
    return address.isIPv4MappedAddress() ? address.toIPv4Address().toString() : address.toString();
  }
  if (!LEADING_ZEROS.test(text)) return undefined;
  const plain = text.split('.').map(Number).join('.');
  return isIP(plain) === 4 ? plain : undefined;
}

/**
 * An IPv6 address whose last 32 bits may be written as IPv4, in groups only: ipaddr.js takes the deprecated
 * `::192.0.2.1` for `::ffff:192.0.2.1`, which is another address.
 */
function withoutDots(text: string): string {
  if (!text.includes('.')) return text;
  const start = text.lastIndexOf(':') + 1;
  const [a = 0, b = 0, c = 0, d = 0] = text.slice(start).split('.').map(Number);
  return `${text.slice(0, start)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

/** Go's ParseIPSloppy, by which Kubernetes reads stored objects, minds no number of leading zeros. */
const LEADING_ZEROS = /^0*\d{1,3}(\.0*\d{1,3}){3}$/;

export type SpecialAddress = 'unspecified' | 'loopback' | 'link-local' | 'multicast' | 'broadcast';

/**
 * Why a canonical address is no ordinary unicast one; `undefined` when it is. These are what the API server
 * refuses as endpoint and external addresses (`ValidateNonSpecialIP`), and the rest of multicast with it.
 */
export function specialAddress(address: string): SpecialAddress | undefined {
  if (familyOf(address) === 'IPv4') {
    if (address === '0.0.0.0') return 'unspecified';
    if (address === '255.255.255.255') return 'broadcast';
    if (address.startsWith('127.')) return 'loopback';
    if (address.startsWith('169.254.')) return 'link-local';
    return /^2(2[4-9]|3\d)\./.test(address) ? 'multicast' : undefined;
  }
  if (address === '::') return 'unspecified';
  if (address === '::1') return 'loopback';
  if (/^fe[89ab][0-9a-f]:/.test(address)) return 'link-local';
  return /^ff[0-9a-f]{2}:/.test(address) ? 'multicast' : undefined;
}

/** The family of a canonical address or CIDR. */
export function familyOf(address: string): IpFamily {
  return address.includes(':') ? 'IPv6' : 'IPv4';
}

/**
 * The canonical form of a CIDR, its host bits cleared: `10.1.2.3/8` gives `10.0.0.0/8`. An IPv4-mapped one
 * becomes the IPv4 network it means: `::ffff:10.0.0.0/104` gives `10.0.0.0/8`.
 */
export function canonicalCidr(text: string): string | undefined {
  const slash = text.indexOf('/');
  if (slash < 0) return undefined;
  const written = text.slice(0, slash);
  const address = canonicalIP(written);
  const lengthText = text.slice(slash + 1);
  if (address === undefined || !/^\d{1,3}$/.test(lengthText)) return undefined;
  const length = Number(lengthText);
  if (length > (familyOf(written) === 'IPv4' ? 32 : 128)) return undefined;
  if (familyOf(address) === 'IPv4') {
    const bits = familyOf(written) === 'IPv4' ? length : length - MAPPED_PREFIX;
    if (bits >= 0) return `${ipaddr.IPv4.networkAddressFromCIDR(`${address}/${bits}`).toString()}/${bits}`;
  }
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${withoutDots(written)}/${length}`).toString()}/${length}`;
}

/** IPv4-mapped addresses are those in `::ffff:0:0/96`. */
const MAPPED_PREFIX = 96;

/** The number after the slash. */
export function prefixLength(cidr: string): number {
  return Number(cidr.slice(cidr.indexOf('/') + 1));
}

/** Whether a canonical address lies in a canonical CIDR; never across families. */
export function cidrContains(cidr: string, address: string): boolean {
  const family = familyOf(cidr);
  return familyOf(address) === family && networkOf(cidr).check(address, family === 'IPv4' ? 'ipv4' : 'ipv6');
}

/** A few networks are asked about a hundred thousand addresses: they are parsed once. */
const networks = new Map<string, BlockList>();
const MAX_NETWORKS = 10_000;

function networkOf(cidr: string): BlockList {
  let network = networks.get(cidr);
  if (network === undefined) {
    network = new BlockList();
    network.addSubnet(
      cidr.slice(0, cidr.indexOf('/')),
      prefixLength(cidr),
      familyOf(cidr) === 'IPv4' ? 'ipv4' : 'ipv6',
    );
    if (networks.size >= MAX_NETWORKS) networks.clear();
    networks.set(cidr, network);
  }
  return network;
}

/**
 * Canonical CIDRs without those another one covers, sorted: what an interval set can hold. Costs one look-up
 * per prefix length in use, not one comparison per pair: anyone who may write a Service may write thousands.
 */
export function disjointCidrs(cidrs: Iterable<string>): string[] {
  const byLength = [...new Set(cidrs)].sort((a, b) => prefixLength(a) - prefixLength(b) || compareText(a, b));
  const kept = new Set<string>();
  const lengths = new Set<number>();
  for (const cidr of byLength) {
    const network = cidr.slice(0, cidr.indexOf('/'));
    const covered = [...lengths].some((length) => kept.has(canonicalCidr(`${network}/${length}`) ?? ''));
    if (covered) continue;
    kept.add(cidr);
    lengths.add(prefixLength(cidr));
  }
  return [...kept].sort(compareText);
}

/** Order by code unit: the same on every machine, whatever its locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
