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

  element(set: string, key: string, value = ''): void {
    let elements = this.elements.get(set);
    if (elements === undefined) {
      elements = new Map();
      this.elements.set(set, elements);
    }
    elements.set(key, value);
  }

  chain(name: string, rules: readonly string[]): void {
    this.chains.set(name, rules);
  }

  set(name: string, declaration: string): void {
    this.sets.set(name, declaration);
  }
}
