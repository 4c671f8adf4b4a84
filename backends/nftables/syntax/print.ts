/** A model as text, in the form of `nft list`: what a stand-in for nft answers with. */
import { durationText } from './duration.ts';
import { elementText } from './elements.ts';
import type { BaseChain, Chain, NamedSet, Table, TableModel } from './model.ts';

/**
 * Every table in block form. `parseListing` reads it back; rules stand as they were written, types by name even
 * where they were declared by `typeof`.
 */
export function listingText({ tables }: TableModel): string {
  return [...tables.values()].map(tableText).join('\n');
}

/** One table in block form. */
export function tableText({ family, name, comment, sets, chains }: Table): string {
  const blocks = [
    ...[...sets].map(([setName, set]) => block(`${set.kind} ${setName}`, setLines(set))),
    ...[...chains].map(([chainName, chain]) => block(`chain ${chainName}`, chainLines(chain))),
  ];
  const head = comment === undefined ? [] : [`comment "${comment}"`];
  return `${block(`table ${family} ${name}`, [...head, ...blocks])}\n`;
}

function block(title: string, lines: readonly string[]): string {
  const indented = lines.flatMap((line) => line.split('\n')).map((line) => `\t${line}\n`);
  return `${title} {\n${indented.join('')}}`;
}

function setLines({ declaration, elements, notes }: NamedSet): string[] {
  const { keyTypes, dataTypes, flags, timeout, size, autoMerge, comment } = declaration;
  const data = dataTypes === undefined ? '' : ` : ${dataTypes.join(' . ')}`;
  return [
    `type ${keyTypes.join(' . ')}${data}`,
    ...(size === undefined ? [] : [`size ${size}`]),
    ...(flags.length === 0 ? [] : [`flags ${flags.join(',')}`]),
    ...(timeout === undefined ? [] : [`timeout ${durationText(timeout)}`]),
    ...(autoMerge ? ['auto-merge'] : []),
    ...(comment === undefined ? [] : [`comment "${comment}"`]),
    ...(elements.size === 0
      ? []
      : [`elements = { ${elementLines({ declaration, elements, notes }).join(',\n\t     ')} }`]),
  ];
}

function elementLines({
  declaration,
  elements,
  notes,
}: Pick<NamedSet, 'declaration' | 'elements' | 'notes'>): string[] {
  return [...elements].map(([key, value]) => {
    const note = notes.get(key);
    return elementText({
      key,
      ...(declaration.kind === 'map' ? { value } : {}),
      ...(note === undefined ? {} : { note }),
    });
  });
}

function chainLines({ base, comment, rules }: Chain): string[] {
  return [
    ...(comment === undefined ? [] : [`comment "${comment}"`]),
    ...(base === undefined ? [] : [baseText(base)]),
    ...rules.map(({ text }) => text),
  ];
}

function baseText({ type, hook, priority, policy }: BaseChain): string {
  return `type ${type} hook ${hook} priority ${priority}; policy ${policy};`;
}
