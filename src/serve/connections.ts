/** How many connections there may be at once, so that nobody's keep anybody else out. */
import type { Socket } from 'node:net';

/** The connections of one server, or of all of them together. */
export class Connections {
  readonly #limit: number;
  /** The one that has been quiet longest comes first. */
  readonly #open = new Set<Socket>();

  /** @param limit when there are more, the one that has been quiet longest is closed */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Takes a connection in until it is closed. */
  add(socket: Socket): void {
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    if (this.#open.size <= this.#limit) return;
    const [quietest = socket] = this.#open;
    // It is closed a little later, and the next one is not to find it here again.
    this.#open.delete(quietest);
    quietest.destroy();
  }

  /** Something was asked on it. */
  heard(socket: Socket): void {
    if (this.#open.delete(socket)) this.#open.add(socket);
  }
}
