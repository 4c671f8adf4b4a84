/**
 * Where a packet ends up under IPVS mode, by what is in the kernel alone: rules, sets, virtual servers and the
 * addresses of the dummy link. IPVS takes packets between hooks: those that came in behind the filter table's
 * INPUT, the node's own behind the nat table's OUTPUT (net/netfilter/ipvs/ip_vs_core.c, `ip_vs_ops4`); what it
 * has translated goes through OUTPUT and POSTROUTING.
 */
import { cidrContains } from '../../net/ip.ts';
import { type Endpoint, Flow, type WalkEnvironment, WalkError, type WalkedPacket } from '../flow.ts';
import { holds, type Scope } from '../iptables/matches.ts';
import type { Match, Rule } from '../iptables/rule.ts';
import type { Ruleset } from '../iptables/ruleset.ts';
import { isExtension, run } from '../iptables/targets.ts';
import { isLocal } from '../nft/field-values.ts';

/** One family's share of the kernel. */
export interface IpvsKernel {
  readonly rules: Ruleset;
  /** Entries by the set's name, as `ipset save` prints them. */
  readonly sets: ReadonlyMap<string, ReadonlySet<string>>;
  /** By address, protocol and port: `10.96.0.1 tcp 443`. */
  readonly servers: ReadonlyMap<string, readonly RealServer[]>;
  /** On the dummy link. */
  readonly addresses: ReadonlySet<string>;
}

export interface RealServer extends Endpoint {
  readonly weight: number;
}

export interface IpvsOutcome {
  readonly action: 'accept' | 'drop' | 'reject';
  /** Where IPVS sends it; absent when it does not take the packet. */
  readonly to?: Endpoint;
  readonly masquerade: boolean;
  /** The rules that held, and what IPVS did, in order. */
  readonly trace: readonly string[];
}

/**
 * Walks the first packet of a connection.
 * @returns one outcome for each real server that the scheduler may choose, else one
 * @throws WalkError when a rule on the way cannot be followed
 */
export function walkIpvs(
  kernel: IpvsKernel,
  packet: WalkedPacket,
  environment: WalkEnvironment,
): IpvsOutcome[] {
  const [first, ...others] = new Path(kernel, packet, environment).choices();
  const outcome = new Path(kernel, packet, environment).follow(first);
  // What does not get as far as IPVS leaves it no choice.
  if (outcome.to === undefined) return [outcome];
  return [outcome, ...others.map((server) => new Path(kernel, packet, environment).follow(server))];
}

class Path {
  readonly #kernel: IpvsKernel;
  readonly #scope: Scope;
  readonly #local: ReadonlySet<string>;

  constructor(kernel: IpvsKernel, packet: WalkedPacket, environment: WalkEnvironment) {
    this.#kernel = kernel;
    this.#local = new Set([...environment.localAddresses, ...kernel.addresses]);
    this.#scope = {
      flow: new Flow(packet),
      environment: { ...environment, localAddresses: this.#local },
      chance: () => {
        throw new WalkError('rules of IPVS mode leave nothing to chance');
      },
    };
  }

