/** Tables as data: what a listing tells, and what scripts are applied to. */
import type { ElementNote, Rule, TableFamily } from './ast.ts';
import type { DataType } from './types.ts';

export type SetKind = 'set' | 'map';

export interface SetDeclaration {
  readonly kind: SetKind;
  /** Types of the key's parts, whether declared by `type` or `typeof`. */
  readonly keyTypes: readonly DataType[];
  /** For a map: `verdict`, or the types of the data's parts. */
  readonly dataTypes?: readonly DataType[];
  /** Sorted. `timeout` is among them where there is a default timeout. */
  readonly flags: readonly string[];
  /** Milliseconds. */
  readonly timeout?: number;
  readonly size?: number;
  readonly autoMerge: boolean;
  readonly comment?: string;
}

export interface NamedSet {
  readonly kind: SetKind;
  readonly declaration: SetDeclaration;
  /**
   * Key → what it leads to, both as canonical text (`Element`); an empty string in a set. Addresses are
   * canonical, numbers decimal, names of interfaces without quotes.
   */
  readonly elements: Map<string, string>;
  /** Comments and times of the elements that have any. */
  readonly notes: Map<string, ElementNote>;
}

export type ChainType = 'filter' | 'nat' | 'route';
export type Hook = 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting' | 'ingress' | 'egress';

/** What ties a chain to the kernel's packet path. */
export interface BaseChain {
  readonly type: ChainType;
  readonly hook: Hook;
  readonly priority: number;
  readonly policy: 'accept' | 'drop';
}

export interface Chain {
  readonly base?: BaseChain;
  readonly comment?: string;
  readonly rules: Rule[];
}

export interface Table {
  readonly family: TableFamily;
  readonly name: string;
  readonly comment?: string;
  /** Sets and maps: they share one space of names. */
  readonly sets: Map<string, NamedSet>;
  readonly chains: Map<string, Chain>;
  /** What of a listing could not be read, and why; others may have put it there. */
  readonly unread: readonly string[];
}

export interface TableModel {
  /** By family and name, `ip kube-proxy`; in the order of the listing. */
  readonly tables: Map<string, Table>;
}

/** The key of a table in a `TableModel`. */
export function tableKey(family: TableFamily, name: string): string {
  return `${family} ${name}`;
}

/**
 * Whether a set that is there can serve as the one that is asked for: the kernel refuses to declare a set again
 * with another type, flag or timeout; it overlooks another comment, and takes another size.
 */
export function sameDeclaration(a: SetDeclaration, b: SetDeclaration): boolean {
  return (
    a.kind === b.kind &&
    a.timeout === b.timeout &&
    sameWords(a.keyTypes, b.keyTypes) &&
    sameWords(a.dataTypes ?? [], b.dataTypes ?? []) &&
    sameWords(a.flags, b.flags)
  );
}

function sameWords(a: readonly string[], b: readonly string[]): boolean {
  return a.join(' ') === b.join(' ');
}
