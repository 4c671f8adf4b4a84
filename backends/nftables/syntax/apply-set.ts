/** Commands on sets, maps and their elements. */
import type { Element } from './ast.ts';
import type { ElementCommand, SetCommand } from './command.ts';
import { typedElement, typedElementKey } from './element-check.ts';
import type { Journal } from './journal.ts';
import type { LiveTable } from './live-table.ts';
import { type NamedSet, sameDeclaration } from './model.ts';
import { Refusal } from './refusal.ts';
import { type Transaction, tableOf } from './transaction.ts';

export function applySet(transaction: Transaction, command: SetCommand): void {
  const { verb, kind, name, set } = command;
  const { journal } = transaction;
  const table = tableOf(transaction, command.family, command.table);
  const present = table.sets.get(name);
  switch (verb) {
    case 'add':
    case 'create':
      if (verb === 'create' && present) throw new Refusal('exists', `${kind} ${name} is already there`);
      if (set === undefined) break;
      addSet(journal, table, name, set);
      addElements(journal, table, name, set);
      break;
    case 'flush':
      if (table.set(name).kind !== kind) throw new Refusal('missing', `${name} is no ${kind}`);
      table.clearElements(journal, table.set(name));
      break;
    case 'destroy':
      if (present) table.removeSet(journal, name);
      break;
    case 'delete':
      table.removeSet(journal, name);
  }
}

/** Declares a set or map, without elements. Declaring one that is there may change its size, and nothing else. */
export function addSet(journal: Journal, table: LiveTable, name: string, wanted: NamedSet): void {
  const present = table.sets.get(name);
  if (present === undefined) {
    journal.put(table.sets, name, { ...wanted, elements: new Map(), notes: new Map() });
    return;
  }
  if (!sameDeclaration(present.declaration, wanted.declaration)) {
    throw new Refusal('exists', `${present.kind} ${name} is there with another declaration`);
  }
  const { size } = wanted.declaration;
  if (size === undefined || size === present.declaration.size) return;
  journal.put(table.sets, name, { ...present, declaration: { ...present.declaration, size } });
}

/** Adds the elements that were written in a declaration. */
export function addElements(journal: Journal, table: LiveTable, name: string, written: NamedSet): void {
  for (const [key, value] of written.elements) {
    const note = written.notes.get(key);
    const data = written.kind === 'map' ? { value } : {};
    addElement(journal, table, name, { key, ...data, ...(note === undefined ? {} : { note }) }, false);
  }
}

export function applyElements(transaction: Transaction, command: ElementCommand): void {
  const { verb, set: name } = command;
  const { journal } = transaction;
  const table = tableOf(transaction, command.family, command.table);
  for (const element of command.elements) {
    if (verb === 'add' || verb === 'create') addElement(journal, table, name, element, verb === 'create');
    else removeElement(journal, table, name, element.key, verb === 'destroy');
  }
}

/** Adding an element that is there is fine, unless it would lead somewhere else. */
function addElement(
  journal: Journal,
  table: LiveTable,
  name: string,
  element: Element,
  mustBeNew: boolean,
): void {
  const set = table.set(name);
  const typed = typedElement(name, set, element);
  const present = set.elements.get(typed.key);
  if (present === undefined) {
    table.addElement(journal, set, typed);
  } else if (mustBeNew || present !== (typed.value ?? '')) {
    throw new Refusal(
      'exists',
      `${typed.key} is already in ${name}${present === '' ? '' : `, and leads to ${present}`}`,
    );
  }
  const { size = Number.POSITIVE_INFINITY } = set.declaration;
  if (set.elements.size > size) throw new Refusal('full', `${name} holds ${size} elements at most`);
}

function removeElement(
  journal: Journal,
  table: LiveTable,
  name: string,
  text: string,
  absentIsFine: boolean,
): void {
  const set = table.set(name);
  const key = typedElementKey(name, set, text);
  if (set.elements.has(key)) table.removeElement(journal, set, key);
  else if (!absentIsFine) throw new Refusal('missing', `${key} is not in ${name}`);
}
