import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildTree, type Entry, entriesOf, nodesOf, type TreeNode, updateTree } from './tree.ts';

/** Paths of few digits, so that beginnings are shared, branches appear and vanish, and some paths are equal. */
const PATHS = fc.stringMatching(/^[01a]{4}$/);
const ENTRIES = fc.uniqueArray(
  fc.record({ path: PATHS, order: fc.nat(200).map(String), rule: fc.constant('rule') }),
  { selector: ({ order }) => order, maxLength: 40 },
);
const LIMITS = fc.constantFrom(
  { root: 1, part: 1 },
  { root: 4, part: 2 },
  { root: 10, part: 3 },
  { root: 1000, part: 1000 },
);

const entry = (path: string, order = path): Entry => ({ path, order, rule: `rule ${order}` });

describe('trees', () => {
  it('hold every entry once, in leaves that keep to their limit', () => {
    fc.assert(
      fc.property(ENTRIES, LIMITS, (entries, limits) => {
        const root = buildTree(entries, limits);
        expect(orders(root)).toEqual(entries.map(({ order }) => order).sort());
        for (const node of nodesOf(root)) checkNode(node, node === root ? limits.root : limits.part);
      }),
    );
  });

  it('come out of updates as they would be built, whatever the history', () => {
    fc.assert(
      fc.property(ENTRIES, ENTRIES, LIMITS, (before, after, limits) => {
        const kept = new Map(before.map((one) => [one.order, one]));
        const added = after.filter(({ order }) => !kept.has(order));
        const removed = before.filter((_, index) => index % 3 === 0);
        const gone = new Set(removed);
        const { root } = updateTree(buildTree(before, limits), removed, added, limits);
        const entries = [...before.filter((one) => !gone.has(one)), ...added];
        expect(root).toEqual(buildTree(entries.reverse(), limits));
      }),
    );
  });

  it('tell what an update made and dropped, the rest being shared', () => {
    fc.assert(
      fc.property(ENTRIES, ENTRIES, LIMITS, (before, after, limits) => {
        const known = new Set(before.map(({ order }) => order));
        const added = after.filter(({ order }) => !known.has(order));
        const old = buildTree(before, limits);
        const { root, gone, fresh } = updateTree(old, before.slice(0, 3), added, limits);
        const nodes = new Set(nodesOf(old));
        for (const node of gone) expect(nodes.delete(node)).toBe(true);
        for (const node of fresh) nodes.add(node);
        expect(nodes).toEqual(new Set(nodesOf(root)));
      }),
    );
  });

  it('touch one path from the root for one entry among thousands', () => {
    const entries = Array.from({ length: 4096 }, (_, index) => entry(index.toString(16).padStart(8, '0')));
    const limits = { root: 20, part: 20 };
    const root = buildTree(entries, limits);
    const { gone, fresh } = updateTree(root, [], [entry('00000800', 'new')], limits);
    expect([gone.length, fresh.length]).toEqual([3, 3]);
  });

  it('keep a branch as it is below a new one when an entry far away comes', () => {
    const limits = { root: 1, part: 1 };
    const old = buildTree([entry('0a01'), entry('0a02')], limits);
    const { root, fresh } = updateTree(old, [], [entry('cb00')], limits);
    expect(root?.prefix).toBe('');
    expect(root?.children?.[0]).toBe(old);
    expect(fresh).toHaveLength(2);
    expect(updateTree(root, [entry('cb00')], [], limits).root).toBe(old);
  });
});

function orders(root: TreeNode | undefined): string[] {
  return root
    ? entriesOf(root)
        .map(({ order }) => order)
        .sort()
    : [];
}

function checkNode(node: TreeNode, max: number): void {
  for (const { path } of entriesOf(node)) expect(path.startsWith(node.prefix)).toBe(true);
  expect(entriesOf(node)).toHaveLength(node.count);
  if (node.entries) {
    const paths = new Set(node.entries.map(({ path }) => path));
    if (paths.size > 1) expect(node.count).toBeLessThanOrEqual(max);
  } else {
    expect(node.children.length).toBeGreaterThan(1);
    expect(node.count).toBeGreaterThan(max);
  }
}