  /** The real servers that may get it, if it comes as far as IPVS. */
  choices(): readonly RealServer[] {
    return (this.#servers() ?? []).filter(({ weight }) => weight > 0);
  }

  follow(server: RealServer | undefined): IpvsOutcome {
    const { flow } = this.#scope;
    if (flow.inInterface === '') {
      return this.#hook('OUTPUT', ['mangle', 'nat']) ?? this.#balance(server) ?? this.#ownPacket();
    }
    const before = this.#hook('PREROUTING', ['mangle', 'nat']);
    if (before !== undefined) return before;
    if (isLocal(flow.destination, this.#local)) {
      return this.#hook('INPUT', ['mangle', 'filter']) ?? this.#balance(server) ?? this.#outcome('accept');
    }
    return this.#hook('FORWARD', ['mangle', 'filter']) ?? this.#leave();
  }

  #servers(): readonly RealServer[] | undefined {
    const { destination, protocol, destinationPort } = this.#scope.flow;
    return this.#kernel.servers.get(`${destination} ${protocol} ${destinationPort}`);
  }

  /** `undefined` when no virtual server takes it. */
  #balance(server: RealServer | undefined): IpvsOutcome | undefined {
    const { flow } = this.#scope;
    if (this.#servers() === undefined) return undefined;
    if (server === undefined) {
      flow.trace.push('IPVS: no real server, refused');
      return this.#outcome('reject');
    }
    flow.trace.push(`IPVS: to ${server.address} port ${server.port}`);
    flow.dnat = { address: server.address, port: server.port };
    flow.destination = server.address;
    flow.destinationPort = server.port;
    flow.inInterface = '';
    return this.#hook('OUTPUT', ['mangle', 'filter']) ?? this.#leave();
  }

  /** A packet of the node that IPVS did not take; one to itself comes back over the loopback interface. */
  #ownPacket(): IpvsOutcome {
    const { flow } = this.#scope;
    const stopped = this.#hook('OUTPUT', ['filter']);
    if (stopped !== undefined || !isLocal(flow.destination, this.#local)) return stopped ?? this.#leave();
    flow.inInterface = 'lo';
    return this.#hook('INPUT', ['mangle', 'filter']) ?? this.#outcome('accept');
  }

  #leave(): IpvsOutcome {
    return this.#hook('POSTROUTING', ['mangle', 'nat']) ?? this.#outcome('accept');
  }

  #outcome(action: IpvsOutcome['action']): IpvsOutcome {
    const { dnat, masquerade, trace } = this.#scope.flow;
    return {
      action,
      ...(action === 'accept' && dnat ? { to: dnat } : {}),
      masquerade: action === 'accept' && masquerade,
      trace,
    };
  }

  /** What ends the packet's way there. */
  #hook(hook: string, tables: readonly string[]): IpvsOutcome | undefined {
    for (const table of tables) {
      const result = this.#chain(table, hook);
      if (result === 'drop' || result === 'reject') return this.#outcome(result);
    }
    return undefined;
  }

  #chain(table: string, name: string): IpvsOutcome['action'] | undefined {
    const { flow } = this.#scope;
    for (const rule of this.#kernel.rules.get(table)?.get(name)?.rules ?? []) {
      if (!this.#holds(rule, table, name) || rule.target === undefined) continue;
      flow.trace.push(`${table} ${name}: ${rule.text}`);
      if (!isExtension(rule.target.name)) {
        const result = this.#chain(table, rule.target.name);
        if (result !== undefined) return result;
        continue;
      }
      const result = run(flow, rule.target);
      if (result === 'return') return undefined;
      if (result !== undefined) return result;
    }
    return undefined;
  }

  #holds(rule: Rule, table: string, chain: string): boolean {
    try {
      return rule.matches.every((match) => this.#matches(match));
    } catch (error) {
      if (!(error instanceof WalkError)) throw error;
      throw new WalkError(`${table} ${chain}: cannot follow the rule "${rule.text}": ${error.message}`);
    }
  }

  #matches(match: Match): boolean {
    if (match.name === 'set')
      return match.options.every(({ negated, values }) => this.#isInSet(values) !== negated);
    // No bridge here: a packet never came in through the port of one.
    if (match.name === 'physdev') return match.options.every(({ negated }) => negated);
    return holds(this.#scope, match);
  }

  /** `--match-set NAME dst,dst,src`: each word picks the address or the port, by the place it has. */
  #isInSet([name = '', directions = '']: readonly string[]): boolean {
    const entries = this.#kernel.sets.get(name);
    if (entries === undefined) throw new WalkError(`there is no set ${name}`);
    const { flow } = this.#scope;
    const { source, destination, protocol, destinationPort } = flow;
    const [first, second, third] = directions.split(',');
    const address = first === 'dst' ? destination : source;
    if (second === undefined) return entries.has(address) || entries.has(String(destinationPort));
    const key = `${address},${protocol}:${destinationPort}`;
    if (third === undefined) return entries.has(key);
    return [...entries].some(
      (entry) => entry.startsWith(`${key},`) && covers(entry.slice(key.length + 1), source),
    );
  }
}

function covers(network: string, address: string): boolean {
  return network.includes('/') ? cidrContains(network, address) : network === address;
}
