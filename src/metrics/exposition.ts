/**
 * Metrics as text: the Prometheus text format 0.0.4 (prometheus.io, "Exposition formats") and OpenMetrics 1.0
 * (prometheus/OpenMetrics), which a scraper asks for by its Accept header.
 */
import { acceptedTypes } from '../serve/accept.ts';
import type { Family, Sample } from './metric.ts';

export interface Format {
  readonly contentType: string;
  readonly openMetrics: boolean;
}

const TEXT: Format = { contentType: 'text/plain; version=0.0.4; charset=utf-8', openMetrics: false };
const OPEN_METRICS: Format = {
  contentType: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  openMetrics: true,
};

const OPEN_METRICS_VERSIONS = [undefined, '1.0.0', '0.0.1'];

/** What a scraper likes best of what there is; the text format when it likes nothing of it. */
export function formatFor(accept: string): Format {
  for (const { type, params } of acceptedTypes(accept)) {
    if (type === 'application/openmetrics-text' && OPEN_METRICS_VERSIONS.includes(params.get('version'))) {
      return OPEN_METRICS;
    }
    if (type === 'text/plain' && [undefined, '0.0.4'].includes(params.get('version'))) return TEXT;
  }
  return TEXT;
}

export function exposition(families: readonly Family[], { openMetrics }: Format): string {
  const lines = families.flatMap((family) => linesOf(family, openMetrics));
  if (openMetrics) lines.push('# EOF');
  return lines.map((line) => `${line}\n`).join('');
}

function linesOf(family: Family, openMetrics: boolean): string[] {
  const { name, help, type } = family;
  // OpenMetrics names a counter without the suffix that its samples have.
  const title = openMetrics && type === 'counter' ? name.replace(/_total$/, '') : name;
  return [
    `# HELP ${title} ${openMetrics ? escapeValue(help) : escapeHelp(help)}`,
    `# TYPE ${title} ${type}`,
    ...family.samples.map((sample) => sampleLine(name, sample, openMetrics)),
  ];
}

function sampleLine(name: string, sample: Sample, openMetrics: boolean): string {
  const { suffix, labels, bound, value } = sample;
  const pairs = labels.map(([label, text]) => `${label}="${escapeValue(text)}"`);
  if (bound !== undefined) pairs.push(`le="${openMetrics ? canonical(bound) : numberText(bound)}"`);
  const set = pairs.length > 0 ? `{${pairs.join(',')}}` : '';
  return `${name}${suffix}${set} ${numberText(value)}`;
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : `${value}`;
}

/** In OpenMetrics bounds are floating-point numbers, also whole ones. */
function canonical(bound: number): string {
  const text = numberText(bound);
  return /^\d+$/.test(text) ? `${text}.0` : text;
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function escapeValue(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
