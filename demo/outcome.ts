/** What became of the tries of one probe, and whether that is as it should be. Pure. */
import { compareText } from '../src/net/ip.ts';
import type { Outcome } from '../test/support/probe/protocol.ts';
import type { Expected } from './probes.ts';

export interface Tally {
  /** How often each back end answered, by its address, sorted. */
  readonly answers: ReadonlyMap<string, number>;
  /** The addresses that back ends saw, sorted. */
  readonly clients: readonly string[];
  /** How often by kind. */
  readonly failures: ReadonlyMap<string, number>;
}

export function tally(outcomes: readonly Outcome[]): Tally {
  const answers = new Map<string, number>();
  const failures = new Map<string, number>();
  const clients = new Set<string>();
  const count = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const outcome of outcomes) {
    if (outcome.ok) {
      count(answers, addressOf(outcome.backend));
      clients.add(outcome.client);
    } else {
      count(failures, outcome.failure);
    }
  }
  return {
    answers: new Map([...answers].sort(([a], [b]) => compareText(a, b))),
    clients: [...clients].sort(compareText),
    failures,
  };
}

/** `10.244.1.2:8080` → `10.244.1.2`, `[fd00::2]:8080` → `fd00::2`. */
function addressOf(backend: string): string {
  return backend.slice(0, backend.lastIndexOf(':')).replace(/^\[|\]$/g, '');
}

const FAILURES: Readonly<Record<string, string>> = { timeout: 'no answer' };

/** `13 × 10.244.1.4, 17 × 10.244.2.4` or `30 × refused`. */
export function tallyText({ answers, failures }: Tally): string {
  return [
    ...Array.from(answers, ([address, count]) => `${count} × ${address}`),
    ...Array.from(failures, ([failure, count]) => `${count} × ${FAILURES[failure] ?? failure}`),
  ].join(', ');
}

/** Who is who among the addresses that a back end may see. */
export interface Addresses {
  /** The sender's own. */
  readonly client: readonly string[];
  /** node1's. */
  readonly node: readonly string[];
}

/** What differs from `expected`, in words; empty when nothing does. */
export function differences(
  expected: Expected,
  { answers, clients, failures }: Tally,
  who: Addresses,
): string[] {
  if ('failure' in expected) {
    const others = [...failures.keys()].filter((failure) => failure !== expected.failure);
    return [
      ...(answers.size > 0 ? [`answers came from ${[...answers.keys()].join(', ')}`] : []),
      ...others.map((failure) => `some ended with ${FAILURES[failure] ?? failure}`),
      ...(failures.has(expected.failure)
        ? []
        : [`none ended with ${FAILURES[expected.failure] ?? expected.failure}`]),
    ];
  }
  const seen = expected.client === 'kept' ? who.client : who.node;
  const silent = expected.answers.filter((address) => !answers.has(address));
  const strangers = [...answers.keys()].filter((address) => !expected.answers.includes(address));
  const unexpected = clients.filter((client) => !seen.includes(client));
  return [
    ...Array.from(failures, ([failure, count]) => `${count} ended with ${FAILURES[failure] ?? failure}`),
    ...strangers.map((address) => `${address} answered`),
    ...(expected.sticky ? stickiness(answers.size) : silent.map((address) => `${address} never answered`)),
    ...unexpected.map((client) => `the pods saw ${client}`),
  ];
}

function stickiness(count: number): string[] {
  return count === 1 ? [] : [`${count} pods answered`];
}

/** Five standard deviations: chance alone goes further once in a million runs. */
const TOLERANCE = 5;

/** Whether every one of `addresses` has about its share of the answers: those that have not, in words. */
export function unevenness({ answers }: Tally, addresses: readonly string[]): string[] {
  const total = [...answers.values()].reduce((sum, count) => sum + count, 0);
  const share = 1 / addresses.length;
  const allowed = TOLERANCE * Math.sqrt(total * share * (1 - share));
  return addresses
    .map((address) => ({ address, count: answers.get(address) ?? 0 }))
    .filter(({ count }) => Math.abs(count - total * share) > allowed)
    .map(({ address, count }) => `${address} has ${count} of ${total}`);
}
