import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareChains, editsOf } from './delta.ts';

const chain = 'nat KUBE-SERVICES';

/** What the edits make of a chain. */
function edited(there: readonly string[], wanted: readonly string[]): string[] | undefined {
  const edits = editsOf({ chain, there, wanted });
  if (edits === undefined) return undefined;
  const rules = [...there];
  for (const { position, rule } of edits.inserted) rules.splice(position - 1, 0, rule);
  for (const rule of edits.removed) rules.splice(rules.indexOf(rule), 1);
  return rules;
}

describe('editsOf', () => {
  it('inserts where the rule belongs, then removes', () => {
    expect(editsOf({ chain, there: ['a', 'b', 'd', 'e'], wanted: ['a', 'c', 'd', 'f'] })).toEqual({
      inserted: [
        { position: 2, rule: 'c' },
        { position: 5, rule: 'f' },
      ],
      removed: ['b', 'e'],
    });
  });

  it('makes the wanted chain of any other with the same order', () => {
    const rules = Array.from({ length: 30 }, (_, index) => `rule ${index}`);
    const some = fc.subarray(rules);
    fc.assert(
      fc.property(some, some, (there, wanted) => {
        const result = edited(there, wanted);
        if (result !== undefined) expect(result).toEqual(wanted);
        else expect(there.length + wanted.length).toBeGreaterThan(16);
      }),
    );
  });

  it.each([
    ['the rules that stay change places', ['a', 'b'], ['b', 'a']],
    ['a rule is there twice', ['a', 'a'], ['a']],
    ['a rule is wanted twice', ['a'], ['a', 'a']],
    ['there is no chain', undefined, ['a']],
    ['most rules change', ['z'], Array.from({ length: 20 }, (_, index) => `${index}`)],
  ] as const)('leaves the chain to be written anew when %s', (_, there, wanted) => {
    expect(editsOf({ chain, there, wanted })).toBeUndefined();
  });

  it('edits a long chain even by many rules', () => {
    const there = Array.from({ length: 100 }, (_, index) => `old ${index}`);
    const wanted = [...there, ...Array.from({ length: 30 }, (_, index) => `new ${index}`)];
    expect(edited(there, wanted)).toEqual(wanted);
  });
});

describe('compareChains', () => {
  it('finds nothing to do where the kernel prints what was written in its own words', () => {
    const wanted = ['-m statistic --mode random --probability 0.3333333333 -j A', '-j B'];
    const there = ['-m statistic --mode random --probability 0.33333333349 -j A', '-j B'];
    expect(compareChains(new Map([[chain, there]]), new Map([[chain, wanted]]))).toEqual({
      changes: [],
      stale: [],
    });
  });

  it('tells new, changed and stale chains', () => {
    const there = new Map([
      [chain, ['-j A']],
      ['nat KUBE-SVC-OLD', []],
    ] as const);
    const wanted = new Map([
      ['nat KUBE-SVC-NEW', ['-j C']],
      [chain, ['-j B']],
    ] as const);
    expect(compareChains(there, wanted)).toEqual({
      changes: [
        { chain: 'nat KUBE-SVC-NEW', there: undefined, wanted: ['-j C'] },
        { chain, there: ['-j A'], wanted: ['-j B'] },
      ],
      stale: ['nat KUBE-SVC-OLD'],
    });
  });
});
