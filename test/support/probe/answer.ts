/** The one line a back end says: `own-address own-port client-address`. */
import { endpoint } from './address.ts';
import type { Outcome } from './protocol.ts';

export function writeAnswer(ownAddress: string, ownPort: number, client: string): string {
  return `${ownAddress} ${ownPort} ${client}\n`;
}

export function readAnswer(line: string): Outcome {
  const [ownAddress, ownPort, client] = line.trim().split(' ');
  if (!ownAddress || !ownPort || !client) return { ok: false, failure: `not a back end's answer: ${line}` };
  return { ok: true, backend: endpoint(ownAddress, Number(ownPort)), client };
}

/** A socket error in the probes' words. */
export function failureOf(error: NodeJS.ErrnoException): Outcome {
  if (error.code === 'ECONNREFUSED') return { ok: false, failure: 'refused' };
  return { ok: false, failure: error.code ?? error.message };
}

export const TIMEOUT: Outcome = { ok: false, failure: 'timeout' };

/** Less than a second: a SYN is then never sent twice, and a drop cannot hide behind the second one. */
export const DEFAULT_DEADLINE_MS = 900;

/**
 * How much longer than an answer a refusal of TCP over IPv6 may take. Between namespaces of one machine the
 * ICMPv6 error is back before `connect` has let go of the socket, which forgets it (tcp_v6_err, counted in
 * TcpExtLockDroppedIcmps) and fails when a retransmitted SYN meets the same: after one second mostly, at times
 * one more, or three on older kernels.
 */
export const IPV6_REFUSAL_MS = 2700;

/**
 * A connected TCP socket's answer is only waited for because the back end's process may be late: whether the
 * network let the packets through is known by then.
 */
export const ANSWER_DEADLINE_MS = 10_000;

/**
 * Calls back after the time, and then only once what has arrived meanwhile was handled: when the machine was
 * too busy to run this process, the answer may be waiting in the socket. Returns what cancels it.
 */
export function deadline(ms: number, onLate: () => void): () => void {
  let immediate: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    immediate = setImmediate(() => {
      immediate = setImmediate(onLate);
    });
  }, ms);
  return () => {
    clearTimeout(timer);
    if (immediate) clearImmediate(immediate);
  };
}
