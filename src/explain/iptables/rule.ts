/** One rule's text cut into options: what belongs to which match, and to the target. */

/** An option and the words behind it: `--ctstate` with `NEW`. */
export interface Option {
  readonly name: string;
  readonly negated: boolean;
  readonly values: readonly string[];
}

/** `-m conntrack` and its options; those that need no `-m` belong to the match named by the empty string. */
export interface Match {
  readonly name: string;
  readonly options: readonly Option[];
}

export interface Target {
  readonly kind: 'jump' | 'goto';
  /** A chain, or an extension: `DNAT`. */
  readonly name: string;
  readonly options: readonly Option[];
}

export interface Rule {
  /** Without `-A CHAIN`. */
  readonly text: string;
  readonly matches: readonly Match[];
  /** Absent for a rule that only counts. */
  readonly target?: Target;
}

interface Word {
  readonly text: string;
  readonly quoted: boolean;
}

/** They may stand anywhere in a rule that a person wrote. */
const GENERAL: ReadonlySet<string> = new Set(['-s', '-d', '-i', '-o', '-p']);

/** Reads a rule as iptables(8) has it. What the options mean is not looked at here. */
export function parseRule(text: string): Rule {
  const matches: { name: string; options: Option[] }[] = [{ name: '', options: [] }];
  let target: { kind: 'jump' | 'goto'; name: string; options: Option[] } | undefined;
  let negated = false;
  const words = wordsOf(text);
  for (let index = 0; index < words.length; ) {
    const word = words[index]?.text ?? '';
    index += 1;
    if (word === '!') {
      negated = true;
      continue;
    }
    const values: string[] = [];
    for (let next = words[index]; next && isValue(next); next = words[index]) {
      values.push(next.text);
      index += 1;
    }
    if (word === '-m') {
      matches.push({ name: values[0] ?? '', options: [] });
    } else if (word === '-j' || word === '-g') {
      target = { kind: word === '-j' ? 'jump' : 'goto', name: values[0] ?? '', options: [] };
    } else {
      const options = GENERAL.has(word) ? matches[0]?.options : (target?.options ?? matches.at(-1)?.options);
      options?.push({ name: word, negated, values });
    }
    negated = false;
  }
  return { text, matches, ...(target ? { target } : {}) };
}

function isValue({ text, quoted }: Word): boolean {
  return quoted || (text !== '!' && !text.startsWith('-'));
}

function wordsOf(text: string): Word[] {
  return Array.from(text.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g), ([, quoted, plain]) =>
    quoted === undefined
      ? { text: plain ?? '', quoted: false }
      : { text: quoted.replace(/\\(.)/g, '$1'), quoted: true },
  );
}

/** The first value of an option; `undefined` without the option. */
export function firstValue(options: readonly Option[], name: string): string | undefined {
  return options.find((option) => option.name === name)?.values[0];
}
