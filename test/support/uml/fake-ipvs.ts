/**
 * ipset, ipvsadm, ip and iptables-restore on tables in memory, as strict as the real ones: what is there cannot be
 * added, what is not cannot be changed or removed, and what is referred to cannot go. For tests on machines
 * whose kernel has no IPVS; the suites in test/uml hold the real tools to the same.
 */
import { parseRuleset, type Ruleset } from '../../../src/explain/iptables/ruleset.ts';
import type { IpvsKernel, RealServer } from '../../../src/explain/ipvs/walk.ts';
import type { Step } from '../../../src/reconcile/backend.ts';

interface FakeSet {
  readonly declaration: string;
  readonly entries: Set<string>;
}

export class FakeIpvs {
  readonly sets = new Map<string, FakeSet>();
  readonly servers = new Map<string, { options: string; readonly servers: Map<string, string> }>();
  readonly addresses = new Set<string>();
  readonly sysctls = new Map<string, string>();
  /** `filter KUBE-SERVICES` → rules. */
  readonly chains = new Map<string, string[]>();
  hasLink = false;

  /** Throws as the tool would fail; in contrast to the tools, nothing of a failed line is left out silently. */
  apply({ argv, stdin }: Pick<Step, 'argv' | 'stdin'>): void {
    const lines = stdin.map((line) => line.trimEnd());
    const [tool] = argv;
    if (tool === 'ipset') for (const line of lines) this.#ipset(line);
    else if (tool === 'ipvsadm' && argv[1] === '-R') for (const line of lines) this.#ipvsadm(line);
    else if (tool === 'ipvsadm') return;
    else if (tool === 'ip' && argv[1] === 'link') this.#addLink();
    else if (tool === 'ip') for (const line of lines) this.#ip(line);
    else if (tool === 'sysctl') for (const word of argv.slice(3)) this.#sysctl(word);
    else if (tool.endsWith('tables-restore')) this.#restore(lines);
    else throw new Error(`no such tool: ${argv.join(' ')}`);
  }

  /** For `walkIpvs`. */
  kernel(): IpvsKernel {
    return {
      rules: this.rules(),
      sets: new Map(Array.from(this.sets, ([name, { entries }]) => [name, entries])),
      servers: new Map(
        Array.from(this.servers, ([key, { servers }]) => [frontEnd(key), Array.from(servers, realServer)]),
      ),
      addresses: this.addresses,
    };
  }

  rules(): Ruleset {
    return parseRuleset(this.save());
  }

  /** As `iptables-save` prints it. */
  save(): string {
    const tables = new Map<string, string[]>();
    for (const id of this.chains.keys()) {
      const [table = '', chain = ''] = id.split(' ');
      const policy = chain.startsWith('KUBE') ? '-' : 'ACCEPT';
      tables.set(table, [...(tables.get(table) ?? []), `:${chain} ${policy} [0:0]`]);
    }
    for (const [id, rules] of this.chains) {
      const [table = '', chain = ''] = id.split(' ');
      tables.get(table)?.push(...rules.map((rule) => `-A ${chain} ${rule}`));
    }
    return [...tables].map(([table, lines]) => [`*${table}`, ...lines, 'COMMIT', ''].join('\n')).join('');
  }

  /** As `ipvsadm -Sn` prints it. */
  listServers(): string {
    const lines = [...this.servers].flatMap(([key, { options, servers }]) => [
      `-A ${key} ${options}`,
      ...Array.from(servers, ([server, rest]) => `-a ${key} -r ${server} ${rest}`),
    ]);
    return lines.map((line) => `${line}\n`).join('');
  }

  /** As `ipset save` prints it. */
  listSets(): string {
    const lines = [...this.sets].flatMap(([name, { declaration, entries }]) => [
      `create ${name} ${declaration}`,
      ...Array.from(entries, (entry) => `add ${name} ${entry}`),
    ]);
    return lines.map((line) => `${line}\n`).join('');
  }

  /** Everything, in an order that does not tell what came when; draining real servers are history. */
  contents(): object {
    const sorted = (values: Iterable<string>): string[] => [...values].sort();
    return {
      sets: Object.fromEntries(
        sorted(this.sets.keys()).map((name) => [name, sorted(this.sets.get(name)?.entries ?? [])]),
      ),
      servers: Object.fromEntries(
        sorted(this.servers.keys()).map((key) => [
          `${key} ${this.servers.get(key)?.options}`,
          sorted(
            [...(this.servers.get(key)?.servers ?? [])]
              .filter(([, options]) => options !== '-m -w 0')
              .map(([server, options]) => `${server} ${options}`),
          ),
        ]),
      ),
      addresses: sorted(this.addresses),
      chains: Object.fromEntries(sorted(this.chains.keys()).map((id) => [id, this.chains.get(id)])),
    };
  }

