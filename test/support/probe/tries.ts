/** Single tries: connect or send once, see who answers. */
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import {
  ANSWER_DEADLINE_MS,
  DEFAULT_DEADLINE_MS,
  deadline,
  failureOf,
  IPV6_REFUSAL_MS,
  readAnswer,
  TIMEOUT,
} from './answer.ts';
import type { Outcome, Target, TriesRequest } from './protocol.ts';

/** As many outcomes as tries. */
export async function runTries(request: TriesRequest): Promise<Outcome[]> {
  const count = request.count ?? 1;
  const deadlineMs = request.deadlineMs ?? DEFAULT_DEADLINE_MS;
  if (!request.inTurn) return Promise.all(Array.from({ length: count }, () => tryOnce(request, deadlineMs)));
  const outcomes: Outcome[] = [];
  for (let n = 0; n < count; n++) outcomes.push(await tryOnce(request, deadlineMs));
  return outcomes;
}

/** Never rejects: what goes wrong is the outcome. */
export function tryOnce(target: Target, deadlineMs: number): Promise<Outcome> {
  return target.protocol === 'tcp' ? tryTcp(target, deadlineMs) : tryUdp(target, deadlineMs);
}

function tryTcp(target: Target, deadlineMs: number): Promise<Outcome> {
  return new Promise((resolve) => {
    const socket = connect({
      host: target.address,
      port: target.port,
      ...(target.source === undefined ? {} : { localAddress: target.source }),
    });
    const settle = (outcome: Outcome): void => {
      cancel();
      socket.destroy();
      resolve(outcome);
    };
    let late = false;
    let cancel = deadline(deadlineMs, () => {
      late = true;
      if (target.address.includes(':')) cancel = deadline(IPV6_REFUSAL_MS, () => settle(TIMEOUT));
      else settle(TIMEOUT);
    });
    let heard = '';
    socket.setEncoding('utf8');
    socket.on('connect', () => {
      cancel();
      // The first SYN was dropped.
      if (late) {
        settle(TIMEOUT);
        return;
      }
      cancel = deadline(ANSWER_DEADLINE_MS, () => settle(TIMEOUT));
    });
    socket.on('data', (text: string) => {
      heard += text;
      if (heard.includes('\n')) settle(readAnswer(heard));
    });
    socket.on('error', (error) => settle(failureOf(error)));
    socket.on('end', () => settle({ ok: false, failure: 'closed' }));
  });
}

function tryUdp(target: Target, deadlineMs: number): Promise<Outcome> {
  return new Promise((resolve) => {
    const socket = createSocket(target.address.includes(':') ? 'udp6' : 'udp4');
    let settled = false;
    const settle = (outcome: Outcome): void => {
      if (settled) return;
      settled = true;
      cancel();
      socket.close();
      resolve(outcome);
    };
    const cancel = deadline(deadlineMs, () => settle(TIMEOUT));
    // Connected, because only then does the kernel report an ICMP "port unreachable" (udp(7)).
    socket.on('connect', () =>
      socket.send('?', (error) => {
        if (error) settle(failureOf(error));
      }),
    );
    socket.on('message', (message) => settle(readAnswer(message.toString('utf8'))));
    socket.on('error', (error) => settle(failureOf(error)));
    socket.bind({ port: 0, ...(target.source === undefined ? {} : { address: target.source }) }, () =>
      socket.connect(target.port, target.address),
    );
  });
}
