/** JSON text of several values, one after another, as `jq '.items[]'` writes it and kubectl reads it. */

export interface StreamedValue {
  readonly value: unknown;
  /** Where it begins in the text. */
  readonly offset: number;
  /** The line of that, from 1. */
  readonly line: number;
}

/** Every object and array at the top of the text; `undefined` for text that is anything else. */
export function parseJsonStream(text: string): StreamedValue[] | undefined {
  const values: StreamedValue[] = [];
  let offset = afterSpace(text, 0);
  let line = 1 + newlinesIn(text.slice(0, offset));
  while (offset < text.length) {
    const end = endOfValue(text, offset);
    if (end === undefined) return undefined;
    try {
      values.push({ value: JSON.parse(text.slice(offset, end)), offset, line });
    } catch {
      return undefined;
    }
    const next = afterSpace(text, end);
    line += newlinesIn(text.slice(offset, next));
    offset = next;
  }
  return values.length > 0 ? values : undefined;
}

function newlinesIn(text: string): number {
  return text.split('\n').length - 1;
}

function afterSpace(text: string, from: number): number {
  const space = /[\s\uFEFF]*/y;
  space.lastIndex = from;
  return from + (space.exec(text)?.[0].length ?? 0);
}

/** Behind the bracket that closes the one at `start`. */
function endOfValue(text: string, start: number): number | undefined {
  if (!/[[{]/.test(text.charAt(start))) return undefined;
  // Whole strings, so that brackets in them do not count, and brackets.
  const tokens = /"(?:[^"\\]|\\.)*"|[[\]{}]/gs;
  tokens.lastIndex = start;
  let depth = 0;
  for (let token = tokens.exec(text); token !== null; token = tokens.exec(text)) {
    const [found] = token;
    if (found === '{' || found === '[') depth += 1;
    else if (found === '}' || found === ']') depth -= 1;
    if (depth === 0) return tokens.lastIndex;
  }
  return undefined;
}
