/**
 * The recorded scenarios: cluster objects, the proxy's configuration, and what kube-proxy 1.36.1 made packets
 * do. `runScenario` sends the same packets through rules under test and says where they fare differently.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ProxyMode } from '../../src/reconcile/backend.ts';
import type { Network } from './network/network.ts';
import { ADDRESS, type Host, NODE1_ADDRESSES } from './network/topology.ts';
import {
  addRound,
  classify,
  type Difference,
  difference,
  type Expectation,
  NOTHING_OBSERVED,
  type Observed,
} from './probe/expectation.ts';
import type { Target } from './probe/protocol.ts';

/** An API object as JSON has it. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

export interface Scenario {
  readonly name: string;
  readonly about: string;
  readonly config: {
    /** Comma-separated, one per family. */
    readonly clusterCIDR: string;
    readonly nodeName: string;
    readonly masqueradeAll?: boolean;
  };
  /** Services and EndpointSlices; `scenarioObjects` adds the cluster they were in. */
  readonly objects: readonly ApiObject[];
  /** By mode, then by probe: `ext->172.30.0.11:30003/tcp`. */
  readonly expect: Readonly<Record<ProxyMode, Readonly<Record<string, Expectation>>>>;
  readonly kubeProxyDump: {
    /** kube-proxy's own tables as `nft list` printed them. */
    readonly nftables: { readonly ip: string; readonly ip6: string };
  };
}

const REPOSITORY = new URL('../../', import.meta.url);
const SHARED = new URL('../shared/reference/scenarios/', REPOSITORY);
const FIXTURES = new URL('test/fixtures/scenarios/', REPOSITORY);

/** All scenarios by name order: the shared recordings where this checkout has them beside it, else the fixtures. */
export function loadScenarios(): Scenario[] {
  const folder = namesIn(SHARED).length > 0 ? SHARED : FIXTURES;
  return namesIn(folder).map((file) => JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Scenario);
}

/** Throws when there is none of that name. */
export function loadScenario(name: string): Scenario {
  const scenario = loadScenarios().find((candidate) => candidate.name === name);
  if (!scenario)
    throw new Error(`no scenario ${name} in ${fileURLToPath(SHARED)} or ${fileURLToPath(FIXTURES)}`);
  return scenario;
}

function namesIn(folder: URL): string[] {
  try {
    return readdirSync(folder)
      .filter((file) => file.endsWith('.json'))
      .sort();
  } catch {
    return [];
  }
}

/** The scenario's objects and those that were in the cluster beside them: what an API server would list. */
export function scenarioObjects(scenario: Scenario): readonly ApiObject[] {
  return [...CLUSTER_OBJECTS, ...scenario.objects];
}

/** Seen in the recording as 10.96.0.1:443, the node's addresses and the drop rules of the Service ranges. */
const CLUSTER_OBJECTS: readonly ApiObject[] = [
  {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'node1',
      labels: { 'kubernetes.io/hostname': 'node1', 'topology.kubernetes.io/zone': 'z1' },
    },
    spec: { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24', 'fd00:244:1::/64'] },
    status: {
      addresses: [
        { type: 'InternalIP', address: ADDRESS.node1.ipv4 },
        { type: 'InternalIP', address: ADDRESS.node1.ipv6 },
        { type: 'Hostname', address: 'node1' },
      ],
    },
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name: 'kubernetes' },
    spec: { cidrs: ['10.96.0.0/12', 'fd00:10:96::/112'] },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kubernetes', namespace: 'default' },
    spec: {
      type: 'ClusterIP',
      clusterIP: '10.96.0.1',
      clusterIPs: ['10.96.0.1'],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      internalTrafficPolicy: 'Cluster',
      sessionAffinity: 'None',
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }],
    },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: 'kubernetes',
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': 'kubernetes' },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: [ADDRESS.lan.ipv4], conditions: { ready: true } }],
    ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
  },
];

/** A probe that may end otherwise than kube-proxy's did, and why that is better. */
export interface Improvement {
  readonly scenario: string;
  readonly mode: ProxyMode;
  readonly probe: string;
  readonly expect: Expectation;
  readonly why: string;
}

const REFUSED: Expectation = { backends: [], clientSeen: [], failures: ['refused'] };
const WITHOUT_ENDPOINTS =
  'a Service without endpoints refuses, from the node itself too, instead of a timeout';

