/**
 * KubeProxyConfiguration of version v1alpha1, read as kube-proxy reads it: what a strict reader would refuse (fields
 * it does not know, keys that are set twice) is told and left out, and what is zero or null has its default.
 */
import { parseDuration } from '../duration.ts';
import { GONE_GATES, isProxyGate } from '../feature-gates.ts';
import { DURATION_ALLOWED, type FileType } from '../fields.ts';
import { FIELDS, type FieldInfo, type OptionName } from '../flags.ts';
import { isMapping, parseConfiguration } from './document.ts';
import { API_VERSION, KIND } from './write.ts';

/** A configuration file that cannot be used. The message has one line for each thing that is wrong. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

export interface ReadConfiguration {
  /** What the file says of each option, or the file's default for it; for `parseOptions`. */
  readonly given: Readonly<Partial<Record<OptionName, unknown>>>;
  /** What was left out, and why: for the log. */
  readonly notices: readonly string[];
}

/**
 * `origin` names the text in messages. Rejects with a `ConfigurationError` for what is no such configuration, or has
 * a value of the wrong type; whether values are allowed is for `parseOptions` to say.
 */
export async function readConfiguration(text: string, origin: string): Promise<ReadConfiguration> {
  const { content, complaints } = await parseConfiguration(text, origin).catch((error: unknown) => {
    throw new ConfigurationError(error instanceof Error ? error.message : String(error), { cause: error });
  });
  const problems: string[] = [];
  for (const [field, expected] of [
    ['apiVersion', API_VERSION],
    ['kind', KIND],
  ] as const) {
    const value = content[field];
    if (value !== expected) problems.push(`${field} ${show(value)}: must be ${expected}`);
  }
  const unknown = [...unknownFields(content, KNOWN, '')];
  const given: Partial<Record<OptionName, unknown>> = {};
  for (const [name, info] of problems.length > 0 ? [] : FIELDS) {
    const found = lookUp(content, info.field);
    if ('problem' in found) problems.push(found.problem);
    else if (isLeftOut(found.value, info)) given[name] = info.fieldDefault;
    else if (hasType(found.value, info.inFile)) given[name] = found.value;
    else problems.push(`${info.field} ${show(found.value)}: ${expectedType(found.value, info)}`);
  }
  if (problems.length > 0) {
    throw new ConfigurationError([...new Set(problems)].map((problem) => `${origin}: ${problem}`).join('\n'));
  }
  const all = [...unknown.map((path) => `unknown field ${JSON.stringify(path)}`), ...complaints];
  const lenient =
    all.length > 0 ? [`${origin}: strict decoding failed, so it is read leniently: ${all.join(', ')}`] : [];
  const gates = proxyGates(given.featureGates, origin);
  return { given: { ...given, featureGates: gates.known }, notices: [...lenient, ...gates.notices] };
}

function show(value: unknown): string {
  return value === undefined ? '(missing)' : JSON.stringify(value);
}

/** Every field by its path; a mapping of fields by its own. */
type Known = Map<string, Known | 'field'>;

const KNOWN = knownFields();

function knownFields(): Known {
  const root: Known = new Map([
    ['apiVersion', 'field'],
    ['kind', 'field'],
  ]);
  for (const { field } of FIELDS.values()) {
    const path = field.split('.');
    let level = root;
    for (const key of path.slice(0, -1)) {
      const next = level.get(key);
      const below: Known = next instanceof Map ? next : new Map();
      level.set(key, below);
      level = below;
    }
    level.set(path.at(-1) ?? '', 'field');
  }
  return root;
}

function* unknownFields(
  content: Readonly<Record<string, unknown>>,
  known: Known,
  path: string,
): Generator<string> {
  for (const [key, value] of Object.entries(content)) {
    const below = known.get(key);
    if (below === undefined) yield `${path}${key}`;
    else if (below instanceof Map && isMapping(value)) yield* unknownFields(value, below, `${path}${key}.`);
  }
}

type Found = { readonly value: unknown } | { readonly problem: string };

function lookUp(content: Readonly<Record<string, unknown>>, field: string): Found {
  const path = field.split('.');
  let value: unknown = content;
  for (const [depth, key] of path.entries()) {
    if (value === undefined || value === null) return { value: undefined };
    if (!isMapping(value)) {
      return { problem: `${path.slice(0, depth).join('.')} ${show(value)}: must be a mapping` };
    }
    value = Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return { value };
}

/** Go cannot tell most fields that are zero from those that are not there; for the others only null is absence. */
function isLeftOut(value: unknown, { zeroCounts, inFile }: FieldInfo): boolean {
  if (value === undefined || value === null) return true;
  if (zeroCounts) return false;
  switch (inFile) {
    case 'text':
      return value === '';
    case 'duration':
      // The empty text is no duration: Go's decoder refuses it.
      return typeof value === 'string' && parseDuration(value) === 0;
    case 'boolean':
      return value === false;
    case 'number':
    case 'any':
      return value === 0;
    case 'list':
    case 'mappings':
      return Array.isArray(value) && value.length === 0;
    case 'mapping':
      return false;
  }
}

function hasType(value: unknown, type: FileType): boolean {
  switch (type) {
    case 'text':
    case 'duration':
      return typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    case 'number':
      return typeof value === 'number';
    case 'list':
      return Array.isArray(value) && value.every((item) => typeof item === 'string');
    case 'mapping':
      return isMapping(value);
    case 'mappings':
      return Array.isArray(value) && value.every(isMapping);
    case 'any':
      return true;
  }
}

const EXPECTED: Readonly<Record<FileType, string>> = {
  text: 'must be text, in quotes',
  duration: DURATION_ALLOWED,
  boolean: 'must be true or false',
  number: 'must be a number',
  list: 'must be a list of texts',
  mapping: 'must be a mapping of names to true or false',
  mappings: 'must be a list of mappings',
  any: '',
};

function expectedType(value: unknown, { inFile }: FieldInfo): string {
  const quoted = typeof value === 'string' && (inFile === 'boolean' || inFile === 'number');
  return `${EXPECTED[inFile]}${quoted ? ', without quotes' : ''}`;
}

/** Installers write the gates of the whole cluster into this file: those of other components say nothing here. */
function proxyGates(
  gates: unknown,
  origin: string,
): { readonly known: unknown; readonly notices: readonly string[] } {
  if (!isMapping(gates)) return { known: gates, notices: [] };
  const names = Object.keys(gates);
  const gone = names.filter((name) => GONE_GATES.has(name));
  const others = names.filter((name) => !isProxyGate(name) && !GONE_GATES.has(name));
  const notice = (which: readonly string[], what: string) =>
    which.length > 0 ? [`${origin}: featureGates: ${what}: ${which.join(', ')}`] : [];
  return {
    known: Object.fromEntries(Object.entries(gates).filter(([name]) => isProxyGate(name))),
    notices: [
      ...notice(gone, 'left out, as what they guarded is always on'),
      ...notice(others, 'left out, as they are no feature gates of a Service proxy'),
    ],
  };
}
