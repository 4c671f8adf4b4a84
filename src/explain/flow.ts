/** A connection's first packet on its way through the hooks. */
import type { IpFamily } from '../cluster/values.ts';
import { familyOf } from '../net/ip.ts';
import type { NodeFacts, Packet } from '../plan/verdict.ts';

/** The first packet of a connection, as `verdict` takes it, with what only rules may look at. */
export interface WalkedPacket extends Packet {
  /** Default 40000. */
  readonly sourcePort?: number;
  /** Default 0. */
  readonly mark?: number;
}

/** What a walk needs to know of the node. */
export interface WalkEnvironment extends NodeFacts {
  /** The interface by which packets to an address leave; the empty string, or no function: not known. */
  outInterface?(destination: string): string;
  /** What to do at a rule that could not be read. Default: refuse. */
  readonly unread?: 'refuse' | 'pass-over';
}

export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** Something that a rule added to a set, or would have refreshed. */
export interface SetUpdate {
  readonly operation: 'add' | 'update' | 'delete';
  readonly set: string;
  readonly key: string;
  readonly value?: string;
}

/** The rules cannot be followed: there is something in them that this walker does not know. */
export class WalkError extends Error {
  override readonly name = 'WalkError';
}

export interface Tuple {
  readonly source: string;
  readonly sourcePort: number;
  readonly destination: string;
  readonly destinationPort: number;
}

/** The packet as it is at some point of its way. */
export class Flow {
  readonly family: IpFamily;
  /** `tcp`, `udp`, `sctp` */
  readonly protocol: string;
  /** As it came. */
  readonly original: Tuple;
  /** As it is now. */
  destination: string;
  destinationPort: number;
  mark: number;
  connectionMark = 0;
  inInterface: string;
  outInterface = '';
  dnat: Endpoint | undefined;
  masquerade = false;
  snat: string | undefined;
  readonly updates: SetUpdate[] = [];
  readonly trace: string[] = [];

  constructor(packet: WalkedPacket) {
    const { source, destination, port, sourcePort = 40_000, mark = 0 } = packet;
    this.family = familyOf(destination);
    this.protocol = packet.protocol.toLowerCase();
    this.original = { source, sourcePort, destination, destinationPort: port };
    this.destination = destination;
    this.destinationPort = port;
    this.mark = mark;
    this.inInterface = packet.inInterface;
  }

  get source(): string {
    return this.snat ?? this.original.source;
  }
}
