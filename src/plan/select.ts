/**
 * Which endpoints of a Service port a policy may use, and why not the others.
 * KEP-1669 (terminating endpoints), KEP-2433 (zone hints), KEP-3015 (node hints).
 */
import type { EndpointValue, SliceValue } from '../cluster/values.ts';
import { compareText } from '../net/ip.ts';
import type { EndpointReason } from './plan.ts';

/** An endpoint as one slice names it for one port. */
export interface Candidate {
  readonly endpoint: EndpointValue;
  readonly port: number;
  readonly sliceName: string;
}

export interface Place {
  readonly nodeName: string;
  /** Empty when the Node has no zone label. */
  readonly zone: string;
}

export interface Selected {
  readonly candidate: Candidate;
  readonly cluster: boolean;
  readonly local: boolean;
  readonly clusterReason: EndpointReason;
  readonly localReason: EndpointReason;
}

/**
 * Every endpoint the slices name for a port (matched by name and protocol, as the API defines it), sorted by
 * address and port, duplicates marked.
 */
export function selectEndpoints(
  slices: readonly SliceValue[],
  portName: string,
  protocol: string,
  place: Place,
): Selected[] {
  const candidates = collect(slices, portName, protocol);
  const { unique, duplicates } = withoutDuplicates(candidates);
  const selected = unique.map(policyOf(unique, place));
  if (duplicates.length === 0) return selected;
  const rest = duplicates.map(
    (candidate): Selected => ({
      candidate,
      cluster: false,
      local: false,
      clusterReason: 'duplicate',
      localReason: 'duplicate',
    }),
  );
  return [...selected, ...rest].sort((a, b) => compareCandidates(a.candidate, b.candidate));
}

function collect(slices: readonly SliceValue[], portName: string, protocol: string): Candidate[] {
  const found: Candidate[] = [];
  for (const slice of slices) {
    for (const port of slice.ports) {
      if (port.name !== portName || port.protocol !== protocol) continue;
      for (const endpoint of slice.endpoints) {
        found.push({ endpoint, port: port.port, sliceName: slice.name });
      }
    }
  }
  return found.sort(compareCandidates);
}

function compareCandidates(a: Candidate, b: Candidate): number {
  return (
    compareText(a.endpoint.address, b.endpoint.address) ||
    a.port - b.port ||
    rank(b.endpoint) - rank(a.endpoint) ||
    compareText(a.sliceName, b.sliceName) ||
    compareText(a.endpoint.nodeName, b.endpoint.nodeName)
  );
}

/**
 * While a pod moves between slices, two may name it, one of them out of date. A copy that is not terminating
 * wins over one that is, then one that is ready; kube-proxy lets chance decide among the rest.
 */
function rank(endpoint: EndpointValue): number {
  return (endpoint.terminating ? 0 : 4) + (endpoint.ready ? 2 : 0) + (endpoint.serving ? 1 : 0);
}

/** `candidates` is sorted, so copies of one address and port are neighbours, the best first. */
function withoutDuplicates(candidates: readonly Candidate[]): {
  unique: Candidate[];
  duplicates: Candidate[];
} {
  const unique: Candidate[] = [];
  const duplicates: Candidate[] = [];
  let previous: Candidate | undefined;
  for (const candidate of candidates) {
    const same =
      previous !== undefined &&
      previous.endpoint.address === candidate.endpoint.address &&
      previous.port === candidate.port;
    (same ? duplicates : unique).push(candidate);
    previous = candidate;
  }
  return { unique, duplicates };
}

/** The choice for each endpoint, which depends on all of them. */
function policyOf(all: readonly Candidate[], place: Place): (candidate: Candidate) => Selected {
  const anyReady = all.some(({ endpoint }) => endpoint.ready);
  const anyLocalReady = all.some(({ endpoint }) => endpoint.ready && isLocal(endpoint, place));
  const topology = topologyOf(all, place);
  return (candidate) => {
    const clusterReason = clusterPolicy(candidate.endpoint, anyReady, topology, place);
    const localReason = localPolicy(candidate.endpoint, anyLocalReady, place);
    return {
      candidate,
      cluster: isChosen(clusterReason),
      local: isChosen(localReason),
      clusterReason,
      localReason,
    };
  };
}

function isChosen(reason: EndpointReason): boolean {
  return reason === 'ready' || reason === 'terminating-but-serving';
}

function isLocal(endpoint: EndpointValue, place: Place): boolean {
  return endpoint.nodeName !== '' && endpoint.nodeName === place.nodeName;
}

type Topology = 'same-node' | 'same-zone' | 'none';

/**
 * Hints count only when every ready endpoint has one and at least one names this node (or zone): a hint missing
 * anywhere means that the control plane is between two states, and using all endpoints is the safe reading.
 */
function topologyOf(all: readonly Candidate[], { nodeName, zone }: Place): Topology {
  const ready = all.filter(({ endpoint }) => endpoint.ready);
  if (ready.length === 0) return 'none';
  if (
    ready.every(({ endpoint }) => endpoint.nodeHints.length > 0) &&
    ready.some(({ endpoint }) => endpoint.nodeHints.includes(nodeName))
  ) {
    return 'same-node';
  }
  if (
    zone !== '' &&
    ready.every(({ endpoint }) => endpoint.zoneHints.length > 0) &&
    ready.some(({ endpoint }) => endpoint.zoneHints.includes(zone))
  ) {
    return 'same-zone';
  }
  return 'none';
}

function clusterPolicy(
  endpoint: EndpointValue,
  anyReady: boolean,
  topology: Topology,
  place: Place,
): EndpointReason {
  if (!endpoint.ready) return unready(endpoint, anyReady);
  if (topology === 'same-node' && !endpoint.nodeHints.includes(place.nodeName)) return 'no-hint-for-node';
  if (topology === 'same-zone' && !endpoint.zoneHints.includes(place.zone)) return 'no-hint-for-zone';
  return 'ready';
}

function localPolicy(endpoint: EndpointValue, anyLocalReady: boolean, place: Place): EndpointReason {
  if (!isLocal(endpoint, place)) return 'not-on-this-node';
  return endpoint.ready ? 'ready' : unready(endpoint, anyLocalReady);
}

function unready(endpoint: EndpointValue, othersReady: boolean): EndpointReason {
  if (!endpoint.terminating) return 'not-ready';
  if (!endpoint.serving) return 'terminating';
  return othersReady ? 'terminating-not-needed' : 'terminating-but-serving';
}
