/** Plays recorded answers back over TCP, byte for byte, broken into pieces where a test wants it. */
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

/** The raw answer of a recording: its first line is the request, the rest what came over the wire. */
export function recordedAnswer(name: string): Buffer {
  const file = readFileSync(new URL(`../../fixtures/apiserver/${name}.http`, import.meta.url));
  return file.subarray(file.indexOf('\n') + 1);
}

/** The body of an answer, its chunks put together. */
export function bodyOf(answer: Buffer): Buffer {
  const headersEnd = answer.indexOf('\r\n\r\n');
  const body = answer.subarray(headersEnd + 4);
  if (!/transfer-encoding: chunked/i.test(answer.subarray(0, headersEnd).toString('latin1'))) return body;
  const chunks: Buffer[] = [];
  let at = 0;
  while (at < body.length) {
    const lineEnd = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.subarray(at, lineEnd).toString('latin1'), 16);
    if (size === 0) break;
    chunks.push(body.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return Buffer.concat(chunks);
}

export interface Replay {
  /** What to answer with; nothing at all when undefined. */
  readonly bytes?: Buffer;
  /** Offsets at which to pause, so that the reader gets the pieces one by one. */
  readonly splits?: readonly number[];
  /** Close the connection after the last byte. */
  readonly close?: boolean;
}

export interface ReplayServer {
  readonly url: string;
  /** Paths with queries, in order. */
  readonly requests: readonly string[];
  readonly close: () => Promise<void>;
}

/** Answers each request (path and query) with what `respond` gives for it. Connections are kept. */
export async function startReplayServer(respond: (request: string) => Replay): Promise<ReplayServer> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    let received = '';
    let playing = Promise.resolve();
    socket.on('data', (data) => {
      received += data.toString('latin1');
      for (let end = received.indexOf('\r\n\r\n'); end >= 0; end = received.indexOf('\r\n\r\n')) {
        const target = received.split(' ', 2)[1] ?? '';
        received = received.slice(end + 4);
        requests.push(target);
        const replay = respond(target);
        playing = playing.then(() => play(socket, replay));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function play(socket: Socket, { bytes, splits = [], close = false }: Replay): Promise<void> {
  if (!bytes) return;
  let from = 0;
  for (const to of [...splits, bytes.length]) {
    if (socket.destroyed) return;
    socket.write(bytes.subarray(from, to));
    from = to;
    // Both ends live in this process: a turn of its loop lets the other one read.
    await turn();
    await turn();
  }
  if (close) socket.destroy();
}
