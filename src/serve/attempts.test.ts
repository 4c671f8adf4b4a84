import { expect, test } from 'vitest';
import { Attempts } from './attempts.ts';

/** Which of so many failures are news; the reason of each is asked for. */
function news(count: number, reason: (failure: number) => string): number[] {
  const attempts = new Attempts();
  const told: number[] = [];
  for (let failure = 1; failure <= count; failure += 1) {
    if (attempts.failed(reason(failure))) told.push(failure);
    expect(attempts.failures).toBe(failure);
  }
  return told;
}

test('of the same failure fewer and fewer are news, but never none', () => {
  // At five seconds from one to the next: after 1, 3, 7, 15, 31 and 63 minutes, then once an hour.
  expect(news(2200, () => 'taken')).toEqual([1, 13, 37, 85, 181, 373, 757, 1477, 2197]);
});

test('another reason is news, and starts over', () => {
  expect(news(30, (failure) => (failure < 5 ? 'taken' : 'not allowed'))).toEqual([1, 5, 17]);
  expect(news(4, (failure) => (failure % 2 === 0 ? 'a' : 'b'))).toEqual([1, 2, 3, 4]);
});
