/**
 * Random clusters, nodes and packets for property tests (fast-check). Values are drawn from small pools, so that
 * Services share endpoints and addresses, policies meet every kind of endpoint, and packets hit something.
 */
import fc from 'fast-check';
import {
  type EndpointValue,
  type IpFamily,
  type ObjectKey,
  type Protocol,
  type ServiceValue,
  type SliceValue,
  valueKey,
} from '../../src/cluster/values.ts';
import type { LocalDetector, NodePlan, ServicePlan } from '../../src/plan/plan.ts';
import { Planner } from '../../src/plan/planner.ts';
import type { PlanContext } from '../../src/plan/service-plan.ts';
import type { NodeFacts, Packet } from '../../src/plan/verdict.ts';

export const NODE_NAME = 'node1';

export interface FamilyPool {
  readonly clusterIPs: readonly string[];
  readonly externalIPs: readonly string[];
  readonly localEndpoints: readonly string[];
  readonly remoteEndpoints: readonly string[];
  readonly nodeAddresses: readonly string[];
  readonly loopback: string;
  readonly podCIDR: string;
  readonly clusterCIDR: string;
  readonly serviceCIDR: string;
  readonly unallocated: string;
  readonly outside: readonly string[];
  readonly ranges: readonly string[];
}

export const POOLS: Record<IpFamily, FamilyPool> = {
  IPv4: {
    clusterIPs: ['10.96.0.1', '10.96.0.2', '10.96.0.3', '10.96.0.4'],
    externalIPs: ['203.0.113.1', '203.0.113.2', '203.0.113.3'],
    localEndpoints: ['10.244.1.2', '10.244.1.3', '10.244.1.4'],
    remoteEndpoints: ['10.244.2.2', '10.244.2.3', '192.0.2.12'],
    nodeAddresses: ['192.0.2.11', '192.0.2.111'],
    loopback: '127.0.0.1',
    podCIDR: '10.244.1.0/24',
    clusterCIDR: '10.244.0.0/16',
    serviceCIDR: '10.96.0.0/16',
    unallocated: '10.96.200.200',
    outside: ['198.51.100.7', '198.51.100.200'],
    ranges: ['198.51.100.0/25', '198.51.100.0/24', '192.0.2.0/24', '10.244.1.2/32', '0.0.0.0/0', 'fd00::/8'],
  },
  IPv6: {
    clusterIPs: ['fd00:96::1', 'fd00:96::2', 'fd00:96::3', 'fd00:96::4'],
    externalIPs: ['2001:db8:113::1', '2001:db8:113::2', '2001:db8:113::3'],
    localEndpoints: ['fd00:244:1::2', 'fd00:244:1::3', 'fd00:244:1::4'],
    remoteEndpoints: ['fd00:244:2::2', 'fd00:244:2::3', '2001:db8:2::12'],
    nodeAddresses: ['2001:db8:2::11', '2001:db8:2::111'],
    loopback: '::1',
    podCIDR: 'fd00:244:1::/64',
    clusterCIDR: 'fd00:244::/32',
    serviceCIDR: 'fd00:96::/112',
    unallocated: 'fd00:96::ff:1',
    outside: ['2001:db8:51::7', '2001:db8:51::8000:1'],
    ranges: [
      '2001:db8:51::/65',
      '2001:db8:51::/64',
      '2001:db8:2::/64',
      'fd00:244:1::2/128',
      '::/0',
      '10.0.0.0/8',
    ],
  },
};

const SERVICE_PORTS = [80, 81, 53];
const TARGET_PORTS = [8080, 8081];
const NODE_PORTS = [30080, 30081, 30053];
const PROTOCOLS: readonly Protocol[] = ['TCP', 'UDP', 'SCTP'];
const PORT_NAMES = ['http', 'dns', ''];
const POLICIES = ['Cluster', 'Local'] as const;

export interface RandomCluster {
  readonly services: readonly ServiceValue[];
  readonly slices: readonly SliceValue[];
}

/** One family's Services, at most one for each cluster IP, and slices for them; both in any order. */
export function clusters(family: IpFamily, pool: FamilyPool = POOLS[family]): fc.Arbitrary<RandomCluster> {
  return fc
    .uniqueArray(fc.nat(pool.clusterIPs.length - 1), { minLength: 1, maxLength: pool.clusterIPs.length })
    .chain((indices) =>
      fc.record({
        services: fc.tuple(...indices.map((index) => service(family, index, pool))),
        slices: fc
          .tuple(...indices.map((index) => fc.array(slice(family, index, pool), { maxLength: 3 })))
          .map((lists) => lists.flat().map((one, number) => ({ ...one, name: `${one.name}-${number}` }))),
      }),
    );
}

