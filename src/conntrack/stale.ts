/** Which flows no longer lead where they should, and the fewest deletions that take those and no others. */
import type { SocketKey, UdpFlow } from './flow.ts';
import type { UdpFrontEnds } from './front-ends.ts';

/**
 * Is it a flow to a front end of ours that no good endpoint answers? That takes in flows that began before there was
 * anything to translate them to: their packets go on past the rules, which see the first packet of a flow alone.
 */
export function isStale({ destination, answeredBy }: UdpFlow, frontEnds: UdpFrontEnds): boolean {
  const frontEnd = frontEnds.get(destination);
  if (frontEnd === undefined || frontEnd.endpoints.has(answeredBy)) return false;
  return answeredBy !== destination || !frontEnd.onlyTranslated;
}

/** All flows of this destination and, where given, this answerer, whoever sends them. */
export interface FlowSelection {
  readonly destination: SocketKey;
  readonly answeredBy?: SocketKey;
}

/** Whether everything that a selection takes is stale. */
export function isStaleSelection(selection: FlowSelection, frontEnds: UdpFrontEnds): boolean {
  const { destination, answeredBy } = selection;
  return answeredBy === undefined
    ? nothingIsGood(destination, frontEnds)
    : isStale({ destination, answeredBy }, frontEnds);
}

function nothingIsGood(destination: SocketKey, frontEnds: UdpFrontEnds): boolean {
  const frontEnd = frontEnds.get(destination);
  return frontEnd !== undefined && frontEnd.endpoints.size === 0 && !frontEnd.onlyTranslated;
}

/**
 * Gathers the stale ones of a listing. Each deletion makes the tool go through the whole table, so thousands of
 * clients of one endpoint are one selection, and so is a front end without endpoints, however many it had.
 */
export class StaleFlows {
  readonly #frontEnds: UdpFrontEnds;
  readonly #selections = new Map<string, FlowSelection>();

  constructor(frontEnds: UdpFrontEnds) {
    this.#frontEnds = frontEnds;
  }

  add(flow: UdpFlow): void {
    if (!isStale(flow, this.#frontEnds)) return;
    const { destination, answeredBy } = flow;
    if (nothingIsGood(destination, this.#frontEnds)) this.#selections.set(destination, { destination });
    else this.#selections.set(`${destination} ${answeredBy}`, { destination, answeredBy });
  }

  /** Each different, in the order they were met. */
  selections(): FlowSelection[] {
    return [...this.#selections.values()];
  }
}
