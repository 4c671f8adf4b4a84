/** Walks that leave things to chance, done once for every way they can go. */

/** Whether something comes about that does so with this probability. */
export type Chance = (probability: number) => boolean;

export interface Run<Result> {
  readonly result: Result;
  /** Of all runs together the probabilities add up to 1. */
  readonly probability: number;
}

interface Throw {
  readonly probability: number;
  happens: boolean;
}

/** Runs `run` once for every way its chances can go. What it does must depend on nothing else. */
export function* everyRun<Result>(run: (chance: Chance) => Result): Generator<Run<Result>, void, void> {
  const throws: Throw[] = [];
  do {
    let next = 0;
    const result = run((probability) => {
      // What is certain is no matter of chance.
      if (probability >= 1 || probability <= 0) return probability >= 1;
      const known = throws[next];
      next += 1;
      if (known) return known.happens;
      throws.push({ probability, happens: true });
      return true;
    });
    yield {
      result,
      probability: throws.reduce(
        (product, { probability, happens }) => product * (happens ? probability : 1 - probability),
        1,
      ),
    };
  } while (advance(throws));
}

function advance(throws: Throw[]): boolean {
  for (let last = throws.at(-1); last !== undefined; last = throws.at(-1)) {
    if (last.happens) {
      last.happens = false;
      return true;
    }
    throws.pop();
  }
  return false;
}