function service(family: IpFamily, index: number, pool: FamilyPool): fc.Arbitrary<ServiceValue> {
  const ports = fc.uniqueArray(
    fc.record({
      name: fc.constantFrom(...PORT_NAMES),
      protocol: fc.constantFrom(...PROTOCOLS),
      port: fc.constantFrom(...SERVICE_PORTS),
      nodePort: fc.constantFrom(0, ...NODE_PORTS),
    }),
    {
      minLength: 1,
      maxLength: 3,
      selector: ({ name, protocol, port }) => `${name} ${protocol} ${port}`,
      comparator: (a, b) => a === b || a.split(' ')[0] === b.split(' ')[0] || sameFrontEnd(a, b),
    },
  );
  return fc.record({
    kind: fc.constant('Service' as const),
    namespace: fc.constant('default'),
    name: fc.constant(`svc-${index}`),
    createdAt: fc.constantFrom(0, 1, 2),
    type: fc.constantFrom('ClusterIP' as const, 'NodePort' as const, 'LoadBalancer' as const),
    clusterIPs: fc.constant([pool.clusterIPs[index] ?? '']),
    externalIPs: fc.subarray([...pool.externalIPs], { maxLength: 2 }),
    loadBalancerIPs: fc.subarray([...pool.externalIPs], { maxLength: 2 }),
    sourceRanges: fc.subarray([...pool.ranges]),
    restrictedFamilies: fc.constantFrom<readonly IpFamily[]>([], [], [family], ['IPv4', 'IPv6']),
    externalTrafficPolicy: fc.constantFrom(...POLICIES),
    internalTrafficPolicy: fc.constantFrom(...POLICIES),
    affinitySeconds: fc.constantFrom(0, 0, 0, 60),
    healthCheckNodePort: fc.constant(0),
    ports,
  });
}

function sameFrontEnd(a: string, b: string): boolean {
  return a.split(' ').slice(1).join(' ') === b.split(' ').slice(1).join(' ');
}

function slice(family: IpFamily, index: number, pool: FamilyPool): fc.Arbitrary<SliceValue> {
  return fc.record({
    kind: fc.constant('EndpointSlice' as const),
    namespace: fc.constant('default'),
    name: fc.constant(`svc-${index}`),
    serviceName: fc.constant(`svc-${index}`),
    family: fc.constant(family),
    ports: fc.uniqueArray(
      fc.record({
        name: fc.constantFrom(...PORT_NAMES),
        protocol: fc.constantFrom(...PROTOCOLS),
        port: fc.constantFrom(...TARGET_PORTS),
      }),
      { maxLength: 4, selector: ({ name, protocol }) => `${name} ${protocol}` },
    ),
    endpoints: fc.array(endpoint(pool), { maxLength: 4 }),
    lastChangeAt: fc.constant(0),
  });
}

function endpoint(pool: FamilyPool): fc.Arbitrary<EndpointValue> {
  const place = fc.oneof(
    fc.constantFrom(...pool.localEndpoints).map((address) => ({ address, nodeName: NODE_NAME })),
    fc.constantFrom(...pool.remoteEndpoints).map((address) => ({ address, nodeName: 'node2' })),
    fc.constantFrom(...pool.localEndpoints).map((address) => ({ address, nodeName: '' })),
  );
  const conditions = fc.constantFrom(
    { ready: true, serving: true, terminating: false },
    { ready: true, serving: true, terminating: false },
    { ready: false, serving: false, terminating: false },
    { ready: false, serving: true, terminating: true },
    { ready: false, serving: false, terminating: true },
  );
  return fc
    .tuple(place, conditions, hints('z1', 'z2'), hints(NODE_NAME, 'node2'))
    .map(([where, how, zoneHints, nodeHints]) => ({ ...where, ...how, zoneHints, nodeHints }));
}

function hints(...names: readonly string[]): fc.Arbitrary<readonly string[]> {
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.subarray([...names], { minLength: 1 }) },
  );
}

export interface RandomNode {
  readonly context: PlanContext;
  readonly node: NodePlan;
  readonly facts: NodeFacts;
}

