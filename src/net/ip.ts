/**
 * Addresses and networks as canonical text. Parsing is ipaddr.js's, gated by `net.isIP`, because ipaddr.js
 * alone also takes forms that Kubernetes does not (`127.1`, `0x7f.1`).
 */
import { isIP } from 'node:net';
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
    if (text.includes('%')) return undefined;
    const address = ipaddr.IPv6.parse(text);
    return address.isIPv4MappedAddress() ? address.toIPv4Address().toString() : address.toString();
  }
  if (!LEADING_ZEROS.test(text)) return undefined;
  const plain = text.split('.').map(Number).join('.');
  return isIP(plain) === 4 ? plain : undefined;
}

const LEADING_ZEROS = /^\d{1,4}(\.\d{1,4}){3}$/;

/** The family of a canonical address or CIDR. */
export function familyOf(address: string): IpFamily {
  return address.includes(':') ? 'IPv6' : 'IPv4';
}

/** The canonical form of a CIDR, its host bits cleared: `10.1.2.3/8` gives `10.0.0.0/8`. */
export function canonicalCidr(text: string): string | undefined {
  const slash = text.indexOf('/');
  if (slash < 0) return undefined;
  const address = canonicalIP(text.slice(0, slash));
  const lengthText = text.slice(slash + 1);
  if (address === undefined || !/^\d{1,3}$/.test(lengthText)) return undefined;
  const length = Number(lengthText);
  if (familyOf(address) === 'IPv4') {
    if (length > 32) return undefined;
    return `${ipaddr.IPv4.networkAddressFromCIDR(`${address}/${length}`).toString()}/${length}`;
  }
  if (length > 128) return undefined;
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${length}`).toString()}/${length}`;
}

/** The number after the slash. */
export function prefixLength(cidr: string): number {
  return Number(cidr.slice(cidr.indexOf('/') + 1));
}

/** Whether a canonical address lies in a canonical CIDR; never across families. */
export function cidrContains(cidr: string, address: string): boolean {
  if (familyOf(cidr) !== familyOf(address)) return false;
  if (familyOf(cidr) === 'IPv4') return ipaddr.IPv4.parse(address).match(ipaddr.IPv4.parseCIDR(cidr));
  return ipaddr.IPv6.parse(address).match(ipaddr.IPv6.parseCIDR(cidr));
}

/** Canonical CIDRs of one family without those another one covers, sorted: what an interval set can hold. */
export function disjointCidrs(cidrs: Iterable<string>): string[] {
  const byLength = [...new Set(cidrs)].sort((a, b) => prefixLength(a) - prefixLength(b) || compareText(a, b));
  const kept: string[] = [];
  for (const cidr of byLength) {
    const network = cidr.slice(0, cidr.indexOf('/'));
    if (!kept.some((wider) => cidrContains(wider, network))) kept.push(cidr);
  }
  return kept.sort(compareText);
}

/** Order by code unit: the same on every machine, whatever its locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
