/** The metrics that one path answers with. */
import type { Family, MetricType } from './metric.ts';

/** Whatever can be read as one metric. */
export interface Readable {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  /** Sorted. */
  readonly labelNames: readonly string[];
  /** Of a histogram: the upper bounds of its buckets, ascending, without `+Inf`. */
  readonly bounds?: readonly number[];
  read(): Family;
}

/** Brings values up to date that are looked up when somebody asks. Must not reject. */
export type Refresh = () => void | Promise<void>;

export class Registry {
  readonly #metrics = new Map<string, Readable>();
  readonly #refreshes: Refresh[] = [];

  /** Adds metrics. Throws when there is one of that name. */
  register(...metrics: readonly Readable[]): void {
    for (const metric of metrics) {
      if (this.#metrics.has(metric.name)) throw new Error(`there are two metrics called ${metric.name}`);
      this.#metrics.set(metric.name, metric);
    }
  }

  /** All of them, with or without a value. */
  get metrics(): readonly Readable[] {
    return [...this.#metrics.values()];
  }

  /** `refresh` runs before each reading. */
  beforeReading(refresh: Refresh): void {
    this.#refreshes.push(refresh);
  }

  /** Everything that has a value, in the order of names. */
  async read(): Promise<Family[]> {
    for (const refresh of this.#refreshes) await refresh();
    const families = [...this.#metrics.values()].map((metric) => metric.read());
    return families.filter(({ samples }) => samples.length > 0).sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}
