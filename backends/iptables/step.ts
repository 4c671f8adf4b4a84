import type { ObjectKey } from '../../src/cluster/values.ts';
import type { ServicePlan } from '../../src/plan/plan.ts';
import type { Change, Step } from '../../src/reconcile/backend.ts';
import type { Features } from './features.ts';
import { renderService } from './model.ts';
import { type ChainId, DISPATCH_CHAINS, isSplitChain, type Table } from './names.ts';
import type { Input } from './script.ts';

/** What a step was made from. */
export interface Origin {
  readonly change: Change;
  readonly features: Features;
}

/** One `iptables-restore --noflush`. */
export class RestoreStep implements Step {
  readonly argv: readonly [string, ...string[]];
  readonly stdin: Input;
  readonly #origin: Origin | undefined;

  constructor(argv: readonly [string, ...string[]], input: Input, origin?: Origin) {
    this.argv = argv;
    this.stdin = [...input];
    this.#origin = origin;
  }

  get services(): readonly ObjectKey[] {
    return [...(this.#origin?.change.services.keys() ?? [])];
  }

  /** Nothing is kept per line: when a line is asked for, the Services are rendered again until one owns it. */
  serviceOfLine(line: number): ObjectKey | undefined {
    const written = this.#written(line);
    if (written === undefined || this.#origin === undefined) return undefined;
    for (const [key, plans] of this.#origin.change.services) {
      if (this.#ownedBy(plans)(written)) return key;
    }
    return undefined;
  }

  /** What a Service's lines were made from. */
  plansOf(service: ObjectKey): readonly ServicePlan[] | undefined {
    return this.#origin?.change.services.get(service);
  }

  /** The first line that a Service wrote. */
  lineOf(service: ObjectKey): number | undefined {
    const plans = this.plansOf(service);
    if (plans === undefined) return undefined;
    const owned = this.#ownedBy(plans);
    let table = '';
    const index = this.stdin.findIndex((text) => {
      if (text.startsWith('*')) table = text.slice(1).trim();
      const written = parseLine(table as Table, text);
      return written !== undefined && owned(written);
    });
    return index < 0 ? undefined : index + 1;
  }

  #ownedBy(plans: readonly ServicePlan[]): (line: WrittenLine) => boolean {
    const origin = this.#origin;
    if (origin === undefined) return () => false;
    const objects = renderService(plans, { node: origin.change.node, features: origin.features });
    const shared = new Set(objects.dispatch.map(({ rule }) => rule));
    return ({ chain, rule }) => (isShared(chain) ? shared.has(rule) : objects.chains.has(chain));
  }

  #written(line: number): WrittenLine | undefined {
    const text = this.stdin[line - 1];
    if (text === undefined) return undefined;
    let above = line - 1;
    while (above > 0 && !this.stdin[above]?.startsWith('*')) above -= 1;
    return parseLine((this.stdin[above] ?? '').slice(1).trim() as Table, text);
  }
}

interface WrittenLine {
  readonly chain: ChainId;
  /** Empty for a line that declares the chain. */
  readonly rule: string;
}

function parseLine(table: Table, text: string): WrittenLine | undefined {
  const match = /^(?::(\S+) - |-[AID] (\S+) (?:\d+ )?(.*))/.exec(text);
  const name = match?.[1] ?? match?.[2];
  return name === undefined ? undefined : { chain: `${table} ${name}`, rule: match?.[3] ?? '' };
}

function isShared(chain: ChainId): boolean {
  return (
    DISPATCH_CHAINS.some((shared) => shared === chain) || isSplitChain(chain.slice(chain.indexOf(' ') + 1))
  );
}

/** A kernel setting, or a counter: no Service writes it. */
export class SettingStep implements Step {
  readonly argv: readonly [string, ...string[]];
  readonly stdin = [];
  readonly services = [];

  constructor(argv: readonly [string, ...string[]]) {
    this.argv = argv;
  }

  serviceOfLine(): undefined {
    return undefined;
  }
}
