/** What is worth telling of something that is tried again and again. */

/** After so many failures that were not told the next one is; each time twice as many, but for the limit. */
const FIRST_PAUSE = 12;
const LONGEST_PAUSE = 720;

/** Counts failures in a row: news are the first, one with another reason, and now and then one of the rest. */
export class Attempts {
  #count = 0;
  #reason: string | undefined;
  #pause = FIRST_PAUSE;
  #nextTold = 0;

  /** How many failed, one after the other. */
  get failures(): number {
    return this.#count;
  }

  /** One more failed, for this reason. @returns whether that is news */
  failed(reason: string): boolean {
    this.#count += 1;
    if (reason !== this.#reason) this.#pause = FIRST_PAUSE;
    else if (this.#count < this.#nextTold) return false;
    else this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
    this.#reason = reason;
    this.#nextTold = this.#count + this.#pause;
    return true;
  }
}
