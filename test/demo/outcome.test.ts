import { describe, expect, it } from 'vitest';
import { differences, tally, tallyText, unevenness } from '../../demo/outcome.ts';
import type { Expected } from '../../demo/probes.ts';
import type { Outcome } from '../support/probe/protocol.ts';

const WHO = { client: ['172.30.0.50'], node: ['172.30.0.11', '10.244.1.1'] };

function answers(backend: string, client: string, count: number): Outcome[] {
  return Array.from({ length: count }, () => ({ ok: true, backend, client }));
}

function failures(failure: string, count: number): Outcome[] {
  return Array.from({ length: count }, () => ({ ok: false, failure }));
}

describe('tally', () => {
  it('counts answers by address, whatever the family, and failures by kind', () => {
    const result = tally([
      ...answers('[fd00:244:1::7]:8053', 'fd00:30::50', 2),
      ...answers('10.244.1.7:8053', '172.30.0.50', 1),
      ...failures('timeout', 3),
    ]);
    expect(result.answers).toEqual(
      new Map([
        ['10.244.1.7', 1],
        ['fd00:244:1::7', 2],
      ]),
    );
    expect(result.clients).toEqual(['172.30.0.50', 'fd00:30::50']);
    expect(tallyText(result)).toBe('1 × 10.244.1.7, 2 × fd00:244:1::7, 3 × no answer');
  });
});

describe('differences', () => {
  const kept: Expected = { answers: ['10.244.1.5'], client: 'kept' };
  const both: Expected = { answers: ['10.244.1.4', '10.244.2.4'], client: 'node' };
  const sticky: Expected = { answers: ['10.244.1.8', '10.244.2.8'], sticky: true, client: 'kept' };
  const first = answers('10.244.1.8:8080', '172.30.0.50', 2);
  const second = answers('10.244.2.8:8080', '172.30.0.50', 2);

  it.each<[string, Expected, Outcome[], string[]]>([
    ['the one pod, client kept', kept, answers('10.244.1.5:8080', '172.30.0.50', 3), []],
    ['client replaced', kept, answers('10.244.1.5:8080', '172.30.0.11', 3), ['the pods saw 172.30.0.11']],
    [
      'client kept where it should be replaced',
      both,
      [...answers('10.244.1.4:8080', '10.244.1.1', 1), ...answers('10.244.2.4:8080', '172.30.0.50', 1)],
      ['the pods saw 172.30.0.50'],
    ],
    [
      'a pod that is silent',
      both,
      answers('10.244.1.4:8080', '10.244.1.1', 3),
      ['10.244.2.4 never answered'],
    ],
    [
      'a pod that should not answer',
      kept,
      [...answers('10.244.1.5:8080', '172.30.0.50', 1), ...answers('10.244.2.5:8080', '172.30.0.50', 1)],
      ['10.244.2.5 answered'],
    ],
    [
      'a failure among answers',
      kept,
      [...answers('10.244.1.5:8080', '172.30.0.50', 1), ...failures('timeout', 2)],
      ['2 ended with no answer'],
    ],
    ['one pod under affinity', sticky, first, []],
    ['two pods under affinity', sticky, [...first, ...second], ['2 pods answered']],
    ['refused as it should be', { failure: 'refused' }, failures('refused', 3), []],
    [
      'dropped instead of refused',
      { failure: 'refused' },
      failures('timeout', 3),
      ['some ended with no answer', 'none ended with refused'],
    ],
    [
      'answered instead of refused',
      { failure: 'refused' },
      answers('10.244.1.5:8080', '172.30.0.50', 3),
      ['answers came from 10.244.1.5', 'none ended with refused'],
    ],
  ])('%s', (_, expected, outcomes, wrong) => {
    expect(differences(expected, tally(outcomes), WHO)).toEqual(wrong);
  });
});

describe('unevenness', () => {
  const three = ['10.244.1.2', '10.244.2.2', '10.244.2.3'];
  const spread = (...counts: number[]) =>
    tally(three.flatMap((address, index) => answers(`${address}:8080`, '10.244.1.100', counts[index] ?? 0)));

  it('lets chance have its way', () => {
    expect(unevenness(spread(84, 119, 97), three)).toEqual([]);
  });

  it('names those with too much or too little', () => {
    expect(unevenness(spread(150, 50, 100), three)).toEqual([
      '10.244.1.2 has 150 of 300',
      '10.244.2.2 has 50 of 300',
    ]);
    expect(unevenness(spread(150, 150, 0), three)).toHaveLength(3);
  });
});
