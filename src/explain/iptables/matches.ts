/** Whether a rule's matches hold for a packet: iptables-extensions(8), as far as Service proxies use it. */
import { canonicalCidr, cidrContains } from '../../net/ip.ts';
import { type Flow, type WalkEnvironment, WalkError } from '../flow.ts';
import { isLocal } from '../nft/field-values.ts';
import type { Chance } from './chances.ts';
import { firstValue, type Match, type Option } from './rule.ts';

export interface IptablesEnvironment extends WalkEnvironment {
  /** Addresses in the lists of `-m recent`, by list; default: nobody is known yet. */
  readonly recent?: ReadonlyMap<string, ReadonlySet<string>>;
}

export interface Scope {
  readonly flow: Flow;
  readonly environment: IptablesEnvironment;
  readonly chance: Chance;
}

/** Throws a `WalkError` for a match that is not known. */
export function holds(scope: Scope, match: Match): boolean {
  const whole = WHOLE[match.name];
  if (whole) return whole(scope, match.options);
  const known = OPTIONS[match.name];
  if (known === undefined) throw new WalkError(`the match ${match.name} is not known`);
  return match.options.every((option) => {
    const test = known[option.name];
    if (test === undefined) throw new WalkError(`${option.name} is not known`);
    return test(scope, option.values[0] ?? '') !== option.negated;
  });
}

type Test = (scope: Scope, value: string) => boolean;

const PORTS: Readonly<Record<string, Test>> = {
  '--dport': ({ flow }, value) => inRange(value, flow.destinationPort),
  '--sport': ({ flow }, value) => inRange(value, flow.original.sourcePort),
  '--dports': ({ flow }, value) => value.split(',').some((part) => inRange(part, flow.destinationPort)),
  '--sports': ({ flow }, value) => value.split(',').some((part) => inRange(part, flow.original.sourcePort)),
};

const OPTIONS: Readonly<Record<string, Readonly<Record<string, Test>>>> = {
  '': {
    '-s': ({ flow }, value) => inNetwork(value, flow.source),
    '-d': ({ flow }, value) => inNetwork(value, flow.destination),
    '-i': ({ flow }, value) => isInterface(value, flow.inInterface),
    '-o': ({ flow }, value) => isInterface(value, flow.outInterface),
    '-p': ({ flow }, value) => value === 'all' || value === flow.protocol,
  },
  tcp: PORTS,
  udp: PORTS,
  sctp: PORTS,
  multiport: PORTS,
  comment: { '--comment': () => true },
  // Counts, and always holds.
  nfacct: { '--nfacct-name': () => true },
  addrtype: {
    '--src-type': ({ flow, environment }, value) => hasType(value, flow.source, environment),
    '--dst-type': ({ flow, environment }, value) => hasType(value, flow.destination, environment),
  },
  conntrack: { '--ctstate': ({ flow }, value) => hasState(value, flow) },
  state: { '--state': ({ flow }, value) => hasState(value, flow) },
  mark: {
    '--mark': ({ flow }, value) => {
      const { bits, mask } = markOf(value);
      return (flow.mark & mask) >>> 0 === bits;
    },
  },
};

/** Matches whose options only mean something together. */
const WHOLE: Readonly<Record<string, (scope: Scope, options: readonly Option[]) => boolean>> = {
  statistic({ chance }, options) {
    const probability = firstValue(options, '--probability');
    if (probability === undefined) throw new WalkError('statistic is only known with --probability');
    return chance(Number(probability));
  },
  recent({ flow, environment }, options) {
    const list = firstValue(options, '--name') ?? 'DEFAULT';
    const has = (name: string) => options.some((option) => option.name === name);
    const known = environment.recent?.get(list)?.has(flow.source) ?? false;
    if (has('--rcheck')) return known;
    if (!has('--set') && !(has('--update') && known)) return false;
    flow.updates.push({ operation: has('--set') ? 'add' : 'update', set: list, key: flow.source });
    return true;
  },
};

/** `80`, `30000:30255`, `:1023`. */
function inRange(range: string, port: number): boolean {
  const [low = '', high = low] = range.split(':');
  return port >= Number(low || 0) && port <= Number(high || 65_535);
}

function inNetwork(network: string, address: string): boolean {
  const length = network.includes(':') ? 128 : 32;
  const cidr = canonicalCidr(network.includes('/') ? network : `${network}/${length}`);
  if (cidr === undefined) throw new WalkError(`${network} is not understood as a network`);
  return cidrContains(cidr, address);
}

function isInterface(pattern: string, name: string): boolean {
  return pattern.endsWith('+') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

function hasType(type: string, address: string, { localAddresses }: WalkEnvironment): boolean {
  if (type !== 'LOCAL') throw new WalkError(`which addresses are ${type} is not known`);
  return isLocal(address, localAddresses);
}

/** The walked packet is the first of its connection. */
function hasState(states: string, flow: Flow): boolean {
  return states.split(',').some((state) => {
    if (state === 'DNAT') return flow.dnat !== undefined;
    if (state === 'SNAT') return flow.masquerade || flow.snat !== undefined;
    return state === 'NEW';
  });
}

/** `0x4000/0x4000`; without a mask all bits count. */
export function markOf(text: string): { bits: number; mask: number } {
  const [bits, mask = '0xffffffff'] = text.split('/');
  return { bits: Number(bits) >>> 0, mask: Number(mask) >>> 0 };
}