/** What the recording's notes allow. */
export const ALLOWED_IMPROVEMENTS: readonly Improvement[] = ['203.0.113.20', '203.0.113.21'].map(
  (address) => ({
    scenario: 'clusterip-noendpoints',
    mode: 'iptables',
    probe: `node1->${address}:80/tcp`,
    expect: REFUSED,
    why: WITHOUT_ENDPOINTS,
  }),
);

export interface Mismatch {
  readonly scenario: string;
  readonly mode: ProxyMode;
  readonly probe: string;
  /** What differs, in words. */
  readonly what: readonly string[];
  readonly expected: Expectation;
  readonly observed: Observed;
}

export interface RunOptions {
  readonly improvements?: readonly Improvement[];
  /** Tries of a probe at once; default 40. */
  readonly tries?: number;
  /** Milliseconds until a try counts as dropped. */
  readonly deadlineMs?: number;
}

/** Tries in turn for affinity: each must find what the one before has left. */
const AFFINITY_TRIES = 8;
/** With 40 tries over four back ends one stays unseen once in 25,000 probes; three rounds make that never. */
const ROUNDS = 3;

/**
 * Sends every packet of `scenario.expect[mode]` through whatever rules node1 has. Hosts probe side by side,
 * each one probe after the other, so that affinity set by one is there for the next.
 * The result is empty when packets fared as recorded or as an improvement says.
 */
export async function runScenario(
  net: Network,
  scenario: Scenario,
  mode: ProxyMode,
  options: RunOptions = {},
): Promise<Mismatch[]> {
  const probes = Object.entries(scenario.expect[mode]).map(([key, expected]) => ({
    ...parseProbe(key),
    expected,
  }));
  const byHost = Map.groupBy(probes, (probe) => probe.host);
  const mismatches = await Promise.all(
    [...byHost.values()].map(async (ofHost) => {
      const found: Mismatch[] = [];
      for (const probe of ofHost) {
        const improvement = options.improvements?.find(
          (i) => i.scenario === scenario.name && i.mode === mode && i.probe === probe.key,
        );
        const allowed = improvement ? [probe.expected, improvement.expect] : [probe.expected];
        const result = await runProbe(net, scenario, probe, allowed, options);
        if (result)
          found.push({
            scenario: scenario.name,
            mode,
            probe: probe.key,
            expected: probe.expected,
            ...result,
          });
      }
      return found;
    }),
  );
  return mismatches.flat();
}

interface Probe {
  readonly key: string;
  readonly host: Host;
  readonly target: Target;
}

async function runProbe(
  net: Network,
  scenario: Scenario,
  { host, target }: Probe,
  allowed: readonly Expectation[],
  options: RunOptions,
): Promise<{ what: readonly string[]; observed: Observed } | undefined> {
  const inTurn = scenario.name.startsWith('affinity');
  const own = target.source === undefined ? Object.values(ADDRESS[host]) : [target.source];
  let observed = NOTHING_OBSERVED;
  let found: Difference | undefined;
  for (let round = 0; round < ROUNDS; round++) {
    const outcomes = await net.agent(host).tries({
      ...target,
      inTurn,
      count: inTurn ? AFFINITY_TRIES : (options.tries ?? 40),
      ...(options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs }),
    });
    observed = addRound(observed, outcomes, (client) => classify(client, own, NODE1_ADDRESSES));
    const differences = allowed.map((expectation) => difference(expectation, observed));
    if (differences.includes(undefined)) return undefined;
    found = differences[0];
    if (!differences.some((d) => d?.mayPass)) break;
  }
  return { what: found?.what ?? [], observed };
}

const PROBE = /^(?<host>\w+)(?:\((?<source>[^)]+)\))?->(?<address>.+):(?<port>\d+)\/(?<protocol>tcp|udp)$/;
const SENDERS: readonly string[] = ['client1', 'node1', 'ext', 'pods1', 'pods2'] satisfies Host[];

/**
 * Reads a key of `expect`: `pods1(10.244.1.2)->10.96.40.14:80/tcp`, `client1->fd00:10:96::30:80/tcp` (the port
 * is what follows the last colon). Throws when it is none.
 */
export function parseProbe(key: string): Probe {
  const { host, source, address, port, protocol } = PROBE.exec(key)?.groups ?? {};
  if (!host || !SENDERS.includes(host) || !address || !port || (protocol !== 'tcp' && protocol !== 'udp')) {
    throw new Error(`not a probe: ${key}`);
  }
  return {
    key,
    host: host as Host,
    target: { address, port: Number(port), protocol, ...(source === undefined ? {} : { source }) },
  };
}
