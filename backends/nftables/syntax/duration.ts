/** Spans of time as nft writes them: `1d2h3m4s5ms`. */

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
];

/** Milliseconds of a token such as `4m59s880ms`. */
export function parseDuration(text: string): number {
  let sum = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)(ms|[dhms])/g)) {
    sum += Number(count) * (UNITS.find(([name]) => name === unit)?.[1] ?? 0);
  }
  return sum;
}

/** As nft would print it. */
export function durationText(milliseconds: number): string {
  let rest = milliseconds;
  let text = '';
  for (const [name, length] of UNITS) {
    const count = Math.floor(rest / length);
    if (count > 0) text += `${count}${name}`;
    rest -= count * length;
  }
  return text === '' ? '0s' : text;
}
