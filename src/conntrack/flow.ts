/** UDP flows as `conntrack -L` prints them, one a line. */

/** `address port`, the address canonical: `10.96.0.10 53`, `fd00:10:96::a 53`. */
export type SocketKey = string;

export function socketKey(address: string, port: number | string): SocketKey {
  return `${address} ${port}`;
}

export function splitSocketKey(key: SocketKey): { readonly address: string; readonly port: string } {
  const blank = key.indexOf(' ');
  return { address: key.slice(0, blank), port: key.slice(blank + 1) };
}

/** One flow, as far as Services are concerned: who sent it makes no difference. */
export interface UdpFlow {
  /** Whom the sender addressed. */
  readonly destination: SocketKey;
  /**
   * Whose packets count as answers: the endpoint that a rule translated the destination to, or `destination` itself
   * where none did.
   */
  readonly answeredBy: SocketKey;
}

/**
 * Both tuples of a flow, each `src= dst= sport= dport=`, with counters, `[UNREPLIED]` and zones between them where
 * there are any (libnetfilter_conntrack, `__snprintf_conntrack_default`).
 */
const TUPLES = / dst=(\S+) sport=\d+ dport=(\d+) .*src=(\S+) dst=\S+ sport=(\d+) dport=\d+/;

/** Reads a line of `conntrack -L -p udp -o extended`; `undefined` for one that is no UDP flow. */
export function parseFlow(line: string): UdpFlow | undefined {
  if (!line.includes(' udp ')) return undefined;
  const found = TUPLES.exec(line);
  if (found === null) return undefined;
  const [, destination = '', destinationPort = '', source = '', sourcePort = ''] = found;
  return {
    destination: socketKey(destination, destinationPort),
    answeredBy: socketKey(source, sourcePort),
  };
}