  #ipset(line: string): void {
    const [command = '', name = '', ...rest] = line.split(' ');
    const set = this.sets.get(name);
    if (command === 'create') {
      const declaration = rest.join(' ');
      if (set && set.declaration !== declaration) throw new Error(`${line}: is there, and different`);
      if (!set) this.sets.set(name, { declaration, entries: new Set() });
      return;
    }
    if (set === undefined) throw new Error(`${line}: The set with the given name does not exist`);
    const [entry = ''] = rest;
    if (command === 'add') this.#addEntry(set, entry, line);
    else if (command === 'del') set.entries.delete(entry);
    else if (command === 'flush') set.entries.clear();
    else if (command === 'destroy') this.sets.delete(name);
    else if (command === 'swap') this.#swap(name, entry);
    else throw new Error(`${line}: no such command`);
  }

  #addEntry(set: FakeSet, entry: string, line: string): void {
    const most = Number(/maxelem (\d+)/.exec(set.declaration)?.[1] ?? Number.POSITIVE_INFINITY);
    if (!set.entries.has(entry) && set.entries.size >= most) throw new Error(`${line}: Hash is full`);
    set.entries.add(entry);
  }

  #swap(one: string, other: string): void {
    const [a, b] = [this.sets.get(one), this.sets.get(other)];
    if (!a || !b) throw new Error(`swap ${one} ${other}: one does not exist`);
    this.sets.set(one, b);
    this.sets.set(other, a);
  }

  #ipvsadm(line: string): void {
    const [, command = '', key = '', rest = ''] = /^-(\w) (\S+ \S+) ?(.*)$/.exec(line) ?? [];
    const there = this.servers.get(key);
    const [, server = '', options = ''] = /^-r (\S+) ?(.*)$/.exec(rest) ?? [];
    if (command === 'A') {
      if (there) throw new Error(`${line}: Service already exists`);
      this.servers.set(key, { options: rest, servers: new Map() });
      return;
    }
    if (!there) throw new Error(`${line}: No such service`);
    const known = there.servers.has(server);
    if (command === 'E') there.options = rest;
    else if (command === 'D') this.servers.delete(key);
    else if (command === 'a' && known) throw new Error(`${line}: Destination already exists`);
    else if (command !== 'a' && !known) throw new Error(`${line}: No such destination`);
    else if (command === 'd') there.servers.delete(server);
    else there.servers.set(server, options);
  }

  #addLink(): void {
    if (this.hasLink) throw new Error('RTNETLINK answers: File exists');
    this.hasLink = true;
  }

  #ip(line: string): void {
    const [, command, address = ''] = /^address (replace|del) (\S+)\/\d+ dev kube-ipvs0$/.exec(line) ?? [];
    if (!this.hasLink) throw new Error(`${line}: Cannot find device`);
    if (command === 'replace') this.addresses.add(address);
    else if (!this.addresses.delete(address)) throw new Error(`${line}: Cannot assign requested address`);
  }

  #sysctl(word: string): void {
    const [name = '', value = ''] = word.split('=');
    this.sysctls.set(name, value);
  }

  #restore(lines: readonly string[]): void {
    let table = '';
    for (const line of lines) {
      const [word = '', name = ''] = line.split(' ');
      const rule = line.slice(word.length + name.length + 2);
      if (line.startsWith('*')) table = line.slice(1);
      else if (line.startsWith(':')) this.chains.set(`${table} ${word.slice(1)}`, []);
      else if (word === '-A') this.#chain(table, name).push(this.#checked(rule, table));
      else if (word === '-I') this.#chain(table, name).unshift(this.#checked(rule, table));
      else if (line !== 'COMMIT') throw new Error(`${line}: not understood`);
    }
  }

  #chain(table: string, name: string): string[] {
    const id = `${table} ${name}`;
    const chain = this.chains.get(id) ?? (name.startsWith('KUBE') ? undefined : []);
    if (chain === undefined) throw new Error(`${id}: No chain by that name`);
    this.chains.set(id, chain);
    return chain;
  }

  /** A rule refers to sets and chains that are there. */
  #checked(rule: string, table: string): string {
    const [, set] = /--match-set (\S+)/.exec(rule) ?? [];
    if (set !== undefined && !this.sets.has(set)) throw new Error(`${rule}: Set ${set} does not exist`);
    const [, target = ''] = / ?-j (KUBE\S+)/.exec(rule) ?? [];
    if (target !== '' && !this.chains.has(`${table} ${target}`))
      throw new Error(`${rule}: no chain ${target}`);
    return rule;
  }
}

function frontEnd(key: string): string {
  const [, flag, address, port] = /^(\S+) \[?(.+?)\]?:(\d+)$/.exec(key) ?? [];
  return `${address} ${flag === '-t' ? 'tcp' : flag === '-u' ? 'udp' : 'sctp'} ${port}`;
}

function realServer([server, options]: [string, string]): RealServer {
  const [, address = '', port] = /^\[?(.+?)\]?:(\d+)$/.exec(server) ?? [];
  return { address, port: Number(port), weight: Number(/-w (\d+)/.exec(options)?.[1]) };
}
