/** A sink that keeps what it is told, and lets a test wait for it. */
import type { Problem } from '../../../src/cluster/project/project.ts';
import { type ClusterValue, type ObjectKey, type ValueKind, valueKey } from '../../../src/cluster/values.ts';
import type { SourceSink, SourceStatus } from '../../../src/source/source.ts';

export type SinkCall =
  | { readonly call: 'replace'; readonly kind: ValueKind; readonly keys: readonly ObjectKey[] }
  | { readonly call: 'upsert' | 'remove'; readonly kind: ValueKind; readonly key: ObjectKey };

export class RecordingSink implements SourceSink {
  /** Replacements and changes, in order. */
  readonly calls: SinkCall[] = [];
  readonly statuses = new Map<ValueKind, SourceStatus>();
  /** Open problems by object. */
  readonly reported = new Map<ObjectKey, readonly Problem[]>();
  readonly #values = new Map<ValueKind, Map<ObjectKey, ClusterValue>>();
  readonly #waiting = new Set<() => void>();

  replace(kind: ValueKind, values: ReadonlyMap<ObjectKey, ClusterValue>): void {
    this.#values.set(kind, new Map(values));
    this.calls.push({ call: 'replace', kind, keys: [...values.keys()] });
    this.#changed();
  }

  upsert(value: ClusterValue): void {
    const key = valueKey(value);
    this.#of(value.kind).set(key, value);
    this.calls.push({ call: 'upsert', kind: value.kind, key });
    this.#changed();
  }

  remove(kind: ValueKind, key: ObjectKey): void {
    this.#of(kind).delete(key);
    this.calls.push({ call: 'remove', kind, key });
    this.#changed();
  }

  problems(_kind: ValueKind, key: ObjectKey, problems: readonly Problem[]): void {
    if (problems.length > 0) this.reported.set(key, problems);
    else this.reported.delete(key);
    this.#changed();
  }

  status(kind: ValueKind, status: SourceStatus): void {
    this.statuses.set(kind, status);
    this.#changed();
  }

  /** Sorted keys of what is known of a kind; undefined before the first `replace`. */
  keys(kind: ValueKind): readonly ObjectKey[] | undefined {
    const values = this.#values.get(kind);
    return values && [...values.keys()].sort();
  }

  value(kind: ValueKind, key: ObjectKey): ClusterValue | undefined {
    return this.#values.get(kind)?.get(key);
  }

  /** How often a kind was replaced as a whole. */
  replacements(kind: ValueKind): number {
    return this.calls.filter((call) => call.call === 'replace' && call.kind === kind).length;
  }

  /** Resolves once `condition` holds; rejects, saying what is known instead, after the deadline. */
  until(condition: () => boolean, deadlineMs = 10_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = () => {
        if (!condition()) return;
        clearTimeout(timer);
        this.#waiting.delete(check);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(check);
        const known = JSON.stringify({
          keys: Object.fromEntries([...this.#values].map(([kind, values]) => [kind, [...values.keys()]])),
          statuses: Object.fromEntries(this.statuses),
          problems: Object.fromEntries(this.reported),
        });
        reject(new Error(`not so within ${deadlineMs} ms; known: ${known}`));
      }, deadlineMs);
      this.#waiting.add(check);
      check();
    });
  }

  #of(kind: ValueKind): Map<ObjectKey, ClusterValue> {
    let values = this.#values.get(kind);
    if (!values) {
      values = new Map();
      this.#values.set(kind, values);
    }
    return values;
  }

  #changed(): void {
    for (const check of this.#waiting) check();
  }
}
