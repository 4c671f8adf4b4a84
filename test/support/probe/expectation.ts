/** What a recording says about one probe, and whether what happened here is the same. Pure. */
import type { Outcome } from './protocol.ts';

/** `client`: the sender's own address; `node`: any address of node1. */
export type ClientClass = 'client' | 'node';

export interface Expectation {
  /** Which back ends answered, e.g. `10.244.1.2:8080`; or how many different ones, where any will do. */
  readonly backends: readonly string[] | { readonly oneOf: true; readonly count: number };
  /** Whom the back ends saw. */
  readonly clientSeen: readonly ClientClass[];
  /** How tries failed, e.g. `refused`, `timeout`; beside `backends` it means that some did. */
  readonly failures: readonly string[];
}

/** Outcomes of one probe, added up: how often each back end, class of client and failure was met. */
export interface Observed {
  readonly backends: Readonly<Record<string, number>>;
  readonly clientSeen: Readonly<Record<string, number>>;
  readonly failures: Readonly<Record<string, number>>;
}

export const NOTHING_OBSERVED: Observed = { backends: {}, clientSeen: {}, failures: {} };

/** Turns the address a back end saw into its class; an address that is of neither class stays as it is. */
export function classify(
  client: string,
  ownAddresses: readonly string[],
  nodeAddresses: readonly string[],
): string {
  if (nodeAddresses.includes(client)) return 'node';
  return ownAddresses.includes(client) ? 'client' : client;
}

/**
 * Adds a round of tries. Failures are the last round's alone: a round is repeated when a busy machine may have
 * been late, and a drop rule drops the next round as well.
 */
export function addRound(
  before: Observed,
  outcomes: readonly Outcome[],
  classOf: (client: string) => string,
): Observed {
  const backends = { ...before.backends };
  const clientSeen = { ...before.clientSeen };
  const failures: Record<string, number> = {};
  const count = (counts: Record<string, number>, key: string): void => {
    counts[key] = (counts[key] ?? 0) + 1;
  };
  for (const outcome of outcomes) {
    if (outcome.ok) {
      count(backends, outcome.backend);
      count(clientSeen, classOf(outcome.client));
    } else {
      count(failures, outcome.failure);
    }
  }
  return { backends, clientSeen, failures };
}

export interface Difference {
  /** One clause per difference: `10.244.1.3:8080 never answered`. */
  readonly what: readonly string[];
  /** Whether luck or a busy machine can explain it, so that another round may show a match. */
  readonly mayPass: boolean;
}

/** Undefined when they agree. */
export function difference(expected: Expectation, observed: Observed): Difference | undefined {
  const missing: string[] = [];
  const wrong: string[] = [];
  const late: string[] = [];
  const seen = Object.keys(observed.backends);

  if ('oneOf' in expected.backends) {
    if (seen.length !== expected.backends.count) {
      wrong.push(`${seen.length} back ends answered (${seen.join(', ')}), not ${expected.backends.count}`);
    }
  } else {
    const backends = expected.backends;
    missing.push(...backends.filter((b) => !seen.includes(b)).map((b) => `${b} never answered`));
    wrong.push(...seen.filter((b) => !backends.includes(b)).map((b) => `${b} answered`));
  }

  const classes = Object.keys(observed.clientSeen);
  const expectedClasses: readonly string[] = expected.clientSeen;
  missing.push(
    ...expectedClasses.filter((c) => !classes.includes(c)).map((c) => `no back end saw the ${c}'s address`),
  );
  wrong.push(
    ...classes
      .filter((c) => !expectedClasses.includes(c))
      .map((c) => `a back end saw ${c === 'client' || c === 'node' ? `the ${c}'s address` : c}`),
  );

  const failures = Object.keys(observed.failures);
  missing.push(...expected.failures.filter((f) => !failures.includes(f)).map((f) => `no try met ${f}`));
  for (const failure of failures.filter((f) => !expected.failures.includes(f))) {
    (failure === 'timeout' ? late : wrong).push(`${observed.failures[failure]} tries met ${failure}`);
  }

  const what = [...wrong, ...missing, ...late];
  return what.length === 0 ? undefined : { what, mayPass: wrong.length === 0 };
}
