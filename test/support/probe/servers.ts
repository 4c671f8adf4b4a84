/** The back ends: sockets that tell who they are and whom they see, and count whom they served. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { endpoint } from './address.ts';
import { writeAnswer } from './answer.ts';
import type { ListenRequest } from './protocol.ts';

/** The kernel caps it at net.core.somaxconn; Node's own 511 is fewer than a scenario's connections. */
const BACKLOG = 4096;

export class Servers {
  readonly #stop = new Map<string, () => Promise<void>>();
  #counts: Record<string, number> = {};

  /** Rejects when an address is not the host's or a port is taken. */
  async listen(request: ListenRequest): Promise<void> {
    await Promise.all([
      ...pairs(request.addresses, request.tcp).map(([address, port]) => this.#listenTcp(address, port)),
      ...pairs(request.addresses, request.udp).map(([address, port]) => this.#listenUdp(address, port)),
    ]);
  }

  /** Stops listening; open TCP connections are reset, as when the pod goes. */
  async unlisten(request: ListenRequest): Promise<void> {
    const keys = [
      ...pairs(request.addresses, request.tcp).map(([address, port]) => `${endpoint(address, port)}/tcp`),
      ...pairs(request.addresses, request.udp).map(([address, port]) => `${endpoint(address, port)}/udp`),
    ];
    for (const key of keys) {
      const stop = this.#stop.get(key);
      if (!stop) throw new Error(`${key}: nothing listens there`);
      this.#stop.delete(key);
      await stop();
    }
  }

  served(reset: boolean): Record<string, number> {
    const counts = this.#counts;
    if (reset) this.#counts = {};
    return counts;
  }

  #count(key: string): void {
    this.#counts[key] = (this.#counts[key] ?? 0) + 1;
  }

  async #listenTcp(address: string, port: number): Promise<void> {
    const key = `${endpoint(address, port)}/tcp`;
    const open = new Set<Socket>();
    const server: Server = createServer((socket) => {
      this.#count(key);
      open.add(socket);
      socket.on('close', () => open.delete(socket));
      // A client that gives up is no concern of a back end's.
      socket.on('error', () => socket.destroy());
      const answer = writeAnswer(address, port, socket.remoteAddress ?? '');
      socket.write(answer);
      socket.on('data', () => socket.write(answer));
    });
    server.listen({ host: address, port, backlog: BACKLOG });
    await once(server, 'listening');
    this.#stop.set(key, async () => {
      server.close();
      for (const socket of open) socket.resetAndDestroy();
      await once(server, 'close');
    });
  }

  async #listenUdp(address: string, port: number): Promise<void> {
    const key = `${endpoint(address, port)}/udp`;
    const socket: UdpSocket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    socket.on('message', (_message, from) => {
      this.#count(key);
      socket.send(writeAnswer(address, port, from.address), from.port, from.address, () => undefined);
    });
    socket.bind({ address, port });
    await once(socket, 'listening');
    socket.on('error', () => undefined);
    this.#stop.set(key, async () => {
      socket.close();
      await once(socket, 'close');
    });
  }
}

function pairs(addresses: readonly string[], ports: readonly number[] = []): [string, number][] {
  return addresses.flatMap((address) => ports.map((port): [string, number] => [address, port]));
}
