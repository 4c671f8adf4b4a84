/**
 * Where a packet ends up by the iptables rules alone: the second opinion on what the back end renders, and what
 * `explain` shows. The order of things is the kernel's: hook by hook, and at each the tables by priority
 * (raw, mangle, nat for destinations, filter, security, nat for sources).
 */
import { Flow, WalkError, type WalkedPacket } from '../flow.ts';
import type { Outcome } from '../nft/walk.ts';
import { followPath, NAT_END, type PathHook } from '../packet-path.ts';
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

/** The tables that a hook goes through; their built-in chains have its name in capitals. */
const TABLES = {
  prerouting: ['raw', 'mangle', 'nat'],
  input: ['mangle', 'filter', 'security', 'nat'],
  forward: ['mangle', 'filter', 'security'],
  output: ['raw', 'mangle', 'nat', 'filter', 'security'],
  postrouting: ['mangle', 'nat'],
} as const satisfies Record<PathHook, readonly string[]>;

class Path {
  readonly #ruleset: Ruleset;
  readonly #scope: Scope;
  readonly #settled = new Set<'source' | 'destination'>();

  constructor(ruleset: Ruleset, scope: Scope) {
    this.#ruleset = ruleset;
    this.#scope = scope;
  }

  follow(): Action {
    const { flow, environment } = this.#scope;
    return followPath(flow, environment, (hook) => this.#hook(hook));
  }

  /** What ends the packet's way at a hook; `undefined` when nothing does. */
  #hook(hook: PathHook): 'drop' | 'reject' | undefined {
    for (const table of TABLES[hook]) {
      const end = table === 'nat' ? NAT_END[hook] : undefined;
      if (end !== undefined && this.#settled.has(end)) continue;
      const result = this.#builtIn(table, hook.toUpperCase());
      if (end !== undefined) this.#settled.add(end);
      if (result !== 'accept') return result;
    }
    return undefined;
  }

  #builtIn(table: string, name: string): Action {
    const chain = this.#ruleset.get(table)?.get(name);
    if (chain === undefined) return 'accept';
    const result = this.#chain(table, name, 0);
    if (result !== undefined) return result;
    if (chain.policy === 'drop') this.#scope.flow.trace.push(`${table} ${name}: policy drop`);
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
