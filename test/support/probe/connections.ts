/** Sockets that stay: a TCP connection, or a UDP socket with one source port, asked again and again. */
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { ANSWER_DEADLINE_MS, deadline, failureOf, readAnswer, TIMEOUT } from './answer.ts';
import type { ConnectRequest, Outcome } from './protocol.ts';

interface Connection {
  /** Asks who is there. */
  send(): void;
  close(): void;
}

/** What a socket reports to: one waiting question at a time, and the last failure for a question asked later. */
class Mailbox {
  #waiting: ((outcome: Outcome) => void) | undefined;
  #broken: Outcome | undefined;

  deliver(outcome: Outcome): void {
    this.#waiting?.(outcome);
  }

  /** From now on every question gets this outcome. */
  break(outcome: Outcome): void {
    this.#broken ??= outcome;
    this.deliver(outcome);
  }

  wait(deadlineMs: number): Promise<Outcome> {
    if (this.#broken) return Promise.resolve(this.#broken);
    return new Promise((resolve) => {
      const settle = (outcome: Outcome): void => {
        cancel();
        this.#waiting = undefined;
        resolve(outcome);
      };
      const cancel = deadline(deadlineMs, () => settle(TIMEOUT));
      this.#waiting = settle;
    });
  }
}

export class Connections {
  readonly #open = new Map<number, { readonly connection: Connection; readonly mailbox: Mailbox }>();
  #next = 1;

  /** Opens it and asks once. The handle is good even after a failure: UDP may be asked again. */
  async open(request: ConnectRequest): Promise<{ handle: number; outcome: Outcome }> {
    const mailbox = new Mailbox();
    const connection = request.protocol === 'tcp' ? openTcp(request, mailbox) : openUdp(request, mailbox);
    const handle = this.#next++;
    this.#open.set(handle, { connection, mailbox });
    return { handle, outcome: await mailbox.wait(request.deadlineMs ?? ANSWER_DEADLINE_MS) };
  }

  async exchange(handle: number, deadlineMs = ANSWER_DEADLINE_MS): Promise<Outcome> {
    const { connection, mailbox } = this.#get(handle);
    const answer = mailbox.wait(deadlineMs);
    connection.send();
    return answer;
  }

  close(handle: number): void {
    this.#get(handle).connection.close();
    this.#open.delete(handle);
  }

  #get(handle: number): { readonly connection: Connection; readonly mailbox: Mailbox } {
    const open = this.#open.get(handle);
    if (!open) throw new Error(`no connection has the handle ${handle}`);
    return open;
  }
}

function openTcp(request: ConnectRequest, mailbox: Mailbox): Connection {
  const socket = connect({
    host: request.address,
    port: request.port,
    ...(request.source === undefined ? {} : { localAddress: request.source }),
    ...(request.sourcePort === undefined ? {} : { localPort: request.sourcePort }),
  });
  let heard = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    heard += text;
    for (let end = heard.indexOf('\n'); end >= 0; end = heard.indexOf('\n')) {
      mailbox.deliver(readAnswer(heard.slice(0, end)));
      heard = heard.slice(end + 1);
    }
  });
  socket.on('error', (error) => mailbox.break(failureOf(error)));
  socket.on('end', () => mailbox.break({ ok: false, failure: 'closed' }));
  return {
    // A back end answers every piece of data; the first answer comes unasked.
    send: () => {
      if (socket.writable) socket.write('?\n');
    },
    close: () => socket.destroy(),
  };
}

function openUdp(request: ConnectRequest, mailbox: Mailbox): Connection {
  const socket = createSocket(request.address.includes(':') ? 'udp6' : 'udp4');
  const send = (): void =>
    socket.send('?', (error) => {
      if (error) mailbox.deliver(failureOf(error));
    });
  socket.on('message', (message) => mailbox.deliver(readAnswer(message.toString('utf8'))));
  // A refusal is not the end of a UDP socket: the next datagram may find a back end.
  socket.on('error', (error) => mailbox.deliver(failureOf(error)));
  socket.on('connect', send);
  socket.bind(
    { port: request.sourcePort ?? 0, ...(request.source === undefined ? {} : { address: request.source }) },
    () => socket.connect(request.port, request.address),
  );
  return { send, close: () => socket.close() };
}
