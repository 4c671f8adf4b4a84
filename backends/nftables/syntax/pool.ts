/**
 * Strings cut out of a large text. A JavaScript engine lets a substring share its parent's memory, so one
 * name kept from a listing would keep the whole listing; and the same name is cut out thousands of times.
 */
export class StringPool {
  readonly #owned = new Map<string, string>();

  /** The same string with memory of its own, one copy for equal strings. */
  own(text: string): string {
    const known = this.#owned.get(text);
    if (known !== undefined) return known;
    const copy = Buffer.from(text, 'utf8').toString('utf8');
    this.#owned.set(copy, copy);
    return copy;
  }
}
