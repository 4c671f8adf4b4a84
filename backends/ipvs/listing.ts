/** Reads what the tools list of one family. Pure: text in, objects out. */
import type { IpFamily } from '../../src/cluster/values.ts';
import { canonicalIP, familyOf } from '../../src/net/ip.ts';
import { JUMPS, TABLES, type Table } from './chains.ts';
import { parseServerKey, serverKey, socketAddress, type VirtualServer } from './objects.ts';
import { jumpKey, type KnownRules } from './restore.ts';
import { DEFAULT_MAX_ELEMENTS, kindsByName, type SetKind } from './sets.ts';

/** The name of the dummy link. What is on it is ours. */
export const LINK = 'kube-ipvs0';

/** `ipvsadm -Sn`: virtual servers of one family by their key, those for firewall marks left out. */
export function parseServers(text: string, family: IpFamily): Map<string, VirtualServer> {
  const servers = new Map<string, VirtualServer>();
  for (const line of text.split('\n')) {
    const [, command, key, rest = ''] = /^-(A|a) (\S+ \S+) ?(.*)$/.exec(line.trim()) ?? [];
    const front = key === undefined ? undefined : parseServerKey(key);
    if (key === undefined || front === undefined || familyOf(front.address) !== family) continue;
    if (command === 'A') {
      servers.set(key, { options: rest, servers: new Map() });
    } else {
      const [, server, options] = /^-r (\S+) (.*)$/.exec(rest) ?? [];
      if (server !== undefined && options !== undefined) servers.get(key)?.servers.set(server, options);
    }
  }
  return servers;
}

export interface ListedSet {
  readonly maxElements: number;
  readonly entries: Set<string>;
}

/** `ipset save`: our sets of one family. */
export function parseSets(text: string, family: IpFamily): Map<SetKind, ListedSet> {
  const kinds = kindsByName(family);
  const sets = new Map<SetKind, ListedSet>();
  for (const line of text.split('\n')) {
    const [, command, name = '', rest = ''] = /^(create|add) (\S+) (.*)$/.exec(line) ?? [];
    const kind = kinds.get(name);
    if (kind === undefined) continue;
    if (command === 'create') {
      const size = Number(/ maxelem (\d+)/.exec(rest)?.[1] ?? DEFAULT_MAX_ELEMENTS);
      sets.set(kind, { maxElements: size, entries: new Set() });
    } else {
      sets.get(kind)?.entries.add(rest.trim());
    }
  }
  return sets;
}

/** `ipset list -terse`: how many entries our sets of one family have. */
export function parseSetSizes(text: string, family: IpFamily): Map<SetKind, number> {
  const kinds = kindsByName(family);
  const sizes = new Map<SetKind, number>();
  for (const block of text.split('\n\n')) {
    const kind = kinds.get(/^Name: (\S+)$/m.exec(block)?.[1] ?? '');
    const size = /^Number of entries: (\d+)$/m.exec(block)?.[1];
    if (kind !== undefined && size !== undefined) sizes.set(kind, Number(size));
  }
  return sizes;
}

/** `iptables-save`: table → chain → rules without `-A CHAIN`. Built-in chains are there when they have rules. */
export function parseTables(text: string): Record<Table, Map<string, string[]>> {
  const tables: Record<Table, Map<string, string[]>> = {
    mangle: new Map(),
    filter: new Map(),
    nat: new Map(),
  };
  let chains: Map<string, string[]> | undefined;
  for (const line of text.split('\n')) {
    const [, sign, word = '', rest = ''] = /^(\*|:|-A )(\S+) ?(.*)$/.exec(line) ?? [];
    if (sign === '*') chains = TABLES.includes(word as Table) ? tables[word as Table] : undefined;
    else if (sign === ':') chains?.set(word, []);
    // Within double quotes it marks single ones too, which mean themselves there.
    else if (sign === '-A ') chains?.get(word)?.push(rest.replaceAll("\\'", "'"));
  }
  return tables;
}

/** Those of our chains and jumps that are there. */
export function knownRules(tables: ReturnType<typeof parseTables>): KnownRules {
  const jumps = TABLES.flatMap((table) =>
    JUMPS[table]
      .filter(([chain, rule]) => tables[table].get(chain)?.includes(rule))
      .map(([chain, rule]) => jumpKey(table, chain, rule)),
  );
  return { rules: tables, jumps: new Set(jumps) };
}

export interface ListedAddresses {
  readonly hasLink: boolean;
  /** Of the dummy link, one family's. */
  readonly addresses: Set<string>;
  /** Whether the link has addresses of the other family. */
  readonly shared: boolean;
}

/** `ip -json address show`. */
export function parseAddresses(text: string, family: IpFamily): ListedAddresses {
  const links = JSON.parse(text || '[]') as {
    ifname?: string;
    addr_info?: { local?: string; scope?: string }[];
  }[];
  const link = links.find(({ ifname }) => ifname === LINK);
  const all = (link?.addr_info ?? [])
    .filter(({ scope }) => scope !== 'link')
    .flatMap(({ local }) => canonicalIP(local ?? '') ?? []);
  return {
    hasLink: link !== undefined,
    addresses: new Set(all.filter((address) => familyOf(address) === family)),
    shared: all.some((address) => familyOf(address) !== family),
  };
}

export interface LiveServer {
  readonly scheduler: string;
  readonly servers: Map<string, { readonly weight: number; readonly connections: number }>;
}

/**
 * `/proc/net/ip_vs`: virtual servers of one family by their key, with what their real servers carry. One read,
 * where ipvsadm asks the kernel once per virtual server; but it lacks the flags and has times in ticks.
 */
export function parseLive(text: string, family: IpFamily): Map<string, LiveServer> {
  const live = new Map<string, LiveServer>();
  let current: LiveServer | undefined;
  for (const line of text.split('\n')) {
    const words = line.trim().split(/\s+/);
    const [first = '', second = '', third = ''] = words;
    if (first === '->') {
      const server = fromHex(second);
      const [weight, active, inactive] = words.slice(3).map(Number);
      if (server === undefined || weight === undefined) continue;
      current?.servers.set(socketAddress(server.address, server.port), {
        weight,
        connections: (active ?? 0) + (inactive ?? 0),
      });
      continue;
    }
    current = undefined;
    const protocol = PROTOCOLS[first];
    const front = protocol === undefined ? undefined : fromHex(second);
    if (protocol === undefined || front === undefined || familyOf(front.address) !== family) continue;
    current = { scheduler: third, servers: new Map() };
    live.set(serverKey({ address: front.address, protocol, port: String(front.port) }), current);
  }
  return live;
}

/** As the kernel's listings name them. */
export const PROTOCOLS: Readonly<Record<string, 'tcp' | 'udp' | 'sctp'>> = {
  TCP: 'tcp',
  UDP: 'udp',
  SCTP: 'sctp',
};

/** `0A600001:01BB` or `[fd00:0010:…:0001]:0050`, all digits hexadecimal. */
export function fromHex(text: string): { address: string; port: number } | undefined {
  const [, v6, v4, port] = /^(?:\[([0-9A-Fa-f:]+)\]|([0-9A-F]{8})):([0-9A-F]{4})$/.exec(text) ?? [];
  if (port === undefined) return undefined;
  const address = canonicalIP(
    v6 ?? (v4?.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16)).join('.'),
  );
  return address === undefined ? undefined : { address, port: Number.parseInt(port, 16) };
}
