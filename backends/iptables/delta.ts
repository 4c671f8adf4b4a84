/** From what the tables hold to what they should hold: the difference. */
import type { ChainId } from './names.ts';
import { asSaved } from './rule.ts';
import type { EnsuredRule } from './skeleton.ts';

export type Chains = ReadonlyMap<ChainId, readonly string[]>;

export interface ChainChange {
  readonly chain: ChainId;
  /** `undefined` when there is no such chain. */
  readonly there: readonly string[] | undefined;
  readonly wanted: readonly string[];
}

export interface Delta {
  /** Those that others jump to come first. */
  readonly changes: readonly ChainChange[];
  /** No longer wanted, and no longer jumped to once the changes are made. */
  readonly stale: readonly ChainId[];
  /** Rules missing in chains that are not ours alone, in the order to insert them. */
  readonly missing: readonly EnsuredRule[];
  /** Chains of theirs that have to be made. */
  readonly missingChains: readonly ChainId[];
  /** Rules of IPVS mode, which is being replaced, in chains that are not ours alone. */
  readonly obsolete: readonly EnsuredRule[];
}

/** What changes between two contents. The order of `wanted` stays. */
export function compareChains(there: Chains, wanted: Chains): Pick<Delta, 'changes' | 'stale'> {
  const changes: ChainChange[] = [];
  for (const [chain, rules] of wanted) {
    const old = there.get(chain);
    if (old === undefined || !sameRules(old, rules)) changes.push({ chain, there: old, wanted: rules });
  }
  return { changes, stale: [...there.keys()].filter((chain) => !wanted.has(chain)) };
}

/** `there` may have been read back from the kernel. */
function sameRules(there: readonly string[], wanted: readonly string[]): boolean {
  if (there === wanted) return true;
  return (
    there.length === wanted.length &&
    wanted.every((rule, index) => rule === there[index] || asSaved(rule) === there[index])
  );
}

export function isEmpty(delta: Delta): boolean {
  const { changes, missing, missingChains, obsolete } = delta;
  return [changes, missing, missingChains, obsolete].every(({ length }) => length === 0);
}

export interface Edits {
  /** In order; `position` counts from 1 and takes those inserted before into account, removals not. */
  readonly inserted: readonly { readonly position: number; readonly rule: string }[];
  readonly removed: readonly string[];
}

/** Few edits are worth while in any chain, more only where the chain is longer than they are. */
const FEW_EDITS = 16;

/**
 * The single rules to insert and then to remove; `undefined` when the chain is better written anew: it has most of
 * its rules changed, a rule twice, or the rules that stay in another order.
 */
export function editsOf({ there, wanted }: ChainChange): Edits | undefined {
  if (there === undefined) return undefined;
  const places = new Map(there.map((rule, index) => [rule, index]));
  const kept = new Set(wanted);
  if (places.size !== there.length || kept.size !== wanted.length) return undefined;
  const inserted: { position: number; rule: string }[] = [];
  let next = 0;
  let last = -1;
  for (const rule of wanted) {
    const place = places.get(rule);
    if (place === undefined) {
      inserted.push({ position: next + 1, rule });
      next += 1;
    } else {
      if (place < last) return undefined;
      last = place;
      next = place + inserted.length + 1;
    }
  }
  const removed = there.filter((rule) => !kept.has(rule));
  const edits = inserted.length + removed.length;
  return edits > FEW_EDITS && edits * 2 > wanted.length ? undefined : { inserted, removed };
}
