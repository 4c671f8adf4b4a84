/**
 * Where a packet ends up by the rules alone: the second opinion on what a back end renders, and what `explain`
 * shows.
 *
 * The order of things is the kernel's: hooks first (`packet-path.ts`), then priority.
 */
import type { TableModel } from '../../../backends/nftables/syntax/model.ts';
import { type Endpoint, Flow, type SetUpdate, type WalkEnvironment, type WalkedPacket } from '../flow.ts';
import { followPath, NAT_END, type PathHook } from '../packet-path.ts';
import { type Choose, everyRun } from './choices.ts';
import type { Scope } from './evaluate.ts';
import { chainsAt, type HookedChain } from './hooks.ts';
import { Finders } from './lookup.ts';
import { runChain } from './rules.ts';

/** One way the walk can end. */
export interface Outcome {
  readonly action: 'accept' | 'drop' | 'reject';
  /** Where the connection is sent to, when it is accepted and translated. */
  readonly dnat?: Endpoint;
  /** Whether the receiver sees an address of the node in place of the sender's. */
  readonly masquerade: boolean;
  /** The source that a rule gave the connection. */
  readonly snat?: string;
  readonly probability: number;
  /** What rules put into sets on the way. */
  readonly updates: readonly SetUpdate[];
  /** The rules that held, in order: `chain: rule`, with an arrow and what came of it where the rule does not say. */
  readonly trace: readonly string[];
}

/**
 * Walks the first packet of a connection through a ruleset. Sets are taken as they are, with what is in them.
 *
 * @returns every way the random numbers can come, probabilities adding up to 1; several may come to the same.
 * @throws WalkError when a rule on the way cannot be followed, unless the environment says to pass over it.
 */
export function walk(ruleset: TableModel, packet: WalkedPacket, environment: WalkEnvironment): Outcome[] {
  const finders = new Finders();
  const outcomes: Outcome[] = [];
  for (const { result, probability } of everyRun((choose) =>
    walkOnce(ruleset, packet, environment, finders, choose),
  )) {
    outcomes.push({ ...result, probability });
  }
  return outcomes;
}

/** Outcomes that differ in what happens, not in how it came about; the trace is that of the first. */
export function distinctOutcomes(outcomes: readonly Outcome[]): Outcome[] {
  const distinct = new Map<string, Outcome>();
  for (const outcome of outcomes) {
    const { action, dnat, masquerade, snat, updates } = outcome;
    const key = JSON.stringify([action, dnat, masquerade, snat, updates]);
    const before = distinct.get(key);
    distinct.set(
      key,
      before ? { ...before, probability: before.probability + outcome.probability } : outcome,
    );
  }
  return [...distinct.values()];
}

function walkOnce(
  ruleset: TableModel,
  packet: WalkedPacket,
  environment: WalkEnvironment,
  finders: Finders,
  choose: Choose,
): Omit<Outcome, 'probability'> {
  const flow = new Flow(packet);
  const path = new Path(ruleset, flow, environment, finders, choose);
  const action = path.follow();
  return {
    action,
    ...(action === 'accept' && flow.dnat ? { dnat: flow.dnat } : {}),
    masquerade: action === 'accept' && flow.masquerade,
    ...(action === 'accept' && flow.snat !== undefined ? { snat: flow.snat } : {}),
    updates: flow.updates,
    trace: flow.trace,
  };
}

type Action = Outcome['action'];

class Path {
  readonly #ruleset: TableModel;
  readonly #scope: Omit<Scope, 'table'>;
  readonly #settled = new Set<'source' | 'destination'>();
  /** Names of chains stand alone while there is one table. */
  readonly #labelled: boolean;

  constructor(
    ruleset: TableModel,
    flow: Flow,
    environment: WalkEnvironment,
    finders: Finders,
    choose: Choose,
  ) {
    this.#ruleset = ruleset;
    this.#scope = { flow, environment, finders, choose };
    this.#labelled = ruleset.tables.size > 1;
  }

  follow(): Action {
    const { flow, environment } = this.#scope;
    return followPath(flow, environment, (hook) => this.#hook(hook));
  }

  /** What ends the packet's way at a hook; `undefined` when nothing does. */
  #hook(hook: PathHook): 'drop' | 'reject' | undefined {
    const { flow } = this.#scope;
    const end = NAT_END[hook];
    const alreadySettled = end !== undefined && this.#settled.has(end);
    const isSettled = (): boolean =>
      alreadySettled ||
      (end === 'source' ? flow.masquerade || flow.snat !== undefined : flow.dnat !== undefined);
    for (const chain of chainsAt(this.#ruleset, hook, flow.family)) {
      if (chain.base.type === 'nat' && isSettled()) continue;
      const result = this.#base(chain);
      if (result !== 'accept') return result;
    }
    if (end !== undefined) this.#settled.add(end);
    return undefined;
  }

  #base({ table, name, base }: HookedChain): Action {
    const label = this.#labelled ? `${table.name} ` : '';
    const result = runChain({ ...this.#scope, table }, name, label);
    if (result !== undefined) return result;
    if (base.policy === 'drop') this.#scope.flow.trace.push(`${label}${name}: policy drop`);
    return base.policy;
  }
}
