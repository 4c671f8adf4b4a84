/**
 * Reading fields of parsed JSON or YAML that may hold anything. Nothing here throws: what has the wrong
 * shape is noted as a problem and read as absent. Written by hand because 50,000 objects pass through at
 * start, most of whose fields nobody reads.
 */
import type { Problem } from './project.ts';

/** An object whose fields may be anything. */
export type Fields = Readonly<Record<string, unknown>>;

/** The one empty list: most lists of most objects are empty. */
export const NONE: readonly never[] = Object.freeze([]);
const NO_FIELDS: Fields = Object.freeze({});

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What was found wrong with one object, gathered while it is read. */
export class Findings {
  readonly #object: string;
  #problems: Problem[] | undefined;

  /** @param object as problems name it: `Service default/web` */
  constructor(object: string) {
    this.#object = object;
  }

  add(field: string, message: string): void {
    this.#problems ??= [];
    this.#problems.push({ object: this.#object, field, message });
  }

  get problems(): readonly Problem[] {
    return this.#problems ?? NONE;
  }
}

/** A field that is an object; empty when absent. */
export function fieldsAt(parent: Fields, name: string, path: string, findings: Findings): Fields {
  const value = parent[name];
  if (value === undefined || value === null) return NO_FIELDS;
  if (isFields(value)) return value;
  findings.add(path, `is ${quote(value)}, not an object; ignored`);
  return NO_FIELDS;
}

/** A field that is a list; empty when absent. */
export function listAt(parent: Fields, name: string, path: string, findings: Findings): readonly unknown[] {
  const value = parent[name];
  if (value === undefined || value === null) return NONE;
  if (Array.isArray(value)) return value;
  findings.add(path, `is ${quote(value)}, not a list; ignored`);
  return NONE;
}

/** A field that is text; empty when absent. */
export function textAt(parent: Fields, name: string, path: string, findings: Findings): string {
  const value = parent[name];
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  findings.add(path, `is ${quote(value)}, not text; ignored`);
  return '';
}

/**
 * A field that must be one of a few words. Absent (or empty, as the API server's own defaulting has it) and
 * anything else give the first of them, the API's default.
 */
export function choiceAt<T extends string>(
  parent: Fields,
  name: string,
  path: string,
  choices: readonly [T, ...T[]],
  findings: Findings,
): T {
  const value = parent[name];
  if (value === undefined || value === null || value === '') return choices[0];
  for (const choice of choices) if (value === choice) return choice;
  findings.add(path, `is ${quote(value)}, not ${choices.join(' or ')}; taken as ${choices[0]}`);
  return choices[0];
}

export function isPortNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65535;
}

/** RFC 3339 text, or the Date some YAML parsers make of it, as milliseconds since the epoch; else 0. */
export function timeOf(value: unknown): number {
  const time = typeof value === 'string' ? Date.parse(value) : value instanceof Date ? value.getTime() : 0;
  return Number.isNaN(time) ? 0 : time;
}

/** A value as a message shows it: JSON, and never long. */
export function quote(value: unknown): string {
  let shown: string | undefined;
  try {
    shown = JSON.stringify(value);
  } catch {
    // Aliases of YAML can make an object that contains itself.
  }
  shown ??= typeof value;
  return shown.length > 60 ? `${shown.slice(0, 57)}...` : shown;
}