/** This node: its detector, node-port addresses and flags, and what planning needs to know of it. */
export function nodes(family: IpFamily): fc.Arbitrary<RandomNode> {
  const pool = POOLS[family];
  const detector = fc.constantFrom<LocalDetector>(
    { kind: 'cidr', cidr: pool.clusterCIDR },
    { kind: 'cidr', cidr: pool.podCIDR },
    { kind: 'none' },
    { kind: 'interface', name: 'cni0' },
    { kind: 'interface-prefix', prefix: 'veth' },
  );
  const nodePortAddresses = fc.constantFrom<NodePlan['nodePortAddresses']>(
    'any',
    pool.nodeAddresses.slice(0, 1),
    pool.nodeAddresses,
  );
  return fc
    .record({
      detector,
      nodePortAddresses,
      masqueradeAll: fc.constantFrom(false, false, true),
      masqueradeBit: fc.constantFrom(14, 0, 31),
      zone: fc.constantFrom('', 'z1'),
    })
    .map(({ zone, ...plan }) => ({
      context: {
        family,
        nodeName: NODE_NAME,
        zone,
        detector: plan.detector,
        masqueradeAll: plan.masqueradeAll,
        nodeAddresses: pool.nodeAddresses.slice(0, 1),
        podCIDRs: [pool.podCIDR],
      },
      node: { ...plan, family, serviceCIDRs: [pool.serviceCIDR] },
      facts: { localAddresses: new Set([...pool.nodeAddresses, pool.loopback]) },
    }));
}

/** A packet that may hit any front end, a closed port of one, or nothing. Its interface fits its source. */
export function packets(family: IpFamily): fc.Arbitrary<Packet> {
  const pool = POOLS[family];
  const sender = fc.oneof(
    fc.constantFrom(...pool.localEndpoints).map((source) => ({ source, inInterface: 'veth12' })),
    fc.constantFrom(...pool.localEndpoints).map((source) => ({ source, inInterface: 'cni0' })),
    fc
      .constantFrom(...pool.outside, ...pool.remoteEndpoints)
      .map((source) => ({ source, inInterface: 'eth0' })),
    fc.constantFrom(...pool.nodeAddresses).map((source) => ({ source, inInterface: '' })),
  );
  const destination = fc.constantFrom(
    ...pool.clusterIPs,
    ...pool.externalIPs,
    ...pool.nodeAddresses,
    pool.unallocated,
    ...pool.outside,
  );
  return fc
    .record({
      sender,
      destination,
      protocol: fc.constantFrom(...PROTOCOLS),
      port: fc.constantFrom(...SERVICE_PORTS, ...NODE_PORTS, 9999),
    })
    .map(({ sender: from, ...rest }) => ({ ...from, ...rest }));
}

/** Plans by Service, claims settled. */
export function planCluster(
  cluster: RandomCluster,
  here: RandomNode,
): ReadonlyMap<ObjectKey, readonly ServicePlan[]> {
  const services = new Map(cluster.services.map((one) => [valueKey(one), one]));
  const planner = new Planner(
    {
      service: (key) => services.get(key),
      slicesOf: (key) => {
        const service = services.get(key);
        return service ? slicesOf(cluster, service) : [];
      },
    },
    here.context,
  );
  return planner.update(services.keys()).plans;
}

export interface Situation {
  readonly family: IpFamily;
  readonly cluster: RandomCluster;
  readonly here: RandomNode;
  readonly packets: readonly Packet[];
}

/** Both families, with what belongs together. Three packets of four go to a front end of the cluster. */
export function situations(): fc.Arbitrary<Situation> {
  const of = (family: IpFamily): fc.Arbitrary<Situation> =>
    fc
      .record({
        cluster: clusters(family),
        here: nodes(family),
        shots: fc.array(fc.tuple(packets(family), fc.nat(400)), { minLength: 5, maxLength: 40 }),
      })
      .map(({ cluster, here, shots }) => {
        const plans = [...planCluster(cluster, here).values()].flat();
        return {
          family,
          cluster,
          here,
          packets: shots.map(([packet, seed]) => aim(packet, seed, plans, here)),
        };
      });
  return fc.oneof(of('IPv4'), of('IPv6'));
}

function aim(packet: Packet, seed: number, plans: readonly ServicePlan[], here: RandomNode): Packet {
  const targets = plans.flatMap((plan) => plan.frontEnds.map((frontEnd) => ({ plan, frontEnd })));
  const target = seed % 4 === 0 ? undefined : targets[Math.floor(seed / 4) % targets.length];
  if (target === undefined) return packet;
  const [nodeAddress = ''] = here.facts.localAddresses;
  const { address, port } = target.frontEnd;
  return { ...packet, destination: address || nodeAddress, protocol: target.plan.protocol, port };
}

/** The slices of one Service. */
export function slicesOf(cluster: RandomCluster, service: ServiceValue): SliceValue[] {
  return cluster.slices.filter(
    (one) => one.namespace === service.namespace && one.serviceName === service.name,
  );
}
