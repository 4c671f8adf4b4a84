/**
 * Where a rule stands in a tree: its destination address, or its protocol and port, digit by hexadecimal digit.
 * A prefix of a path stands for a network, or for a range of ports.
 */
import ipaddr from 'ipaddr.js';
import type { IpFamily, Protocol } from '../../../src/cluster/values.ts';
import { lower } from '../names.ts';
import type { DispatchRule } from '../objects.ts';

const PROTOCOLS: Readonly<Record<Protocol, string>> = { SCTP: '0', TCP: '1', UDP: '2' };

/** `10.96.0.1` gives `0a600001`; TCP 30080 gives `17580`, its first digit telling the protocol. */
export function pathOf(key: DispatchRule['key']): string {
  if ('address' in key) {
    return Array.from(ipaddr.parse(key.address).toByteArray(), (byte) => hex(byte, 2)).join('');
  }
  return PROTOCOLS[key.protocol] + hex(key.port, 4);
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

export type PathKind = 'address' | 'port';

export interface Part {
  /** For the name of a chain: `10.96.16.0/20`, `tcp-28672-32767`. */
  readonly name: string;
  /** What a rule matches that part with. */
  readonly match: string;
}

/** What a prefix stands for. An empty one, which would be everything, has no part. */
export function partOf(kind: PathKind, family: IpFamily, prefix: string): Part {
  if (kind === 'address') {
    const network = networkOf(family, prefix);
    return { name: network, match: `-d ${network}` };
  }
  const name = protocolOf(prefix);
  const low = prefix.slice(1).padEnd(4, '0');
  const high = prefix.slice(1).padEnd(4, 'f');
  if (prefix.length === 1) return { name, match: `-p ${name}` };
  const [first, last] = [Number.parseInt(low, 16), Number.parseInt(high, 16)];
  const range = first === last ? `${first}` : `${first}:${last}`;
  return { name: `${name}-${first}-${last}`, match: `-p ${name} -m ${name} --dport ${range}` };
}

function protocolOf(prefix: string): string {
  const found = Object.entries(PROTOCOLS).find(([, digit]) => prefix.startsWith(digit));
  return lower((found?.[0] ?? 'TCP') as Protocol);
}

function networkOf(family: IpFamily, prefix: string): string {
  const digits = prefix.padEnd(family === 'IPv4' ? 8 : 32, '0');
  const bytes = (digits.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16));
  return `${ipaddr.fromByteArray(bytes).toString()}/${prefix.length * 4}`;
}
