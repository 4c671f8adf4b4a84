/** What the tables hold, as far as diffs are concerned: rules by chain, as `iptables-save` text. */
import type { Protocol } from '../../src/cluster/values.ts';
import type { ChainId, DispatchChain } from './names.ts';

/** One Service's rule in a chain that all Services share. */
export interface DispatchRule {
  readonly chain: DispatchChain;
  /** What the rule is found by: a destination, or a protocol and port on whatever address. */
  readonly key: { readonly address: string } | { readonly protocol: Protocol; readonly port: number };
  /** Place among the rules of its chain. */
  readonly order: string;
  /** Without `-A CHAIN`. */
  readonly rule: string;
}

export class RuleObjects {
  /** Rules in order; a chain stands behind those that it jumps to. */
  readonly chains = new Map<ChainId, readonly string[]>();
  readonly dispatch: DispatchRule[] = [];

  chain(id: ChainId, rules: readonly string[]): void {
    this.chains.set(id, rules);
  }
}
