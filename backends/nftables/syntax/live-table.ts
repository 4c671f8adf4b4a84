/** A table as scripts change it: the model, what refers to what, and the checks that need both. */
import type { Element, Rule } from './ast.ts';
import { verdictTarget } from './elements.ts';
import type { Journal } from './journal.ts';
import type { Chain, NamedSet, Table } from './model.ts';
import { Refusal } from './refusal.ts';
import { checkTypes } from './type-check.ts';
import { referencesOf, Uses } from './uses.ts';

export class LiveTable implements Table {
  readonly family: Table['family'];
  readonly name: string;
  readonly comment?: string;
  readonly sets = new Map<string, NamedSet>();
  readonly chains = new Map<string, Chain>();
  readonly unread: readonly string[] = [];
  readonly #chainUses = new Uses();
  readonly #setUses = new Uses();
  #lastHandle = 0;

  constructor({ family, name, comment }: Pick<Table, 'family' | 'name' | 'comment'>) {
    this.family = family;
    this.name = name;
    if (comment !== undefined) this.comment = comment;
  }

  /** A chain that has to be there. */
  chain(name: string): Chain {
    const chain = this.chains.get(name);
    if (chain === undefined) throw new Refusal('missing', `there is no chain ${name} in ${this.#title}`);
    return chain;
  }

  /** A set or map that has to be there. */
  set(name: string): NamedSet {
    const set = this.sets.get(name);
    if (set === undefined) throw new Refusal('missing', `there is no set or map ${name} in ${this.#title}`);
    return set;
  }

  get #title(): string {
    return `table ${this.family} ${this.name}`;
  }

  /** Adds a rule at a place of its chain. */
  addRule(journal: Journal, chain: Chain, at: number, rule: Rule): void {
    const { chains, sets } = referencesOf(rule);
    for (const target of chains) this.#checkTarget(target);
    for (const name of sets) this.set(name);
    checkTypes(rule, (name) => this.set(name).declaration);
    journal.splice(chain.rules, at, 0, { ...rule, handle: ++this.#lastHandle });
    for (const target of chains) this.#chainUses.add(journal, target);
    for (const name of sets) this.#setUses.add(journal, name);
  }

  appendRule(journal: Journal, chain: Chain, rule: Rule): void {
    this.addRule(journal, chain, chain.rules.length, rule);
  }

  #checkTarget(name: string): void {
    if (this.chain(name).base !== undefined) {
      throw new Refusal('unsupported', `${name} is a base chain: nothing can go to it`);
    }
  }

  removeRules(journal: Journal, chain: Chain, at: number, count: number): void {
    for (const rule of chain.rules.slice(at, at + count)) {
      const { chains, sets } = referencesOf(rule);
      for (const target of chains) this.#chainUses.release(journal, target);
      for (const name of sets) this.#setUses.release(journal, name);
    }
    journal.splice(chain.rules, at, count);
  }

  removeChain(journal: Journal, name: string): void {
    const chain = this.chain(name);
    this.removeRules(journal, chain, 0, chain.rules.length);
    if (this.#chainUses.of(name) > 0) throw new Refusal('busy', `chain ${name} is still referred to`);
    journal.remove(this.chains, name);
  }

  removeSet(journal: Journal, name: string): void {
    const set = this.set(name);
    if (this.#setUses.of(name) > 0) throw new Refusal('busy', `${set.kind} ${name} is still referred to`);
    this.clearElements(journal, set);
    journal.remove(this.sets, name);
  }

  /** Adds an element whose key and value are of the set's types. */
  addElement(journal: Journal, set: NamedSet, { key, value = '', note }: Element): void {
    const target = verdictTarget(value);
    if (target !== undefined && isVerdictMap(set)) {
      this.#checkTarget(target);
      this.#chainUses.add(journal, target);
    }
    journal.put(set.elements, key, value);
    if (note !== undefined) journal.put(set.notes, key, note);
  }

  removeElement(journal: Journal, set: NamedSet, key: string): void {
    const target = verdictTarget(set.elements.get(key) ?? '');
    if (target !== undefined && isVerdictMap(set)) this.#chainUses.release(journal, target);
    journal.remove(set.elements, key);
    if (set.notes.has(key)) journal.remove(set.notes, key);
  }

  clearElements(journal: Journal, set: NamedSet): void {
    for (const value of isVerdictMap(set) ? set.elements.values() : []) {
      const target = verdictTarget(value);
      if (target !== undefined) this.#chainUses.release(journal, target);
    }
    journal.clear(set.elements);
    journal.clear(set.notes);
  }
}

function isVerdictMap({ declaration }: NamedSet): boolean {
  return declaration.dataTypes?.[0] === 'verdict';
}
