/**
 * What goes over an agent's stdin and stdout, one JSON object per line, and what the probes mean by their words.
 * Types only: agents share them with whoever controls them.
 */

export type ProbeProtocol = 'tcp' | 'udp';

/** Where a probe goes, and from which of the host's addresses; without `source` the kernel chooses. */
export interface Target {
  readonly address: string;
  readonly port: number;
  readonly protocol: ProbeProtocol;
  readonly source?: string;
}

/** A back end answered: which one, and whom it saw. */
export interface Answered {
  readonly ok: true;
  /** The back end's own address and port: `10.244.1.2:8080`, `[fd00:244:1::2]:8080`. */
  readonly backend: string;
  /** The sender's address as the back end saw it. */
  readonly client: string;
}

/**
 * `refused`: an ICMP error or a reset said so at once. `timeout`: nothing came back within the deadline.
 * `closed`: the other side ended the connection without an answer. Anything else is an errno: `EHOSTUNREACH`.
 */
export interface Failed {
  readonly ok: false;
  readonly failure: string;
}

export type Outcome = Answered | Failed;

export interface ListenRequest {
  readonly addresses: readonly string[];
  readonly tcp?: readonly number[];
  readonly udp?: readonly number[];
}

export interface TriesRequest extends Target {
  /** Default 1. */
  readonly count?: number;
  /** One after the other instead of all at once; default false. */
  readonly inTurn?: boolean;
  /**
   * Milliseconds until a try counts as dropped; default 900, which is less than TCP's first retransmission.
   * TCP over IPv6 then waits 2.7 s more for a refusal alone, which the kernel may be late with (answer.ts).
   */
  readonly deadlineMs?: number;
}

export interface ConnectRequest extends Target {
  /** A fixed source port; without it the kernel chooses. */
  readonly sourcePort?: number;
  /** Milliseconds to wait for the first answer; default 10,000. */
  readonly deadlineMs?: number;
}

export interface LoadRequest extends Target {
  /** New connections (or datagrams from new ports) per second. */
  readonly perSecond: number;
  /** How many may be under way: a machine that is too slow for the rate makes fewer, instead of ever later ones. */
  readonly atOnce?: number;
  readonly deadlineMs?: number;
}

/** What became of a load's tries. `started` minus the rest are still under way. */
export interface LoadReport {
  readonly started: number;
  readonly answered: number;
  /** How often by kind, e.g. `{ refused: 3 }`; empty when nothing failed. */
  readonly failures: Readonly<Record<string, number>>;
  /** How often by back end. */
  readonly backends: Readonly<Record<string, number>>;
}

/** An operation's input and output. */
export interface Operations {
  listen: { input: ListenRequest; output: null };
  unlisten: { input: ListenRequest; output: null };
  /** Connections and datagrams served since the start or the last `reset`, by `10.244.1.2:8080/tcp`. */
  served: { input: { readonly reset: boolean }; output: Readonly<Record<string, number>> };
  tries: { input: TriesRequest; output: readonly Outcome[] };
  connect: { input: ConnectRequest; output: { readonly handle: number; readonly outcome: Outcome } };
  exchange: { input: { readonly handle: number; readonly deadlineMs?: number }; output: Outcome };
  disconnect: { input: { readonly handle: number }; output: null };
  startLoad: { input: LoadRequest; output: { readonly handle: number } };
  loadReport: { input: { readonly handle: number }; output: LoadReport };
  stopLoad: { input: { readonly handle: number }; output: LoadReport };
}

export type OperationName = keyof Operations;

export interface Request {
  readonly id: number;
  readonly operation: OperationName;
  readonly input: unknown;
}

export type Response =
  | { readonly id: number; readonly ok: true; readonly output: unknown }
  | { readonly id: number; readonly ok: false; readonly error: string };
