/** The tool calls that make a difference, in the order in which nothing is used before it is there. */
import type { IpFamily, ObjectKey } from '../../src/cluster/values.ts';
import type { Change, Step } from '../../src/reconcile/backend.ts';
import { createLine, type Drains, entryLines, growLines } from './delta.ts';
import { LINK } from './listing.ts';
import { type IpvsDelta, renderService } from './model.ts';
import type { IpvsObjects } from './objects.ts';
import type { RenderContext } from './render.ts';
import { SET_KINDS, setName } from './sets.ts';

type Argv = readonly [string, ...string[]];

const IPSET: Argv = ['ipset', '-exist', 'restore'];
const IPVSADM: Argv = ['ipvsadm', '-R'];
const IP_BATCH: Argv = ['ip', '-batch', '-'];
export const ADD_LINK: Argv = ['ip', 'link', 'add', LINK, 'type', 'dummy'];

/** Who wrote what, to name a Service when a tool objects. */
interface Authors {
  readonly change: Change;
  readonly context: RenderContext;
}

/**
 * Sets, rules, addresses, virtual servers; then what goes, the other way round. `newSets` of a delta come first,
 * so that every later line finds its set.
 * @param restore what takes rules
 * @param takesOver rules of iptables mode do the work until ours replace them, so ours come last
 */
export function stepsOf(
  delta: IpvsDelta,
  family: IpFamily,
  restore: Argv,
  takesOver: boolean,
  authors: Authors,
): Step[] {
  const { newSets, grownSets, entries, addresses, servers } = delta;
  const added = new Map([...entries.added].filter(([kind]) => !grownSets.has(kind)));
  const setsUp = [
    ...Array.from(newSets, ([kind, size]) => createLine(kind, family, size)),
    ...[...grownSets].flatMap(([kind, grown]) => growLines(kind, family, grown.size, grown.entries)),
    ...entryLines('add', added, family),
  ];
  const step = (argv: Argv, lines: readonly string[]): Step[] =>
    lines.length === 0 ? [] : [new IpvsStep(argv, lines, authors)];
  return [
    ...step(IPSET, setsUp),
    ...(takesOver ? [] : step(restore, delta.rulesUp)),
    ...(delta.newLink ? [new IpvsStep(ADD_LINK, [], authors)] : []),
    ...step(
      IP_BATCH,
      addresses.added.map((address) => addressLine('replace', address, family)),
    ),
    ...step(IPVSADM, servers.lines),
    ...(takesOver ? step(restore, delta.rulesUp) : []),
    ...step(
      IP_BATCH,
      addresses.removed.map((address) => addressLine('del', address, family)),
    ),
    ...step(IPSET, entryLines('del', entries.removed, family)),
    ...step(restore, delta.rulesDown),
  ];
}

/** A call that no Service has a part in. */
export function plainStep(argv: Argv, stdin: readonly string[] = []): Step {
  return new IpvsStep(argv, stdin, undefined);
}

/** Removes real servers whose last connection has ended. */
export function removalStep(drained: Drains): Step {
  const lines = [...drained].flatMap(([key, servers]) =>
    Array.from(servers, (server) => `-d ${key} -r ${server}\n`),
  );
  return plainStep(IPVSADM, lines);
}

/** Input that makes every set, for a place that has none. */
export function createAllSets(family: IpFamily): string[] {
  return SET_KINDS.map((kind) => createLine(kind, family));
}

export function isSetStep({ argv }: Step): boolean {
  return argv[0] === 'ipset';
}

/** ipvsadm goes on after a line that fails, and ends with 0: what it says is the only sign. */
export function complainsQuietly({ argv }: Step): boolean {
  return argv[0] === 'ipvsadm';
}

/** `replace` adds what is not there and minds nothing that is. */
function addressLine(command: 'replace' | 'del', address: string, family: IpFamily): string {
  return `address ${command} ${address}/${family === 'IPv4' ? 32 : 128} dev ${LINK}\n`;
}

class IpvsStep implements Step {
  readonly argv: Argv;
  readonly stdin: readonly string[];
  readonly #authors: Authors | undefined;

  constructor(argv: Argv, stdin: readonly string[], authors: Authors | undefined) {
    this.argv = argv;
    this.stdin = stdin;
    this.#authors = authors;
  }

  get services(): readonly ObjectKey[] {
    return [...(this.#authors?.change.services.keys() ?? [])];
  }

  /**
   * Nothing is kept per line: when a tool objects to one, the Services are rendered again until the line is found.
   * A line that several Services share names none.
   */
  serviceOfLine(line: number): ObjectKey | undefined {
    const text = this.stdin[line - 1]?.trim();
    if (text === undefined || this.#authors === undefined) return undefined;
    const { change, context } = this.#authors;
    const writes = writerOf(text, context.node.family);
    const owners: ObjectKey[] = [];
    for (const [key, plans] of change.services) {
      if (writes(renderService(plans, context))) owners.push(key);
    }
    return owners.length === 1 ? owners[0] : undefined;
  }
}

/** Whether objects have what a line is about. */
function writerOf(line: string, family: IpFamily): (objects: IpvsObjects) => boolean {
  const [, , name, entry] = /^(add|del) (\S+) (\S+)$/.exec(line) ?? [];
  if (name !== undefined && entry !== undefined) {
    return ({ sets }) => [...sets].some(([kind, all]) => setName(kind, family) === name && all.has(entry));
  }
  const [, key] = /^-\w (\S+ \S+)/.exec(line) ?? [];
  if (key !== undefined) return ({ servers }) => servers.has(key);
  const [, address] = /^address \w+ (\S+)\//.exec(line) ?? [];
  return ({ addresses }) => address !== undefined && addresses.has(address);
}
