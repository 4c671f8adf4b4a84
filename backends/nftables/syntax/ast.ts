/**
 * Rules as data. What the parser hands out is in normal form (`normalize.ts`): a rule as we write it and the
 * same rule as nft lists it are equal.
 */

/** `ip`, `ip6`, `inet`, …: the family of a table. */
export type TableFamily = 'ip' | 'ip6' | 'inet' | 'arp' | 'bridge' | 'netdev';

export interface ElementNote {
  readonly comment?: string;
  /** Milliseconds. */
  readonly timeout?: number;
  /** Milliseconds left when it was listed. */
  readonly expires?: number;
}

/**
 * One element of a set or map, as canonical text: the parts of the key joined by ` . `, and for a map what it
 * leads to, a verdict (`goto pick-3`) or data (`10.244.1.2 . 8080`). Values are typed by the set they are in.
 */
export interface Element {
  readonly key: string;
  readonly value?: string;
  readonly note?: ElementNote;
}

/** Where something is looked up: a set of the table, or one written in the rule. */
export type Lookup =
  | { readonly kind: 'named'; readonly name: string }
  | { readonly kind: 'elements'; readonly elements: readonly Element[] };

export type Expression =
  /** Something of the packet or its connection: `ip daddr`, `th dport`, `meta mark`, `fib saddr type`. */
  | { readonly kind: 'field'; readonly field: string }
  /** A constant, canonical text: a value, range or prefix. */
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'concat'; readonly parts: readonly Expression[] }
  /** `(of & mask) ^ xor`: whatever and, or and xor with constants come down to. */
  | { readonly kind: 'bitwise'; readonly of: Expression; readonly mask: number; readonly xor: number }
  | {
      readonly kind: 'numgen';
      readonly mode: 'random' | 'inc';
      readonly modulus: number;
      readonly offset: number;
    }
  | { readonly kind: 'map'; readonly key: Expression; readonly map: Lookup };

export type VerdictName = 'accept' | 'drop' | 'continue' | 'return' | 'jump' | 'goto';

export type Comparison = '<' | '>' | '<=' | '>=';

export type NatFlag = 'random' | 'fully-random' | 'persistent';

export type MatchStatement =
  /** `left` is, or is not, one of these. A single value is a set of one. */
  | { readonly kind: 'match'; readonly left: Expression; readonly negated: boolean; readonly right: Lookup }
  /** Any of the flags is set in `left`, or none is: `ct state new`, `ct status != dnat`. */
  | {
      readonly kind: 'flags';
      readonly left: Expression;
      readonly negated: boolean;
      readonly flags: readonly string[];
    }
  | {
      readonly kind: 'compare';
      readonly left: Expression;
      readonly operator: Comparison;
      readonly value: string;
    };

export type Statement =
  | MatchStatement
  /** Canonical text: `accept`, `goto pick-3`. */
  | { readonly kind: 'verdict'; readonly verdict: string }
  | { readonly kind: 'vmap'; readonly key: Expression; readonly map: Lookup }
  /** `to` may give an address alone, or address and port; `port` when it is written apart, with a colon. */
  | {
      readonly kind: 'nat';
      readonly type: 'dnat' | 'snat' | 'redirect' | 'masquerade';
      readonly to?: Expression;
      readonly port?: Expression;
      readonly flags: readonly NatFlag[];
    }
  | { readonly kind: 'set'; readonly field: string; readonly value: Expression }
  /** Without `with`: the family's own "port unreachable". */
  | { readonly kind: 'reject'; readonly with?: string }
  | {
      readonly kind: 'update';
      readonly operation: 'add' | 'update' | 'delete';
      readonly set: string;
      readonly key: Expression;
      readonly value?: Expression;
      /** Milliseconds. */
      readonly timeout?: number;
    }
  | { readonly kind: 'log'; readonly prefix?: string };

export interface Rule {
  /** In normal form, counters left out. Empty when the rule could not be read. */
  readonly statements: readonly Statement[];
  readonly comment?: string;
  /** As written or listed, its comment included. */
  readonly text: string;
  /** Present in `nft -a list` and in a `Ruleset`. */
  readonly handle?: number;
  /** Why the rule could not be read; only in listings, where anyone may have added rules. */
  readonly problem?: string;
}
