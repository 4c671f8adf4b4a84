/** Which real servers open connections go through. */
import type { IpFamily } from '../../src/cluster/values.ts';
import { familyOf } from '../../src/net/ip.ts';
import type { CommandRunner } from '../../src/node/runner.ts';
import { fromHex, PROTOCOLS, parseLive } from './listing.ts';
import { serverKey, socketAddress } from './objects.ts';

/** By virtual server, those of its real servers that carry a connection. */
export type Busy = ReadonlyMap<string, ReadonlySet<string>>;

/** `undefined` where the kernel has no IPVS. */
export async function busyServers(family: IpFamily, runner: CommandRunner): Promise<Busy | undefined> {
  const read = async (path: string): Promise<string | undefined> => {
    try {
      // Asking ipvsadm would load IPVS into a kernel that has no use for it.
      return (await runner.run({ argv: ['cat', path] })).stdout;
    } catch {
      return undefined;
    }
  };
  const servers = await read('/proc/net/ip_vs');
  if (servers === undefined) return undefined;
  const counted = withConnections(servers, family);
  // More connections than can be read are open ones for the most part.
  const connections = counted.size > 0 ? await read('/proc/net/ip_vs_conn') : undefined;
  return connections === undefined ? counted : openConnections(connections, family);
}

/** `/proc/net/ip_vs`. Its counts have connections in them that are over. */
function withConnections(text: string, family: IpFamily): Busy {
  return new Map(
    Array.from(parseLive(text, family), ([key, { servers }]): [string, Set<string>] => [
      key,
      new Set([...servers].filter(([, { connections }]) => connections > 0).map(([server]) => server)),
    ]).filter(([, servers]) => servers.size > 0),
  );
}

/**
 * `/proc/net/ip_vs_conn`, one line for each connection, addresses and ports in hexadecimal:
 *
 *     Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData
 *     TCP 0AF40164 15B3 0A603201 0050 0AF40102 1F90 TIME_WAIT       114
 */
export function openConnections(text: string, family: IpFamily): Busy {
  const busy = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [name = '', , , to = '', toPort = '', dest = '', destPort = '', state = '', expires = ''] =
      line.split(/\s+/);
    const protocol = PROTOCOLS[name];
    if (protocol === undefined || isOver(state, Number(expires))) continue;
    const front = socketOf(to, toPort);
    const real = socketOf(dest, destPort);
    if (front === undefined || real === undefined || familyOf(front.address) !== family) continue;
    const key = serverKey({ address: front.address, protocol, port: String(front.port) });
    const servers = busy.get(key) ?? new Set();
    servers.add(socketAddress(real.address, real.port));
    busy.set(key, servers);
  }
  return busy;
}

/** For how long the kernel remembers a connection that both ends have closed (`tcp_timeouts`), in seconds. */
const TIME_WAIT_S = 120;

/** After so much of it no segment that was lost comes again. */
const QUIET_S = 10;

/**
 * Both ends have closed the connection, or one has reset it; or it is none, but what ties a client to a real
 * server (`NONE`, `ASSURED`).
 * @param expires seconds until the kernel forgets it
 */
function isOver(state: string, expires: number): boolean {
  if (state === 'TIME_WAIT') return expires <= TIME_WAIT_S - QUIET_S;
  return ['CLOSE', 'CLOSED', 'NONE', 'ASSURED'].includes(state);
}

function socketOf(address: string, port: string): ReturnType<typeof fromHex> {
  return fromHex(`${address.includes(':') ? `[${address}]` : address}:${port}`);
}
