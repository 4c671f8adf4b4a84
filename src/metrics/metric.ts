/**
 * Counters, gauges and histograms, and what they look like when they are read. A small part of what a Prometheus
 * client library does; docs/metrics.md says why it is our own.
 */

export type MetricType = 'counter' | 'gauge' | 'histogram';

export type Labels<Name extends string = string> = Readonly<Record<Name, string>>;

export interface Sample {
  readonly suffix: '' | '_bucket' | '_sum' | '_count';
  readonly labels: readonly (readonly [name: string, value: string])[];
  /** Upper bound of a bucket, `+Inf` as Infinity; only with `_bucket`. */
  readonly bound?: number;
  readonly value: number;
}

/** One metric as it is read: its name, and all its samples in a stable order. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly samples: readonly Sample[];
}

/** The data model's rule for names of metrics and labels, without colons, which are for recording rules. */
const NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** What metrics of every type share: one value of `T` for each combination of label values. */
abstract class Metric<Name extends string, T> {
  abstract readonly type: MetricType;
  readonly name: string;
  readonly help: string;
  /** Sorted. */
  readonly labelNames: readonly Name[];
  readonly #series = new Map<string, { readonly labels: readonly (readonly [Name, string])[]; value: T }>();

  /** Throws for names that no Prometheus would take. */
  constructor(name: string, help: string, labelNames: readonly Name[]) {
    for (const one of [name, ...labelNames]) {
      if (!NAME.test(one)) throw new Error(`${JSON.stringify(one)} is no name for a metric or label`);
    }
    this.name = name;
    this.help = help;
    this.labelNames = [...labelNames].sort();
  }

  read(): Family {
    const series = [...this.#series].sort(([a], [b]) => (a < b ? -1 : 1));
    const samples = series.flatMap(([, { labels, value }]) => this.samplesOf(labels, value));
    return { name: this.name, help: this.help, type: this.type, samples };
  }

  protected abstract initial(): T;
  protected abstract samplesOf(labels: Sample['labels'], value: T): Sample[];

  protected update(labels: Labels<Name>, change: (value: T) => T): void {
    const key = this.labelNames.map((name) => labels[name]).join('\0');
    const series = this.#series.get(key);
    if (series) series.value = change(series.value);
    else {
      const named = this.labelNames.map((name) => [name, labels[name]] as const);
      this.#series.set(key, { labels: named, value: change(this.initial()) });
    }
  }
}

/** Only goes up. */
export class Counter<Name extends string = never> extends Metric<Name, number> {
  readonly type = 'counter';

  /** With 0 it is there from then on, so that its first increase is seen as one. */
  add(labels: Labels<Name>, amount = 1): void {
    this.update(labels, (value) => value + amount);
  }

  /** For a count that is kept somewhere else. */
  set(labels: Labels<Name>, total: number): void {
    this.update(labels, () => total);
  }

  protected initial(): number {
    return 0;
  }

  protected samplesOf(labels: Sample['labels'], value: number): Sample[] {
    return [{ suffix: '', labels, value }];
  }
}

export class Gauge<Name extends string = never> extends Metric<Name, number> {
  readonly type = 'gauge';

  set(labels: Labels<Name>, value: number): void {
    this.update(labels, () => value);
  }

  protected initial(): number {
    return 0;
  }

  protected samplesOf(labels: Sample['labels'], value: number): Sample[] {
    return [{ suffix: '', labels, value }];
  }
}

interface Distribution {
  /** Observations in each bucket alone, and in the one above the last bound. */
  readonly counts: number[];
  sum: number;
}

export class Histogram<Name extends string = never> extends Metric<Name, Distribution> {
  readonly type = 'histogram';
  /** Upper bounds of its buckets, ascending, without `+Inf`. */
  readonly bounds: readonly number[];

  /** @param bounds upper bounds, ascending, each part of its bucket; `+Inf` comes by itself */
  constructor(name: string, help: string, bounds: readonly number[], labelNames: readonly Name[]) {
    super(name, help, labelNames);
    this.bounds = bounds;
  }

  observe(labels: Labels<Name>, value: number): void {
    this.update(labels, (distribution) => {
      const index = this.bounds.findIndex((bound) => value <= bound);
      const place = index < 0 ? this.bounds.length : index;
      distribution.counts[place] = (distribution.counts[place] ?? 0) + 1;
      distribution.sum += value;
      return distribution;
    });
  }

  protected initial(): Distribution {
    return { counts: new Array<number>(this.bounds.length + 1).fill(0), sum: 0 };
  }

  protected samplesOf(labels: Sample['labels'], { counts, sum }: Distribution): Sample[] {
    let count = 0;
    const buckets = counts.map((own, index): Sample => {
      count += own;
      const bound = this.bounds[index] ?? Number.POSITIVE_INFINITY;
      return { suffix: '_bucket', labels, bound, value: count };
    });
    return [...buckets, { suffix: '_sum', labels, value: sum }, { suffix: '_count', labels, value: count }];
  }
}

/** `count` bounds, the first one `start`, each `factor` times the one before. */
export function exponentialBuckets(start: number, factor: number, count: number): number[] {
  const bounds: number[] = [];
  for (let bound = start; bounds.length < count; bound *= factor) bounds.push(bound);
  return bounds;
}

/** `count` bounds, the first one `start`, each `width` more than the one before. */
export function linearBuckets(start: number, width: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => start + index * width);
}
