/**
 * Where a packet ends up by the iptables rules alone: the second opinion on what the back end renders, and what
 * `explain` shows. The order of things is the kernel's: hook by hook, and at each the tables by priority
 * (raw, mangle, nat for destinations, filter, security, nat for sources).
 */
import { isLocal } from '../nft/field-values.ts';
import { Flow, WalkError, type WalkedPacket } from '../nft/flow.ts';
import type { Outcome } from '../nft/walk.ts';
import { everyRun } from './chances.ts';
import { holds, type IptablesEnvironment, type Scope } from './matches.ts';
import type { Rule } from './rule.ts';
import type { Ruleset } from './ruleset.ts';
import { isExtension, run } from './targets.ts';

/**
 * Walks the first packet of a connection through the tables of its family.
 *
 * @returns every way chance can have it, probabilities adding up to 1; several may come to the same.
 * @throws WalkError when a rule on the way cannot be followed, unless the environment says to pass over it.
 */
export function walk(ruleset: Ruleset, packet: WalkedPacket, environment: IptablesEnvironment): Outcome[] {
  const outcomes: Outcome[] = [];
  for (const { result, probability } of everyRun((chance) => {
    const flow = new Flow(packet);
    return { flow, action: new Path(ruleset, { flow, environment, chance }).follow() };
  })) {
    const { flow, action } = result;
    outcomes.push({
      action,
      ...(action === 'accept' && flow.dnat ? { dnat: flow.dnat } : {}),
      masquerade: action === 'accept' && flow.masquerade,
      ...(action === 'accept' && flow.snat !== undefined ? { snat: flow.snat } : {}),
      updates: flow.updates,
      trace: flow.trace,
      probability,
    });
  }
  return outcomes;
}

type Action = Outcome['action'];

const HOOKS = {
  PREROUTING: ['raw', 'mangle', 'nat'],
  INPUT: ['mangle', 'filter', 'security', 'nat'],
  FORWARD: ['mangle', 'filter', 'security'],
  OUTPUT: ['raw', 'mangle', 'nat', 'filter', 'security'],
  POSTROUTING: ['mangle', 'nat'],
} as const;

type Hook = keyof typeof HOOKS;

/** Which end of a connection a hook's nat chain decides on; each is decided once. */
const NAT_END: Readonly<Partial<Record<Hook, 'source' | 'destination'>>> = {
  PREROUTING: 'destination',
  OUTPUT: 'destination',
  INPUT: 'source',
  POSTROUTING: 'source',
};

class Path {
  readonly #ruleset: Ruleset;
  readonly #scope: Scope;
  readonly #settled = new Set<'source' | 'destination'>();

  constructor(ruleset: Ruleset, scope: Scope) {
    this.#ruleset = ruleset;
    this.#scope = scope;
  }

  follow(): Action {
    const { flow } = this.#scope;
    if (flow.inInterface !== '') return this.#hook('PREROUTING') ?? this.#routed();
    this.#leave();
    const stopped = this.#hook('OUTPUT');
    if (stopped !== undefined) return stopped;
    // Translation in OUTPUT has the packet routed again.
    this.#leave();
    const toItself = this.#isForNode();
    return this.#hook('POSTROUTING') ?? (toItself ? this.#comeBack() : 'accept');
  }

  #routed(): Action {
    if (this.#isForNode()) return this.#hook('INPUT') ?? 'accept';
    this.#leave();
    return this.#hook('FORWARD') ?? this.#hook('POSTROUTING') ?? 'accept';
  }

  /** Over the loopback interface; the connection is known by now, and its translation settled. */
  #comeBack(): Action {
    const { flow } = this.#scope;
    flow.inInterface = 'lo';
    flow.outInterface = '';
    return this.#hook('PREROUTING') ?? this.#hook('INPUT') ?? 'accept';
  }

  #leave(): void {
    const { flow, environment } = this.#scope;
    flow.outInterface = this.#isForNode() ? 'lo' : (environment.outInterface?.(flow.destination) ?? '');
  }

  #isForNode(): boolean {
    return isLocal(this.#scope.flow.destination, this.#scope.environment.localAddresses);
  }

  /** What ends the packet's way at a hook; `undefined` when nothing does. */
  #hook(hook: Hook): 'drop' | 'reject' | undefined {
    for (const table of HOOKS[hook]) {
      const end = table === 'nat' ? NAT_END[hook] : undefined;
      if (end !== undefined && this.#settled.has(end)) continue;
      const result = this.#builtIn(table, hook);
      if (end !== undefined) this.#settled.add(end);
      if (result !== 'accept') return result;
    }
    return undefined;
  }

  #builtIn(table: string, hook: Hook): Action {
    const chain = this.#ruleset.get(table)?.get(hook);
    if (chain === undefined) return 'accept';
    const result = this.#chain(table, hook, 0);
    if (result !== undefined) return result;
    if (chain.policy === 'drop') this.#scope.flow.trace.push(`${table} ${hook}: policy drop`);
    return chain.policy ?? 'accept';
  }

  /** `undefined`: the chain has nothing more to say, and the calling one goes on. */
  #chain(table: string, name: string, depth: number): Action | undefined {
    const chain = this.#ruleset.get(table)?.get(name);
    if (chain === undefined) throw new WalkError(`there is no chain ${name} in the table ${table}`);
    if (depth > MAX_DEPTH) throw new WalkError(`chains lead in a circle, or too deep, at ${table} ${name}`);
    for (const rule of chain.rules) {
      if (!this.#holds(rule, `${table} ${name}`)) continue;
      const { target } = rule;
      if (target === undefined) continue;
      if (isExtension(target.name)) {
        const result = run(this.#scope.flow, target);
        if (result === 'return') return undefined;
        if (result !== undefined) return result;
      } else {
        const result = this.#chain(table, target.name, depth + 1);
        // What a chain that was gone to leaves undecided goes back to where the last jump came from.
        if (result !== undefined || target.kind === 'goto') return result;
      }
    }
    return undefined;
  }

  #holds(rule: Rule, where: string): boolean {
    const { flow, environment } = this.#scope;
    try {
      if (!rule.matches.every((match) => holds(this.#scope, match))) return false;
      const { target } = rule;
      if (target && !isExtension(target.name) && !this.#isChain(where, target.name)) {
        throw new WalkError(`the target ${target.name} is not known`);
      }
    } catch (error) {
      if (!(error instanceof WalkError)) throw error;
      if (environment.unread !== 'pass-over') {
        throw new WalkError(`${where}: cannot follow the rule "${rule.text}": ${error.message}`);
      }
      flow.trace.push(`${where}: not understood and passed over: ${rule.text}`);
      return false;
    }
    flow.trace.push(`${where}: ${rule.text}`);
    return true;
  }

  #isChain(where: string, name: string): boolean {
    const table = where.slice(0, where.indexOf(' '));
    return this.#ruleset.get(table)?.has(name) ?? false;
  }
}

/** The kernel bounds jumps by the number of chains; rules that go round in circles are bounded here. */
const MAX_DEPTH = 64;
