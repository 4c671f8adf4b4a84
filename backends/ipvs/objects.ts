/**
 * What the kernel holds, or should hold, of one family: entries of sets, virtual servers with their real
 * servers, addresses of the dummy link. All in the words of the tools.
 */
import type { SetKind } from './sets.ts';

export interface VirtualServer {
  /** As `ipvsadm -A` takes them and `ipvsadm -Sn` prints them: `-s rr -p 300`. */
  readonly options: string;
  /** `10.244.1.2:8080` → what follows it: `-m -w 1`. */
  readonly servers: Map<string, string>;
}

/** A real server in use: all weigh the same, as endpoints have no weight. */
export const SERVING = '-m -w 1';

/** A real server that gets no new connections, and keeps those it has. */
export const DRAINING = '-m -w 0';

export class IpvsObjects {
  readonly sets = new Map<SetKind, Set<string>>();
  /** By what ipvsadm calls them: `-t 10.96.0.1:443`. */
  readonly servers = new Map<string, VirtualServer>();
  /** On the dummy link. */
  readonly addresses = new Set<string>();

  entry(set: SetKind, entry: string): void {
    let entries = this.sets.get(set);
    if (entries === undefined) {
      entries = new Set();
      this.sets.set(set, entries);
    }
    entries.add(entry);
  }

  entries(set: SetKind): ReadonlySet<string> {
    return this.sets.get(set) ?? NOTHING;
  }

  /** Takes over everything of `other`. */
  merge(other: IpvsObjects): void {
    for (const [set, entries] of other.sets) for (const entry of entries) this.entry(set, entry);
    for (const [key, server] of other.servers) this.servers.set(key, server);
    for (const address of other.addresses) this.addresses.add(address);
  }
}

const NOTHING: ReadonlySet<string> = new Set();

/** The address, protocol and port of a virtual server: `-t [fd00::1]:80` → `fd00::1`, `tcp`, `80`. */
export interface FrontEndKey {
  readonly address: string;
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  readonly port: string;
}

const FLAGS = { tcp: '-t', udp: '-u', sctp: '--sctp-service' } as const;

/** What ipvsadm calls a virtual server. */
export function serverKey({ address, protocol, port }: FrontEndKey): string {
  return `${FLAGS[protocol]} ${socketAddress(address, port)}`;
}

/** Undefined for a virtual server of another kind, such as one for a firewall mark. */
export function parseServerKey(key: string): FrontEndKey | undefined {
  const match = /^(-t|-u|--sctp-service) \[?(.+?)\]?:(\d+)$/.exec(key);
  const [, flag, address, port] = match ?? [];
  if (address === undefined || port === undefined) return undefined;
  return { address, protocol: flag === '-t' ? 'tcp' : flag === '-u' ? 'udp' : 'sctp', port };
}

/**
 * Whether real servers that leave may keep their connections: only TCP has an end that can be waited for. dh sends
 * all connections of a virtual server to one real server, and refuses them all while that one drains.
 */
export function drains(key: string, { options }: VirtualServer): boolean {
  return key.startsWith('-t ') && !options.startsWith('-s dh');
}

export function socketAddress(address: string, port: number | string): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
