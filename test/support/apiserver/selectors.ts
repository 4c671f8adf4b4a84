/** Label and field selectors, as far as the API server's grammar is used by proxies. */
import type { KubeObject } from './objects.ts';

export type Matcher = (object: KubeObject) => boolean;

/** `a`, `!a`, `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, joined by commas; empty matches everything. */
export function labelMatcher(selector: string): Matcher {
  const matchers = splitTop(selector).map(labelRequirement);
  return (object) => matchers.every((matches) => matches(object.metadata.labels ?? {}));
}

/** `spec.clusterIP!=None`, `metadata.name=web`, joined by commas. Fields other than these are refused with an Error. */
export function fieldMatcher(selector: string, kind: string): Matcher {
  const matchers = splitTop(selector).map((term) => fieldRequirement(term, kind));
  return (object) => matchers.every((matches) => matches(object));
}

function labelRequirement(term: string): (labels: Readonly<Record<string, string>>) => boolean {
  const set = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(term);
  if (set) {
    const [, key = '', operator, list = ''] = set;
    const values = list.split(',').map((value) => value.trim());
    return (labels) => {
      const value = labels[key];
      const included = value !== undefined && values.includes(value);
      return operator === 'in' ? included : !included;
    };
  }
  const compared = /^([^!=\s]+)\s*(==|=|!=)\s*(.*)$/.exec(term);
  if (compared) {
    const [, key = '', operator, value] = compared;
    return (labels) => (operator === '!=' ? labels[key] !== value : labels[key] === value);
  }
  if (term.startsWith('!')) return (labels) => labels[term.slice(1).trim()] === undefined;
  return (labels) => labels[term] !== undefined;
}

/** Field labels the real server registers for these kinds. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  Service: ['metadata.name', 'metadata.namespace', 'spec.clusterIP', 'spec.type'],
  Node: ['metadata.name', 'spec.unschedulable'],
};

function fieldRequirement(term: string, kind: string): Matcher {
  const [, path = '', operator, value] = /^([^!=]+)(==|=|!=)(.*)$/.exec(term) ?? [];
  const known = FIELDS[kind] ?? ['metadata.name', 'metadata.namespace'];
  if (!known.includes(path)) throw new Error(`field label not supported: ${path}`);
  return (object) => {
    const found =
      path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], object) ?? '';
    return operator === '!=' ? found !== value : found === value;
  };
}

/** Splits at commas that are not inside parentheses. */
function splitTop(selector: string): string[] {
  return selector
    .split(/,(?![^(]*\))/)
    .map((term) => term.trim())
    .filter((term) => term !== '');
}
