/** From what the kernel holds to what it should hold: the difference, in the tools' own lines. */
import type { IpFamily } from '../../src/cluster/values.ts';
import { DRAINING, drains, type IpvsObjects, type VirtualServer } from './objects.ts';
import { grownName, type SetKind, setDeclaration, setName } from './sets.ts';

/** Real servers without new connections that wait for their old ones to end, by virtual server. */
export type Drains = ReadonlyMap<string, ReadonlySet<string>>;

export interface EntriesDelta {
  readonly added: ReadonlyMap<SetKind, readonly string[]>;
  readonly removed: ReadonlyMap<SetKind, readonly string[]>;
}

export interface ServersDelta {
  /** Lines for `ipvsadm -R`: what comes before what goes. */
  readonly lines: readonly string[];
  /** By virtual server touched: its draining real servers from now on. */
  readonly draining: Drains;
}

export interface AddressesDelta {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export function compareEntries(before: IpvsObjects, after: IpvsObjects): EntriesDelta {
  const added = new Map<SetKind, string[]>();
  const removed = new Map<SetKind, string[]>();
  for (const kind of new Set([...before.sets.keys(), ...after.sets.keys()])) {
    const [was, is] = [before.entries(kind), after.entries(kind)];
    const come = [...is].filter((entry) => !was.has(entry));
    const go = [...was].filter((entry) => !is.has(entry));
    if (come.length > 0) added.set(kind, come);
    if (go.length > 0) removed.set(kind, go);
  }
  return { added, removed };
}

export function compareAddresses(before: IpvsObjects, after: IpvsObjects): AddressesDelta {
  return {
    added: [...after.addresses].filter((address) => !before.addresses.has(address)),
    removed: [...before.addresses].filter((address) => !after.addresses.has(address)),
  };
}

/**
 * @param draining what is known to drain beside what `before` shows: an endpoint that comes back is there already
 */
export function compareServers(before: IpvsObjects, after: IpvsObjects, draining: Drains): ServersDelta {
  const come: string[] = [];
  const go: string[] = [];
  const drainingNow = new Map<string, Set<string>>();
  for (const [key, wanted] of after.servers) {
    const there = before.servers.get(key);
    if (there === undefined) come.push(`-A ${key} ${wanted.options}\n`);
    else if (there.options !== wanted.options) come.push(`-E ${key} ${wanted.options}\n`);
    drainingNow.set(key, compareRealServers(key, there, wanted, draining.get(key), come, go));
  }
  for (const key of before.servers.keys()) {
    if (after.servers.has(key)) continue;
    go.push(`-D ${key}\n`);
    drainingNow.set(key, new Set());
  }
  return { lines: [...come, ...go], draining: drainingNow };
}

function compareRealServers(
  key: string,
  there: VirtualServer | undefined,
  wanted: VirtualServer,
  draining: ReadonlySet<string> | undefined,
  come: string[],
  go: string[],
): Set<string> {
  const stillDraining = new Set(draining);
  for (const [server, options] of wanted.servers) {
    const found = there?.servers.get(server) ?? (draining?.has(server) ? DRAINING : undefined);
    stillDraining.delete(server);
    if (found !== options) come.push(`${found === undefined ? '-a' : '-e'} ${key} -r ${server} ${options}\n`);
  }
  for (const [server, options] of there?.servers ?? []) {
    if (wanted.servers.has(server)) continue;
    if (drains(key, wanted)) {
      if (options !== DRAINING) go.push(`-e ${key} -r ${server} ${DRAINING}\n`);
      stillDraining.add(server);
    } else {
      go.push(`-d ${key} -r ${server}\n`);
    }
  }
  return stillDraining;
}

/** Lines for `ipset restore` that make a set; harmless when it is there like this. */
export function createLine(kind: SetKind, family: IpFamily, maxElements?: number): string {
  return `create ${setName(kind, family)} ${setDeclaration(kind, family, maxElements)}\n`;
}

/**
 * Entries that open come before entries that close: who may use an address is known before it is closed to the
 * rest.
 */
export function entryLines(
  command: 'add' | 'del',
  entries: ReadonlyMap<SetKind, readonly string[]>,
  family: IpFamily,
): string[] {
  const closing = (kind: SetKind): boolean => CLOSING.has(kind);
  const kinds = [...entries.keys()];
  const ordered =
    command === 'add'
      ? [...kinds.filter((kind) => !closing(kind)), ...kinds.filter(closing)]
      : [...kinds.filter(closing), ...kinds.filter((kind) => !closing(kind))];
  return ordered.flatMap((kind) => {
    const name = setName(kind, family);
    return (entries.get(kind) ?? []).map((entry) => `${command} ${name} ${entry}\n`);
  });
}

const CLOSING: ReadonlySet<SetKind> = new Set(['KUBE-LOAD-BALANCER-FW', 'KUBE-DROP', 'KUBE-DROP-EXTERNAL']);

/**
 * A larger set in place of one that would overflow: filled under another name, then swapped. Rules go on
 * looking into it under its own name.
 */
export function growLines(
  kind: SetKind,
  family: IpFamily,
  maxElements: number,
  entries: Iterable<string>,
): string[] {
  const grown = grownName(family);
  const name = setName(kind, family);
  return [
    `create ${grown} ${setDeclaration(kind, family, maxElements)}\n`,
    `flush ${grown}\n`,
    ...Array.from(entries, (entry) => `add ${grown} ${entry}\n`),
    `swap ${grown} ${name}\n`,
    `destroy ${grown}\n`,
  ];
}
