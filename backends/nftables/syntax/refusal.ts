/** Why a script that can be read cannot be applied. */

/**
 * `missing` and `exists`: what is named is not there, or is already. `busy`: it is still in use. `mismatch`:
 * types do not fit. `unsupported`: not in such a chain or hook. `loop`: chains lead back to themselves, or too
 * deep. `full`: the set's size is reached.
 */
export type RefusalReason = 'missing' | 'exists' | 'busy' | 'mismatch' | 'unsupported' | 'loop' | 'full';

/** A command that nft or the kernel would refuse; nothing of its script has been applied. */
export class RefusedCommand extends Error {
  override readonly name = 'RefusedCommand';
  /** Of the script, from 1. */
  readonly line: number;
  readonly reason: RefusalReason;

  constructor(line: number, { reason, message }: Refusal) {
    super(`line ${line}: ${message}`);
    this.line = line;
    this.reason = reason;
  }
}

/** Thrown while a command is carried out, before its line is known. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly reason: RefusalReason;

  /** @param message names the object. */
  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
