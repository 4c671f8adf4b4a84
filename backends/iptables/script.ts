/** A difference as inputs of `iptables-restore --noflush`. */
import { type ChainChange, type Delta, editsOf } from './delta.ts';
import {
  CANARIES,
  type ChainId,
  DISPATCH_CHAINS,
  FIXED_CHAINS,
  isSplitChain,
  nameOf,
  type Table,
  tableOf,
} from './names.ts';

/** Lines of one input, each with its end. */
export type Input = readonly string[];

/** Written last: everything is reached through these, and the canaries say that it is all there. */
const TOP: ReadonlySet<string> = new Set([
  ...DISPATCH_CHAINS,
  ...CANARIES,
  ...FIXED_CHAINS.filter((chain) => chain !== 'nat KUBE-MARK-MASQ'),
]);

/**
 * Inputs of at most `chainsPerInput` chains: `iptables-nft-restore` takes time with the square of them. Each is
 * applied whole or not at all. Chains come before those that jump to them and the dispatch chains in the
 * last input, so that packets never meet half a Service.
 */
export function script(delta: Delta, chainsPerInput: number): Input[] {
  const { changes } = delta;
  if (changes.length <= chainsPerInput) return [input(changes, delta)];
  const last = changes.filter(({ chain }) => TOP.has(chain));
  const rest = changes.filter(({ chain }) => !TOP.has(chain));
  const inputs: Input[] = [];
  for (let start = 0; start < rest.length; start += chainsPerInput) {
    inputs.push(input(rest.slice(start, start + chainsPerInput), NOTHING_ELSE));
  }
  return [...inputs, input(last, delta)];
}

/** What a delta has beside changes of our own chains. */
type Surroundings = Pick<Delta, 'missing' | 'missingChains' | 'obsolete'>;

const NOTHING_ELSE: Surroundings = { missing: [], missingChains: [], obsolete: [] };

/**
 * Each table is committed by itself. Between the two commits a Service must neither be answered by nobody nor
 * refused while it has endpoints: rules that refuse come first, then the nat table, then those that refuse no
 * more go. Where IPVS mode is replaced, which refuses by itself until then, the nat table is the first: what the
 * filter table drops of a load balancer is what the nat table has not let through.
 */
function input(changes: readonly ChainChange[], { missing, missingChains, obsolete }: Surroundings): Input {
  const filter = new Section('filter');
  const nat = new Section('nat');
  const mangle = new Section('mangle');
  const filterAfter = new Section('filter');
  const sections = { filter, nat, mangle };
  for (const chain of missingChains) sections[tableOf(chain)].declare(`-N ${nameOf(chain)}`);
  for (const change of changes) {
    const section = sections[tableOf(change.chain)];
    writeChain(change, section, section === filter ? filterAfter : section);
  }
  for (const { chain, rule } of missing) sections[tableOf(chain)].rule(`-I ${nameOf(chain)} ${rule}`);
  for (const { chain, rule } of obsolete) sections[tableOf(chain)].rule(`-D ${nameOf(chain)} ${rule}`);
  const [first, second] = obsolete.length > 0 ? [nat, filter] : [filter, nat];
  return [first, second, filterAfter, mangle].flatMap((section) => section.lines());
}

function writeChain(change: ChainChange, section: Section, removals: Section): void {
  const name = nameOf(change.chain);
  const edits = isShared(change.chain) ? editsOf(change) : undefined;
  if (edits) {
    for (const { position, rule } of edits.inserted) section.rule(`-I ${name} ${position} ${rule}`);
    for (const rule of edits.removed) removals.rule(`-D ${name} ${rule}`);
    return;
  }
  section.declare(`:${name} - [0:0]`);
  for (const rule of change.wanted) section.rule(`-A ${name} ${rule}`);
}

/** Chains of one Service are short, and written whole. */
function isShared(chain: ChainId): boolean {
  return TOP.has(chain) || isSplitChain(nameOf(chain));
}

/** Chains are made, or emptied, before any rule that may jump to them. */
class Section {
  readonly #table: Table;
  readonly #chains: string[] = [];
  readonly #rules: string[] = [];

  constructor(table: Table) {
    this.#table = table;
  }

  declare(line: string): void {
    this.#chains.push(`${line}\n`);
  }

  rule(line: string): void {
    this.#rules.push(`${line}\n`);
  }

  lines(): string[] {
    if (this.#chains.length === 0 && this.#rules.length === 0) return [];
    return [`*${this.#table}\n`, ...this.#chains, ...this.#rules, 'COMMIT\n'];
  }
}

/**
 * Deletes chains that nothing of ours jumps to: all are emptied before the first one goes, as they may jump to each
 * other. More than one input empties them all first.
 */
export function collectScript(stale: Iterable<ChainId>, chainsPerInput: number): Input[] {
  const inputs: Input[] = [];
  for (const [table, chains] of Map.groupBy(stale, tableOf)) {
    const names = chains.map(nameOf);
    const empty = (name: string) => `:${name} - [0:0]\n`;
    const remove = (name: string) => `-X ${name}\n`;
    const wrapped = (lines: readonly string[]) => [`*${table}\n`, ...lines, 'COMMIT\n'];
    if (names.length <= chainsPerInput) {
      inputs.push(wrapped([...names.map(empty), ...names.map(remove)]));
      continue;
    }
    for (const line of [empty, remove]) {
      for (let start = 0; start < names.length; start += chainsPerInput) {
        inputs.push(wrapped(names.slice(start, start + chainsPerInput).map(line)));
      }
    }
  }
  return inputs;
}
