/**
 * Cuts the elements of a list's `items` out of its bytes while they stream in, so that neither the text nor the
 * objects of a large list are ever whole in memory.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** etcd takes objects of 1.5 MiB unless told otherwise: beyond this, something is not a list of objects. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Longer keys than `items` need not be remembered whole. */
const MAX_KEY = 16;

/**
 * Feed it with `push`, close it with `end`. Works on bytes: a chunk may end anywhere, also inside a character,
 * an escape or a key. Elements that are not valid JSON are cut like others, as long as their quotes and
 * brackets match.
 */
export class ListSplitter {
  readonly #onItem: (json: Buffer) => void;
  /** The list without its items: `{"kind":…,"metadata":{…},"items":[]}`. */
  readonly #envelope: Buffer[] = [];
  /** What earlier chunks had of the current item. */
  #item: Buffer[] = [];
  #held = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #inItems = false;
  #items = 0;
  /** The last string seen directly inside the list object; before a `[` that is its key. */
  #key = '';

  /** `onItem` gets the bytes of one element, good until it returns. */
  constructor(onItem: (json: Buffer) => void) {
    this.#onItem = onItem;
  }

  /** Throws a RangeError when one object grows beyond all measure. */
  push(chunk: Buffer): void {
    // Locals, because this loop runs once for each byte of every list.
    let depth = this.#depth;
    let inString = this.#inString;
    let escaped = this.#escaped;
    let inItems = this.#inItems;
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inString = false;
        if (depth === 1 && inString && this.#key.length < MAX_KEY) this.#key += String.fromCharCode(byte);
        continue;
      }
      switch (byte) {
        case QUOTE:
          inString = true;
          if (depth === 1) this.#key = '';
          break;
        case OPEN_BRACE:
        case OPEN_BRACKET:
          depth += 1;
          if (depth === 2 && byte === OPEN_BRACKET && this.#key === 'items') {
            this.#hold(this.#envelope, chunk.subarray(from, at + 1));
            this.#items = 0;
            inItems = true;
            from = at + 1;
          }
          break;
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          depth -= 1;
          if (inItems && depth === 1) {
            this.#cut(chunk.subarray(from, at), true);
            inItems = false;
            from = at;
          }
          break;
        case COMMA:
          if (inItems && depth === 2) {
            this.#cut(chunk.subarray(from, at), false);
            from = at + 1;
          }
          break;
      }
    }
    this.#depth = depth;
    this.#inString = inString;
    this.#escaped = escaped;
    this.#inItems = inItems;
    this.#hold(inItems ? this.#item : this.#envelope, chunk.subarray(from));
  }

  /** The list object with `items` emptied. Throws a SyntaxError when the list is cut short or is no JSON. */
  end(): unknown {
    return JSON.parse(Buffer.concat(this.#envelope).toString('utf8'));
  }

  #hold(where: Buffer[], bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#held += bytes.length;
    if (this.#held > MAX_BYTES)
      throw new RangeError(`more than ${MAX_BYTES} bytes without the end of an object`);
    where.push(bytes);
  }

  #cut(tail: Buffer, last: boolean): void {
    let json = tail;
    if (this.#item.length > 0) {
      this.#held -= this.#item.reduce((sum, part) => sum + part.length, 0);
      json = Buffer.concat([...this.#item, tail]);
      this.#item = [];
    }
    if (last && this.#items === 0 && isBlank(json)) return;
    this.#items += 1;
    this.#onItem(json);
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09);
}
