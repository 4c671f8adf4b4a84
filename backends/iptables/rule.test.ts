import { expect, it } from 'vitest';
import { asSaved, comment, markBit, words } from './rule.ts';

it.each([
  [3, '0.33333333349'],
  [7, '0.14285714272'],
  [319, '0.00313479640'],
  [100_000, '0.00001000008'],
])('reads back the share of one in %i as the kernel prints it', (left, printed) => {
  const written = `-m statistic --mode random --probability ${(1 / left).toFixed(10)} -j KUBE-SEP-A`;
  expect(asSaved(written)).toBe(`-m statistic --mode random --probability ${printed} -j KUBE-SEP-A`);
  expect(asSaved(asSaved(written))).toBe(asSaved(written));
});

it('takes runs of spaces, which nfacct prints, for one', () => {
  expect(asSaved('-m nfacct --nfacct-name  ct_state_invalid_dropped_pkts -j DROP')).toBe(
    '-m nfacct --nfacct-name ct_state_invalid_dropped_pkts -j DROP',
  );
});

it('lets nothing out of the quotes of a comment, nor more than the kernel keeps into it', () => {
  expect(comment('default/web" -j ACCEPT\n-A INPUT\\')).toBe(
    '-m comment --comment "default/web_ -j ACCEPT_-A INPUT_"',
  );
  expect(comment('default/web -> [fd00::1]:80')).toBe('-m comment --comment "default/web -> [fd00::1]:80"');
  expect(comment('x'.repeat(300))).toBe(`-m comment --comment "${'x'.repeat(255)}"`);
});

it('writes mark bits without a sign', () => {
  expect([0, 14, 31].map((masqueradeBit) => markBit({ masqueradeBit }))).toEqual([
    '0x1',
    '0x4000',
    '0x80000000',
  ]);
});

it('joins what there is', () => {
  expect(words('-d 10.96.0.1/32', false, undefined, '', '-j DROP')).toBe('-d 10.96.0.1/32 -j DROP');
});
