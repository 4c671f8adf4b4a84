/** What a table holds, as far as diffs are concerned: declarations, rules and elements by name, as nft text. */

/** Elements of one set or map: key → what follows it, e.g. ` comment "default/web:http" : goto pick-3`. */
export type Elements = Map<string, string>;

export class TableObjects {
  /** Name → `set { type ipv4_addr ; }` or `map { … }`. */
  readonly sets = new Map<string, string>();
  /** Name → rules in order. */
  readonly chains = new Map<string, readonly string[]>();
  /** Name of a base chain → `type nat hook prerouting priority -100`. */
  readonly hooks = new Map<string, string>();
  readonly elements = new Map<string, Elements>();
  /**
   * How often each shared object was written: `chains` by name, and elements by set and key. Plans write them
   * independently of each other, and the last one to want an object takes it away.
   */
  readonly uses = new Map<string, Map<string, number>>();

  element(set: string, key: string, value = ''): void {
    let elements = this.elements.get(set);
    if (elements === undefined) {
      elements = new Map();
      this.elements.set(set, elements);
    }
    elements.set(key, value);
  }

  /** An element that several Services may want. */
  sharedElement(set: string, key: string): void {
    this.#use(set, key);
    this.element(set, key);
  }

  /** A chain that several Services may want, always with the same rules. */
  sharedChain(name: string, rules: () => readonly string[]): void {
    this.#use('chains', name);
    if (!this.chains.has(name)) this.chains.set(name, rules());
  }

  #use(kind: string, name: string): void {
    let uses = this.uses.get(kind);
    if (uses === undefined) {
      uses = new Map();
      this.uses.set(kind, uses);
    }
    uses.set(name, (uses.get(name) ?? 0) + 1);
  }

  chain(name: string, rules: readonly string[]): void {
    this.chains.set(name, rules);
  }

  set(name: string, declaration: string): void {
    this.sets.set(name, declaration);
  }
}
