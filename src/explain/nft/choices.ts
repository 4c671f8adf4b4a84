/** Walks that draw numbers, done once for every way the numbers can come. */

/** Draws one of `0 … count - 1`, each as likely as the others. */
export type Choose = (count: number) => number;

export interface Run<Result> {
  readonly result: Result;
  /** Of all runs together the probabilities add up to 1. */
  readonly probability: number;
}

interface Draw {
  readonly count: number;
  value: number;
}

/**
 * Runs `run` once for every sequence of numbers it can draw. What it does must depend on nothing else: the next
 * run repeats the draws of the last one, but for the last draw that has a value left.
 */
export function* everyRun<Result>(run: (choose: Choose) => Result): Generator<Run<Result>, void, void> {
  const draws: Draw[] = [];
  do {
    let next = 0;
    const result = run((count) => {
      let draw = draws[next];
      if (draw === undefined) {
        draw = { count, value: 0 };
        draws.push(draw);
      }
      next++;
      return draw.value;
    });
    yield { result, probability: draws.reduce((product, { count }) => product / count, 1) };
  } while (advance(draws));
}

/** Goes to the next sequence; whether there is one. */
function advance(draws: Draw[]): boolean {
  for (let last = draws.at(-1); last !== undefined; last = draws.at(-1)) {
    last.value++;
    if (last.value < last.count) return true;
    draws.pop();
  }
  return false;
}
