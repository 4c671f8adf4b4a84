/** Intervals of addresses and numbers, both ends included: what prefixes and ranges in sets come down to. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { DataType } from './types.ts';

export interface Interval {
  readonly low: bigint;
  readonly high: bigint;
}

/** The interval of a value, range or prefix in canonical text; `undefined` when it is none of the type. */
export function parseInterval(type: DataType, text: string): Interval | undefined {
  const slash = text.indexOf('/');
  if (slash >= 0) {
    const network = parseOne(type, text.slice(0, slash));
    if (network === undefined) return undefined;
    const hostBits = BigInt((type === 'ipv4_addr' ? 32 : 128) - Number(text.slice(slash + 1)));
    return { low: network, high: network | ((1n << hostBits) - 1n) };
  }
  const dash = text.indexOf('-');
  const low = parseOne(type, dash < 0 ? text : text.slice(0, dash));
  const high = dash < 0 ? low : parseOne(type, text.slice(dash + 1));
  return low === undefined || high === undefined ? undefined : { low, high };
}

function parseOne(type: DataType, text: string): bigint | undefined {
  if (type === 'ipv4_addr')
    return isIP(text) === 4 ? bytes(ipaddr.IPv4.parse(text).toByteArray()) : undefined;
  if (type === 'ipv6_addr')
    return isIP(text) === 6 ? bytes(ipaddr.IPv6.parse(text).toByteArray()) : undefined;
  return /^\d+$/.test(text) ? BigInt(text) : undefined;
}

function bytes(octets: readonly number[]): bigint {
  return octets.reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n);
}

/** Canonical text: a single value, a prefix where the interval is one, else `low-high`. */
export function intervalText(type: DataType, { low, high }: Interval): string {
  if (low === high) return valueText(type, low);
  const width = type === 'ipv4_addr' ? 32 : type === 'ipv6_addr' ? 128 : 0;
  const size = high - low + 1n;
  const isPrefix = width > 0 && (size & (size - 1n)) === 0n && low % size === 0n;
  if (isPrefix) return `${valueText(type, low)}/${width - (size.toString(2).length - 1)}`;
  return `${valueText(type, low)}-${valueText(type, high)}`;
}

function valueText(type: DataType, value: bigint): string {
  if (type !== 'ipv4_addr' && type !== 'ipv6_addr') return String(value);
  const octets = type === 'ipv4_addr' ? 4 : 16;
  const address = Array.from({ length: octets }, (_, index) =>
    Number((value >> BigInt(8 * (octets - 1 - index))) & 0xffn),
  );
  return ipaddr.fromByteArray(address).toString();
}

/** The same values in as few intervals as possible, in order; nft does so for the sets written inside rules. */
export function mergedIntervals(intervals: readonly Interval[]): Interval[] {
  const sorted = [...intervals].sort((a, b) => (a.low < b.low ? -1 : a.low > b.low ? 1 : 0));
  const merged: Interval[] = [];
  for (const next of sorted) {
    const last = merged.at(-1);
    if (last === undefined || next.low > last.high + 1n) merged.push(next);
    else if (next.high > last.high) merged[merged.length - 1] = { low: last.low, high: next.high };
  }
  return merged;
}
