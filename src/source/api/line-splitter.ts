/** Cuts a watch stream, one JSON event a line, into its events. */

const NEWLINE = 0x0a;

/** etcd takes objects of 1.5 MiB unless told otherwise: beyond this, something is not a line. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Feed it with `push`, close it with `end`. Only the byte 0x0a ends a line (in JSON text it can be nothing else),
 * so that U+2028 and the like in a value do no harm. A line that is no JSON costs that line alone.
 */
export class LineSplitter {
  readonly #onLine: (line: Buffer) => void;
  #parts: Buffer[] = [];
  #held = 0;

  /** `onLine` gets the bytes of one line, never empty, good until it returns. */
  constructor(onLine: (line: Buffer) => void) {
    this.#onLine = onLine;
  }

  /** Throws a RangeError when a line grows beyond all measure. */
  push(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.#line(chunk.subarray(from, at));
      from = at + 1;
    }
    if (from === chunk.length) return;
    this.#parts.push(chunk.subarray(from));
    this.#held += chunk.length - from;
    if (this.#held > MAX_BYTES)
      throw new RangeError(`more than ${MAX_BYTES} bytes without the end of a line`);
  }

  /** What stands after the last newline; empty when nothing does. */
  end(): Buffer {
    const rest = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#held = 0;
    return rest;
  }

  #line(tail: Buffer): void {
    const line = this.#parts.length > 0 ? Buffer.concat([this.end(), tail]) : tail;
    if (line.length > 0) this.#onLine(line);
  }
}
