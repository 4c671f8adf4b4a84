/** The tables of docs/metrics.md, made from what is registered. */
import { code, markdownTable } from '../docs/markdown.ts';
import { parityText } from '../docs/parity.ts';
import { compareText } from '../net/ip.ts';
import type { ProxyMode } from '../reconcile/backend.ts';
import { HealthIndicators } from './health-indicators.ts';
import { DIFFERENT, NOT_HERE, OWN } from './notes.ts';
import { ProxyMetrics } from './proxy-metrics.ts';
import type { Readable } from './registry.ts';

const MODES: readonly ProxyMode[] = ['nftables', 'iptables', 'ipvs'];
const OURS = 'kube_rulesync_';

export interface RegisteredMetric {
  readonly metric: Readable;
  readonly modes: readonly ProxyMode[];
}

/** Every metric that there is in any mode, by its name, in the order of names. */
export function registeredMetrics(): ReadonlyMap<string, RegisteredMetric> {
  const found = new Map<string, { readonly metric: Readable; readonly modes: ProxyMode[] }>();
  for (const mode of MODES) {
    for (const metric of metricsIn(mode)) {
      const known = found.get(metric.name) ?? { metric, modes: [] };
      found.set(metric.name, known);
      known.modes.push(mode);
    }
  }
  return new Map([...found].sort(([a], [b]) => compareText(a, b)));
}

/** Those of `/metrics` and of `/metrics/slis`. */
function metricsIn(mode: ProxyMode): readonly Readable[] {
  const runner = { run: () => Promise.reject(new Error('nothing is run to describe metrics')) };
  const metrics = new ProxyMetrics({ mode, version: 'v0.0.0', featureGates: [], runner });
  metrics.close();
  return [...metrics.registry.metrics, ...new HealthIndicators().registry.metrics];
}

/** Metrics that kube-proxy has: those that are there, and those that are not. Throws as `checkNotes` does. */
export function kubeProxyMetricsTable(): string {
  const registered = [...registeredMetrics()].filter(([name]) => !name.startsWith(OURS));
  checkNotes(new Map(registered), DIFFERENT);
  const here = registered.map(([name, { metric, modes }]) => [
    code(name),
    metric.type,
    labelsText(metric),
    bucketsText(metric.bounds ?? []),
    modes.length === MODES.length ? 'all' : modes.join(', '),
    meaning(metric),
    parityText(DIFFERENT[name] === undefined ? 'same' : { different: DIFFERENT[name] }),
  ]);
  const notHere = Object.entries(NOT_HERE).map(([name, why]) => [
    code(name),
    ...['', '', '', '', ''],
    parityText({ notHere: why }),
  ]);
  return markdownTable(
    ['Metric', 'Type', 'Labels', 'Buckets', 'Modes', 'Meaning', 'Beside kube-proxy'],
    [...here, ...notHere],
  );
}

/** Metrics that kube-proxy does not have. Throws for one that nothing is said about, and the other way round. */
export function ownMetricsTable(): string {
  const registered = new Map([...registeredMetrics()].filter(([name]) => name.startsWith(OURS)));
  checkNotes(registered, OWN);
  const rows = [...registered].map(([name, { metric }]) => {
    const answers = OWN[name];
    if (answers === undefined) throw new Error(`nothing says what ${name} is for`);
    return [code(name), metric.type, labelsText(metric), bucketsText(metric.bounds ?? []), answers];
  });
  return markdownTable(['Metric', 'Type', 'Labels', 'Buckets', 'Answers'], rows);
}

/** Throws when something is said about a metric that is not there. */
function checkNotes(
  registered: ReadonlyMap<string, RegisteredMetric>,
  notes: Readonly<Record<string, string>>,
): void {
  const unknown = Object.keys(notes).filter((name) => !registered.has(name));
  if (unknown.length > 0) throw new Error(`there is no metric ${unknown.join(', ')} to say anything about`);
}

function labelsText({ labelNames }: Readable): string {
  return labelNames.map(code).join(', ');
}

/** Without the stability that component-base has in front of it; `<` would begin an element of HTML. */
function meaning({ help }: Readable): string {
  return help.replace(/^\[[A-Z]+\] /, '').replaceAll('<', '&lt;');
}

/** As few words as tell all bounds: `0.001 to 16.384, doubling`, `0.5, 1 to 60 by 1`. */
export function bucketsText(bounds: readonly number[]): string {
  const [first = 0] = bounds;
  const doubling = bounds.every(
    (bound, index) => index === 0 || isClose(bound, 2 * (bounds[index - 1] ?? 0)),
  );
  if (bounds.length > 3 && doubling) return `${first} to ${bounds.at(-1)}, doubling`;
  const texts: string[] = [];
  for (let index = 0; index < bounds.length; ) {
    const run = runFrom(bounds, index);
    const [from = 0, next = 0] = run;
    texts.push(run.length > 3 ? `${from} to ${run.at(-1)} by ${next - from}` : `${from}`);
    index += run.length > 3 ? run.length : 1;
  }
  return texts.join(', ');
}

/** The bounds from that one on which are equally far from one another. */
function runFrom(bounds: readonly number[], start: number): number[] {
  const run = bounds.slice(start, start + 2);
  const [from = 0, next = 0] = run;
  for (const bound of bounds.slice(start + 2)) {
    if (!isClose(bound - (run.at(-1) ?? 0), next - from)) break;
    run.push(bound);
  }
  return run;
}

function isClose(a: number, b: number): boolean {
  return Math.abs(a - b) < 1e-9;
}
