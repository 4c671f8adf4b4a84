/** Elements held against the declaration of the set they are for. */
import type { Element } from './ast.ts';
import { verdictTarget } from './elements.ts';
import { typedKey } from './lookup.ts';
import type { NamedSet, SetDeclaration } from './model.ts';
import { Refusal } from './refusal.ts';
import { isOrdered } from './types.ts';

/** The element with key and value as canonical text of the set's types. */
export function typedElement(name: string, set: NamedSet, element: Element): Element {
  const { declaration } = set;
  const key = typedElementKey(name, set, element.key);
  if ((element.value === undefined) !== (declaration.kind === 'set')) {
    throw new Refusal(
      'mismatch',
      `${name} is a ${declaration.kind}: ${element.key} ${element.value === undefined ? 'leads to nothing' : 'cannot lead to anything'}`,
    );
  }
  if (
    (element.note?.timeout ?? element.note?.expires) !== undefined &&
    !declaration.flags.includes('timeout')
  ) {
    throw new Refusal('mismatch', `${name} has no flag timeout: ${element.key} cannot expire`);
  }
  return {
    ...element,
    key,
    ...(element.value === undefined ? {} : { value: typedValue(name, declaration, element.value) }),
  };
}

/** The key as canonical text of the set's types. */
export function typedElementKey(name: string, { declaration }: NamedSet, key: string): string {
  const typed = typedKey(declaration.keyTypes, key);
  if (typed === undefined) {
    throw new Refusal(
      'mismatch',
      `${key} is not of the type of ${name}, ${declaration.keyTypes.join(' . ')}`,
    );
  }
  if (!declaration.flags.includes('interval') && hasInterval(declaration, typed)) {
    throw new Refusal('mismatch', `${name} has no flag interval: ${key} cannot be in it`);
  }
  return typed;
}

function hasInterval({ keyTypes }: SetDeclaration, key: string): boolean {
  const parts = key.split(' . ');
  return keyTypes.some((type, index) => {
    const part = parts[index] ?? '';
    return isOrdered(type) ? /[/-]/.test(part) : type === 'ifname' && part.endsWith('*');
  });
}

const PLAIN_VERDICTS: ReadonlySet<string> = new Set(['accept', 'drop', 'continue', 'return']);

function typedValue(name: string, { dataTypes = [] }: SetDeclaration, value: string): string {
  const isVerdict = PLAIN_VERDICTS.has(value) || verdictTarget(value) !== undefined;
  const wantsVerdict = dataTypes[0] === 'verdict';
  const typed = wantsVerdict ? value : typedKey(dataTypes, value);
  if (isVerdict !== wantsVerdict || typed === undefined) {
    throw new Refusal('mismatch', `${value} is not what map ${name} leads to: ${dataTypes.join(' . ')}`);
  }
  return typed;
}
