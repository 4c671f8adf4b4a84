/**
 * Rules by destination: a leaf holds a few, a branch leads on by the next hexadecimal digit. The form follows
 * from the set of rules alone, not from the history, and trees are never changed: an update shares with the
 * tree it came from whatever it did not touch, so that two trees are compared at the cost of the difference.
 */
import { compareText } from '../../../src/net/ip.ts';

export interface Entry {
  readonly path: string;
  /** Place among the rules of a leaf; no two entries have the same. */
  readonly order: string;
  readonly rule: string;
}

export interface Leaf {
  /** Every path in it begins so. */
  readonly prefix: string;
  readonly count: number;
  readonly entries: readonly Entry[];
  readonly children?: never;
}

export interface Branch {
  /** The longest beginning that all paths in it have. */
  readonly prefix: string;
  readonly count: number;
  /** By the digit after the prefix, in order. At least two. */
  readonly children: readonly TreeNode[];
  readonly entries?: never;
}

export type TreeNode = Leaf | Branch;

export interface Limits {
  /** How many rules the root may hold without branching. At least `part`. */
  readonly root: number;
  /** How many a part may hold. Rules of one path cannot be parted and may be more. */
  readonly part: number;
}

/** @param entries in any order */
export function buildTree(entries: readonly Entry[], limits: Limits): TreeNode | undefined {
  return new Builder(limits).build(entries, '', limits.root);
}

export interface TreeUpdate {
  readonly root: TreeNode | undefined;
  /** Nodes that only the tree before has. */
  readonly gone: readonly TreeNode[];
  /** Nodes that only the new tree has, each behind the nodes below it. */
  readonly fresh: readonly TreeNode[];
}

/** The tree that `buildTree` would make of the entries without `removed` (told by `order`) and with `added`. */
export function updateTree(
  before: TreeNode | undefined,
  removed: readonly Entry[],
  added: readonly Entry[],
  limits: Limits,
): TreeUpdate {
  const builder = new Builder(limits);
  const root = builder.update(before, removed, added, '', limits.root);
  return { root, ...difference(before, root, builder.made) };
}

/** Every entry below. */
export function entriesOf(node: Entry | TreeNode): readonly Entry[] {
  if ('path' in node) return [node];
  return node.entries ?? node.children.flatMap(entriesOf);
}

/** Every node, each behind the nodes below it. */
export function nodesOf(node: TreeNode | undefined): readonly TreeNode[] {
  return node ? [...(node.children ?? []).flatMap(nodesOf), node] : [];
}

/** Something to build from: an entry, or a branch that is kept as it is where the form allows it. */
type Item = Entry | Branch;

class Builder {
  readonly made = new Set<TreeNode>();
  readonly #part: number;

  constructor(limits: Limits) {
    this.#part = limits.part;
  }

  update(
    node: TreeNode | undefined,
    removed: readonly Entry[],
    added: readonly Entry[],
    label: string,
    max: number,
  ): TreeNode | undefined {
    if (node === undefined) return this.build(added, label, max);
    if (node.entries) {
      if (removed.length === 0 && added.length === 0) return node;
      const gone = new Set(removed.map(({ order }) => order));
      return this.build([...node.entries.filter(({ order }) => !gone.has(order)), ...added], label, max);
    }
    const inside = added.filter(({ path }) => path.startsWith(node.prefix));
    const outliers = added.filter(({ path }) => !path.startsWith(node.prefix));
    return this.build([...this.#updateChildren(node, removed, inside), ...outliers], label, max);
  }

  /** The branch with its children updated; what is left of it when that is no branch any more. */
  #updateChildren(branch: Branch, removed: readonly Entry[], added: readonly Entry[]): readonly Item[] {
    const at = branch.prefix.length;
    const removedBy = Map.groupBy(removed, ({ path }) => path.charAt(at));
    const addedBy = Map.groupBy(added, ({ path }) => path.charAt(at));
    if (removedBy.size === 0 && addedBy.size === 0) return [branch];
    const children = new Map(branch.children.map((child) => [child.prefix.charAt(at), child]));
    for (const digit of new Set([...removedBy.keys(), ...addedBy.keys()])) {
      const child = this.update(
        children.get(digit),
        removedBy.get(digit) ?? [],
        addedBy.get(digit) ?? [],
        branch.prefix + digit,
        this.#part,
      );
      if (child === undefined) children.delete(digit);
      else children.set(digit, child);
    }
    if (children.size > 1) return [this.#branch(branch.prefix, [...children.values()])];
    return [...children.values()].flatMap((child): readonly Item[] => child.entries ?? [child]);
  }

  build(items: readonly Item[], label: string, max: number): TreeNode | undefined {
    const count = items.reduce((sum, item) => sum + (isBranch(item) ? item.count : 1), 0);
    if (count === 0) return undefined;
    if (count <= max) return this.#leaf(label, items);
    const [first] = items;
    if (items.length === 1 && first !== undefined && isBranch(first)) return first;
    const prefix = commonPrefix(items);
    if (items.every((item) => pathOf(item) === prefix)) return this.#leaf(label, items);
    const groups = Map.groupBy(items, (item) => pathOf(item).charAt(prefix.length));
    const children = Array.from(groups, ([digit, group]) => this.build(group, prefix + digit, this.#part));
    return this.#branch(
      prefix,
      children.filter((child) => child !== undefined),
    );
  }

  #leaf(prefix: string, items: readonly Item[]): Leaf {
    const entries = items.flatMap(entriesOf).sort((a, b) => compareText(a.order, b.order));
    const leaf = { prefix, count: entries.length, entries };
    this.made.add(leaf);
    return leaf;
  }

  #branch(prefix: string, children: readonly TreeNode[]): Branch {
    const sorted = [...children].sort((a, b) => compareText(a.prefix, b.prefix));
    const branch = { prefix, count: sorted.reduce((sum, { count }) => sum + count, 0), children: sorted };
    this.made.add(branch);
    return branch;
  }
}

function isBranch(item: Item): item is Branch {
  return 'children' in item;
}

function pathOf(item: Item): string {
  return isBranch(item) ? item.prefix : item.path;
}

function commonPrefix(items: readonly Item[]): string {
  const [first, ...rest] = items.map(pathOf);
  let prefix = first ?? '';
  for (const path of rest) while (!path.startsWith(prefix)) prefix = prefix.slice(0, -1);
  return prefix;
}

/** Goes down only where something was made anew: what an update shares, it shares with everything below it. */
function difference(
  before: TreeNode | undefined,
  after: TreeNode | undefined,
  made: ReadonlySet<TreeNode>,
): Pick<TreeUpdate, 'gone' | 'fresh'> {
  const shared = new Set<TreeNode>();
  const fresh: TreeNode[] = [];
  const collectFresh = (node: TreeNode): void => {
    if (!made.has(node)) {
      shared.add(node);
      return;
    }
    node.children?.forEach(collectFresh);
    fresh.push(node);
  };
  const gone: TreeNode[] = [];
  const collectGone = (node: TreeNode): void => {
    if (shared.has(node)) return;
    node.children?.forEach(collectGone);
    gone.push(node);
  };
  if (after) collectFresh(after);
  if (before) collectGone(before);
  return { gone, fresh };
}
