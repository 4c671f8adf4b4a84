/**
 * The tables of one family in memory, with what `iptables-restore --noflush` would do to them and what it would
 * refuse: rules in the form of `iptables-save`, as this program writes them.
 */
const BUILT_IN: Readonly<Record<string, readonly string[]>> = {
  mangle: ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'],
  nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
  filter: ['INPUT', 'FORWARD', 'OUTPUT'],
};

const EXTENSIONS: ReadonlySet<string> = new Set([
  'ACCEPT',
  'DNAT',
  'DROP',
  'MARK',
  'MASQUERADE',
  'REJECT',
  'RETURN',
]);

type Chains = Map<string, string[]>;

export class FakeTables {
  readonly #tables = new Map<string, Chains>(
    Object.entries(BUILT_IN).map(([table, chains]) => [table, new Map(chains.map((chain) => [chain, []]))]),
  );

  /** Applies an input table by table, each whole or not at all. Throws with the line it cannot take. */
  restore(lines: readonly string[]): void {
    let table: string | undefined;
    let chains: Chains = new Map();
    for (const [index, text] of lines.entries()) {
      const line = text.replace(/\n$/, '');
      try {
        if (line.startsWith('*')) {
          table = line.slice(1);
          chains = new Map(Array.from(this.#chainsOf(table), ([name, rules]) => [name, [...rules]]));
        } else if (line === 'COMMIT') {
          if (table === undefined) throw new Error('no table');
          checkJumps(chains);
          this.#tables.set(table, chains);
          table = undefined;
        } else {
          if (table === undefined) throw new Error('no table');
          command(chains, line);
        }
      } catch (error) {
        throw new Error(`line ${index + 1} failed: ${line}`, { cause: error });
      }
    }
    if (table !== undefined) throw new Error('no COMMIT at the end');
  }

  /** As `iptables-save` prints it, chains sorted. */
  save(): string {
    const lines: string[] = [];
    for (const [table, chains] of this.#tables) {
      const names = [...chains.keys()].sort();
      lines.push(
        `*${table}`,
        ...names.map((name) => `:${name} ${BUILT_IN[table]?.includes(name) ? 'ACCEPT' : '-'} [0:0]`),
        ...names.flatMap((name) => (chains.get(name) ?? []).map((rule) => `-A ${name} ${rule}`)),
        'COMMIT',
      );
    }
    return `${lines.join('\n')}\n`;
  }

  #chainsOf(table: string): Chains {
    const chains = this.#tables.get(table);
    if (chains === undefined) throw new Error(`no table ${table}`);
    return chains;
  }
}

function command(chains: Chains, line: string): void {
  const declared = /^:(\S+) - \[0:0\]$/.exec(line)?.[1];
  if (declared !== undefined) {
    chains.set(declared, []);
    return;
  }
  const [, verb = '', name = '', rest = ''] = /^-(\w) (\S+) ?(.*)$/.exec(line) ?? [];
  if (verb === 'N') {
    if (chains.has(name)) throw new Error('Chain already exists');
    chains.set(name, []);
    return;
  }
  const rules = chains.get(name);
  if (rules === undefined) throw new Error(`no chain ${name}`);
  edit(chains, rules, verb, name, rest);
}

function edit(chains: Chains, rules: string[], verb: string, name: string, rest: string): void {
  switch (verb) {
    case 'A':
      rules.push(rest);
      return;
    case 'I': {
      const [, position = '1', rule = ''] = /^(?:(\d+) )?(.*)$/.exec(rest) ?? [];
      if (Number(position) < 1 || Number(position) > rules.length + 1) throw new Error('no such position');
      rules.splice(Number(position) - 1, 0, rule);
      return;
    }
    case 'D': {
      const index = rules.indexOf(rest);
      if (index < 0) throw new Error('no such rule');
      rules.splice(index, 1);
      return;
    }
    case 'C':
      if (!rules.includes(rest)) throw new Error('no such rule');
      return;
    case 'X':
      if (rules.length > 0) throw new Error('the chain is not empty');
      if ([...chains.values()].some((list) => list.some((rule) => targetOf(rule) === name))) {
        throw new Error('the chain is jumped to');
      }
      chains.delete(name);
      return;
    default:
      throw new Error('not understood');
  }
}

function targetOf(rule: string): string | undefined {
  return /(?:^| )-j (\S+)/.exec(rule.replace(/"[^"]*"/g, ''))?.[1];
}

function checkJumps(chains: Chains): void {
  for (const [name, rules] of chains) {
    for (const target of rules.map(targetOf)) {
      if (target !== undefined && !EXTENSIONS.has(target) && !chains.has(target)) {
        throw new Error(`${name} jumps to ${target}, which does not exist`);
      }
    }
  }
}
