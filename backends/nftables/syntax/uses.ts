/** What rules and elements refer to: chains by their verdicts, sets and maps by their lookups. */
import type { Element, Lookup, Rule, Statement } from './ast.ts';
import { verdictTarget } from './elements.ts';
import type { Journal } from './journal.ts';
import { lookupsOf } from './normalize.ts';

export interface References {
  readonly chains: readonly string[];
  readonly sets: readonly string[];
}

/** What a rule refers to, each name as often as it does. */
export function referencesOf(rule: Rule): References {
  const lookups = rule.statements.flatMap(lookupsOf);
  return {
    chains: [...rule.statements.flatMap(verdictsOf), ...lookups.flatMap(writtenVerdicts)]
      .map(verdictTarget)
      .filter((target) => target !== undefined),
    sets: lookups.flatMap((lookup) => (lookup.kind === 'named' ? [lookup.name] : [])),
  };
}

function verdictsOf(statement: Statement): string[] {
  return statement.kind === 'verdict' ? [statement.verdict] : [];
}

function writtenVerdicts(lookup: Lookup): string[] {
  return lookup.kind === 'elements' ? lookup.elements.map(({ value = '' }: Element) => value) : [];
}

/** How often each name is referred to; the kernel lets nothing go that still is. */
export class Uses {
  readonly #counts = new Map<string, number>();

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(journal: Journal, name: string): void {
    journal.put(this.#counts, name, this.of(name) + 1);
  }

  release(journal: Journal, name: string): void {
    journal.put(this.#counts, name, this.of(name) - 1);
  }
}
