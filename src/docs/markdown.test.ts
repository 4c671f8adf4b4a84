import { expect, test } from 'vitest';
import { code, markdownTable, withSection } from './markdown.ts';
import { parityText } from './parity.ts';

test('a table', () => {
  expect(
    markdownTable(
      ['A', 'B'],
      [
        ['1', 'x|y'],
        ['', '2'],
      ],
    ),
  ).toBe('| A | B |\n|---|---|\n| 1 | x\\|y |\n|  | 2 |');
  expect([code('a b'), code('')]).toEqual(['`a b`', '']);
});

test('a section takes the place of what was there, however often it is made', () => {
  const page = 'Before\n<!-- begin x: made by scripts/docs.ts -->\nold\n<!-- end x -->\nafter\n';
  const once = withSection(page, 'x', 'new');
  expect(once).toBe('Before\n<!-- begin x: made by scripts/docs.ts -->\n\nnew\n\n<!-- end x -->\nafter\n');
  expect(withSection(once, 'x', 'new')).toBe(once);
});

test.for([
  ['nothing', 'Before\n'],
  ['no end', '<!-- begin x: made by scripts/docs.ts -->\nold\n'],
  ['another section', '<!-- begin y: made by scripts/docs.ts -->\nold\n<!-- end y -->\n'],
  [
    'two of them',
    '<!-- begin x: made by scripts/docs.ts -->\n\n<!-- end x -->\n<!-- begin x: made by scripts/docs.ts -->\n\n<!-- end x -->\n',
  ],
] as const)('a page with %s is an error', ([, page]) => {
  expect(() => withSection(page, 'x', 'new')).toThrow(
    'there must be one section between <!-- begin x: made by scripts/docs.ts --> and <!-- end x -->',
  );
});

test('how a thing of kube-proxy’s is here', () => {
  expect([
    parityText('same'),
    parityText('ours'),
    parityText({ different: 'a' }),
    parityText({ notHere: 'b' }),
  ]).toEqual(['same', 'ours', 'different: a', 'not here: b']);
});
