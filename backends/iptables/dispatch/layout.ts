/**
 * A dispatch chain and the chains it is split into. Below a number of rules it is one flat chain, as kube-proxy
 * has it; above, packets are led to a chain for their part of the destinations, so that the last of 10,000
 * Services is found in about as many rules as the first.
 */
import type { IpFamily } from '../../../src/cluster/values.ts';
import { type ChainId, type DispatchChain, splitChain, tableOf } from '../names.ts';
import type { DispatchRule } from '../objects.ts';
import { words } from '../rule.ts';
import { type PathKind, partOf, pathOf } from './path.ts';
import { buildTree, type Entry, entriesOf, type Limits, nodesOf, type TreeNode, updateTree } from './tree.ts';

/** `auto` splits a chain above `AUTO_LIMIT` rules. */
export type DispatchMode = 'flat' | 'split' | 'auto';

/**
 * A rule that does not match costs a new connection some 10 ns (iptables-nft) and a jump little more: up to here
 * the last rule is found within a tenth of the time a connection takes anyway, and the rules are kube-proxy's own.
 */
const AUTO_LIMIT = 128;
const PART_LIMIT = 16;

export function limitsOf(mode: DispatchMode): Limits {
  switch (mode) {
    case 'flat':
      return { root: Number.POSITIVE_INFINITY, part: Number.POSITIVE_INFINITY };
    case 'split':
      return { root: PART_LIMIT, part: PART_LIMIT };
    case 'auto':
      return { root: AUTO_LIMIT, part: PART_LIMIT };
  }
}

type Chains = Map<ChainId, readonly string[]>;

export interface LayoutChange {
  readonly layout: Layout;
  /** The chains that differ, as they were and as they will be; those that others jump to come first. */
  readonly before: Chains;
  readonly after: Chains;
}

const KINDS: readonly PathKind[] = ['address', 'port'];

type Roots = Readonly<Record<PathKind, TreeNode | undefined>>;

/** One dispatch chain's rules. Immutable. */
export class Layout {
  readonly #top: DispatchChain;
  readonly #family: IpFamily;
  readonly #limits: Limits;
  readonly #roots: Roots;

  private constructor(top: DispatchChain, family: IpFamily, limits: Limits, roots: Roots) {
    this.#top = top;
    this.#family = family;
    this.#limits = limits;
    this.#roots = roots;
  }

  static build(
    top: DispatchChain,
    family: IpFamily,
    limits: Limits,
    rules: readonly DispatchRule[] = [],
  ): Layout {
    const entries = byKind(rules);
    return new Layout(top, family, limits, {
      address: buildTree(entries.address, limits),
      port: buildTree(entries.port, limits),
    });
  }

  /** Every chain, those that others jump to first. `tail` ends the dispatch chain itself. */
  chains(tail: readonly string[]): Chains {
    const out: Chains = new Map();
    for (const kind of KINDS) this.#write(kind, nodesOf(this.#roots[kind]), this.#roots[kind], out);
    out.set(this.#top, this.#topRules(this.#roots, tail));
    return out;
  }

  /** The layout without some rules and with others. Cost follows their number, and the depth of the tree. */
  change(
    removed: readonly DispatchRule[],
    added: readonly DispatchRule[],
    tail: readonly string[],
  ): LayoutChange {
    const before: Chains = new Map();
    const after: Chains = new Map();
    const [gone, come] = [byKind(removed), byKind(added)];
    const roots: Record<PathKind, TreeNode | undefined> = { ...this.#roots };
    for (const kind of KINDS) {
      if (gone[kind].length === 0 && come[kind].length === 0) continue;
      const old = roots[kind];
      const { root, gone: goneNodes, fresh } = updateTree(old, gone[kind], come[kind], this.#limits);
      roots[kind] = root;
      // The root's rules stand in the dispatch chain itself; a branch that was or becomes the root has no chain.
      const demoted = old && old !== root && !goneNodes.includes(old) ? [old] : [];
      const promoted = root && root !== old && !fresh.includes(root) ? [root] : [];
      this.#write(kind, [...goneNodes, ...promoted], old, before);
      this.#write(kind, [...demoted, ...fresh], root, after);
    }
    before.set(this.#top, this.#topRules(this.#roots, tail));
    after.set(this.#top, this.#topRules(roots, tail));
    return { layout: new Layout(this.#top, this.#family, this.#limits, roots), before, after };
  }

  /** Where a rule stands. */
  chainOf({ key }: DispatchRule): ChainId {
    const kind = kindOf(key);
    const path = pathOf(key);
    const root = this.#roots[kind];
    let node = root;
    let chain: ChainId = this.#top;
    while (node && !isInline(node)) {
      if (node !== root) chain = this.#chainId(kind, node);
      node = node.children?.find(({ prefix }) => path.startsWith(prefix));
    }
    return chain;
  }

  #topRules(roots: Roots, tail: readonly string[]): string[] {
    return [...KINDS.flatMap((kind) => (roots[kind] ? this.#rules(kind, roots[kind]) : [])), ...tail];
  }

  #write(kind: PathKind, nodes: readonly TreeNode[], root: TreeNode | undefined, out: Chains): void {
    for (const node of nodes) {
      if (node === root || isInline(node)) continue;
      out.set(this.#chainId(kind, node), this.#rules(kind, node));
    }
  }

  #chainId(kind: PathKind, node: TreeNode): ChainId {
    const { name } = partOf(kind, this.#family, node.prefix);
    return `${tableOf(this.#top)} ${splitChain(this.#top, name)}`;
  }

  #rules(kind: PathKind, node: TreeNode): string[] {
    if (node.entries) return node.entries.map(({ rule }) => rule);
    return node.children.flatMap((child) => {
      if (isInline(child)) return entriesOf(child).map(({ rule }) => rule);
      const name = this.#chainId(kind, child).split(' ')[1];
      return [words(partOf(kind, this.#family, child.prefix).match, `-j ${name}`)];
    });
  }
}

/** A chain of its own for a single rule would cost two look-ups instead of one. */
function isInline(node: TreeNode): boolean {
  return node.count === 1;
}

function kindOf(key: DispatchRule['key']): PathKind {
  return 'address' in key ? 'address' : 'port';
}

function byKind(rules: readonly DispatchRule[]): Record<PathKind, Entry[]> {
  const out: Record<PathKind, Entry[]> = { address: [], port: [] };
  for (const { key, order, rule } of rules) {
    out[kindOf(key)].push({ path: pathOf(key), order, rule });
  }
  return out;
}
