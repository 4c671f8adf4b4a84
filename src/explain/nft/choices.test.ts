import { describe, expect, it } from 'vitest';
import { everyRun } from './choices.ts';

describe('everyRun', () => {
  it('runs once when nothing is drawn', () => {
    expect([...everyRun(() => 'done')]).toEqual([{ result: 'done', probability: 1 }]);
  });

  it('draws every number, each as likely', () => {
    expect([...everyRun((choose) => choose(4))]).toEqual([
      { result: 0, probability: 0.25 },
      { result: 1, probability: 0.25 },
      { result: 2, probability: 0.25 },
      { result: 3, probability: 0.25 },
    ]);
  });

  it('draws again only where a run does', () => {
    const runs = [...everyRun((choose) => (choose(2) === 0 ? [0] : [1, choose(2)]))];
    expect(runs).toEqual([
      { result: [0], probability: 0.5 },
      { result: [1, 0], probability: 0.25 },
      { result: [1, 1], probability: 0.25 },
    ]);
  });
});
