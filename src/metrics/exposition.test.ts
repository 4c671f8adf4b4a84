import { expect, test } from 'vitest';
import { exposition, formatFor } from './exposition.ts';
import { Counter, exponentialBuckets, Gauge, Histogram, linearBuckets } from './metric.ts';
import { Registry } from './registry.ts';

const TEXT = 'text/plain; version=0.0.4; charset=utf-8';
const OPEN = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** Metrics of every type, with everything that has to be escaped. */
function sample(): Registry {
  const registry = new Registry();
  const gauge = new Gauge('a_gauge', 'A "quoted" \\ back\nslash', []);
  gauge.set({}, -1.5);
  const counter = new Counter('b_total', 'Counts', ['zone', 'kind']);
  counter.add({ kind: 'k', zone: 'say "hi"\n\\' });
  counter.add({ kind: 'k', zone: 'say "hi"\n\\' }, 2);
  counter.add({ kind: 'a', zone: '' }, 0);
  const histogram = new Histogram('c_seconds', 'Lasts', [0.25, 1, 2], ['kind']);
  for (const value of [0.25, 0.26, 1, 7]) histogram.observe({ kind: 'x' }, value);
  registry.register(histogram, counter, gauge, new Gauge('d_unset', 'Nothing yet', []));
  return registry;
}

test('the text format', async () => {
  expect(exposition(await sample().read(), formatFor(''))).toBe(`# HELP a_gauge A "quoted" \\\\ back\\nslash
# TYPE a_gauge gauge
a_gauge -1.5
# HELP b_total Counts
# TYPE b_total counter
b_total{kind="a",zone=""} 0
b_total{kind="k",zone="say \\"hi\\"\\n\\\\"} 3
# HELP c_seconds Lasts
# TYPE c_seconds histogram
c_seconds_bucket{kind="x",le="0.25"} 1
c_seconds_bucket{kind="x",le="1"} 3
c_seconds_bucket{kind="x",le="2"} 3
c_seconds_bucket{kind="x",le="+Inf"} 4
c_seconds_sum{kind="x"} 8.51
c_seconds_count{kind="x"} 4
`);
});

test('OpenMetrics', async () => {
  const format = formatFor('application/openmetrics-text');
  expect(exposition(await sample().read(), format)).toBe(`# HELP a_gauge A \\"quoted\\" \\\\ back\\nslash
# TYPE a_gauge gauge
a_gauge -1.5
# HELP b Counts
# TYPE b counter
b_total{kind="a",zone=""} 0
b_total{kind="k",zone="say \\"hi\\"\\n\\\\"} 3
# HELP c_seconds Lasts
# TYPE c_seconds histogram
c_seconds_bucket{kind="x",le="0.25"} 1
c_seconds_bucket{kind="x",le="1.0"} 3
c_seconds_bucket{kind="x",le="2.0"} 3
c_seconds_bucket{kind="x",le="+Inf"} 4
c_seconds_sum{kind="x"} 8.51
c_seconds_count{kind="x"} 4
# EOF
`);
});

test('numbers that are none', async () => {
  const registry = new Registry();
  const gauge = new Gauge('x', 'X', ['of']);
  gauge.set({ of: 'a' }, Number.POSITIVE_INFINITY);
  gauge.set({ of: 'b' }, Number.NEGATIVE_INFINITY);
  gauge.set({ of: 'c' }, Number.NaN);
  gauge.set({ of: 'd' }, 2 ** 64);
  gauge.set({ of: 'e' }, 1e21);
  registry.register(gauge);
  expect(
    exposition(await registry.read(), formatFor(''))
      .split('\n')
      .slice(2),
  ).toEqual([
    'x{of="a"} +Inf',
    'x{of="b"} -Inf',
    'x{of="c"} NaN',
    'x{of="d"} 18446744073709552000',
    'x{of="e"} 1e+21',
    '',
  ]);
});

test.for([
  ['', TEXT],
  ['*/*', TEXT],
  ['text/html', TEXT],
  ['application/openmetrics-text', OPEN],
  ['application/openmetrics-text;version=2.0.0', TEXT],
  // Prometheus 2 and 3.
  [
    'application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
    OPEN,
  ],
  [
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2',
    OPEN,
  ],
  ['text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0', TEXT],
  ['application/openmetrics-text;q=0', TEXT],
] as const)('Accept %s', ([accept, contentType]) => {
  expect(formatFor(accept).contentType).toBe(contentType);
});

test('names have to be such, and are given once', () => {
  expect(() => new Gauge('a-b', '', [])).toThrow('"a-b" is no name for a metric or label');
  expect(() => new Gauge('a', '', ['1st'])).toThrow('"1st" is no name for a metric or label');
  const registry = new Registry();
  registry.register(new Gauge('a', '', []));
  expect(() => registry.register(new Counter('a', '', []))).toThrow('there are two metrics called a');
});

test('what is looked up is waited for', async () => {
  const registry = new Registry();
  const gauge = new Gauge('a', 'A', []);
  registry.register(gauge);
  registry.beforeReading(async () => {
    await Promise.resolve();
    gauge.set({}, 7);
  });
  expect(await registry.read()).toMatchObject([{ name: 'a', samples: [{ value: 7 }] }]);
});

test('buckets', () => {
  expect(exponentialBuckets(0.001, 2, 15)).toEqual([
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384,
  ]);
  expect(linearBuckets(60, 5, 3)).toEqual([60, 65, 70]);
});
