import type { ObjectKey } from '../../src/cluster/values.ts';
import type { Change, Step } from '../../src/reconcile/backend.ts';
import { renderService } from './model.ts';
import type { TableObjects } from './objects.ts';

/** One `nft -f` transaction. */
export class NftStep implements Step {
  readonly argv = ['nft', '-f', '-'] as const;
  readonly stdin: readonly string[];
  readonly #change: Change | undefined;

  constructor(stdin: readonly string[], change: Change | undefined) {
    this.stdin = stdin;
    this.#change = change;
  }

  get services(): readonly ObjectKey[] {
    return [...(this.#change?.services.keys() ?? [])];
  }

  /**
   * Nothing is kept per line: when nft objects to one, the Services are rendered again until the line is found.
   * A line that several Services share (a chain for a number of endpoints) names none.
   */
  serviceOfLine(line: number): ObjectKey | undefined {
    const target = this.#target(line);
    if (target === undefined || this.#change === undefined) return undefined;
    const owners: ObjectKey[] = [];
    for (const [key, plans] of this.#change.services) {
      if (target(renderService(plans, this.#change.node))) owners.push(key);
    }
    return owners.length === 1 ? owners[0] : undefined;
  }

  /** What a line writes, as a question to the objects of a Service. */
  #target(line: number): ((objects: TableObjects) => boolean) | undefined {
    const text = this.stdin[line - 1];
    if (text === undefined) return undefined;
    const inList = text.startsWith('\t');
    const command = /^(add|delete|flush) (\w+) \S+ \S+ (\S+)/.exec(inList ? this.#commandAbove(line) : text);
    const [, , kind, name] = command ?? [];
    if (kind === undefined || name === undefined) return undefined;
    if (kind === 'element') {
      const element = inList ? text.trim().replace(/,$/, '') : /\{ (.*) \}/.exec(text)?.[1];
      const key = element?.split(/ comment | : /)[0];
      return key === undefined ? undefined : (objects) => objects.elements.get(name)?.has(key) ?? false;
    }
    if (kind === 'chain' || kind === 'rule') return (objects) => objects.chains.has(name);
    return (objects) => objects.sets.has(name);
  }

  #commandAbove(line: number): string {
    let above = line - 1;
    while (above > 0 && this.stdin[above - 1]?.startsWith('\t')) above -= 1;
    return this.stdin[above - 1] ?? '';
  }
}
