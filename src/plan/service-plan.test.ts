import { describe, expect, it, test } from 'vitest';
import {
  buildContext,
  buildEndpoint,
  buildPort,
  buildService,
  buildSlice,
} from '../../test/support/build.ts';
import type { ServiceValue, SliceValue } from '../cluster/values.ts';
import type { FrontEnd, Route } from './plan.ts';
import { type PlanContext, planService } from './service-plan.ts';

const LOCAL = buildEndpoint('10.244.1.2');
const REMOTE = buildEndpoint('10.244.2.2', { nodeName: 'node2' });

/** `kind address:port pod / node / other [ranges]`, a route as `cluster`, `cluster+masquerade`, `drop`. */
function frontEnds(
  service: Partial<ServiceValue>,
  slices: readonly SliceValue[],
  context: Partial<PlanContext> = {},
): string[] {
  return planService(buildService(service), slices, buildContext(context)).flatMap((plan) =>
    plan.frontEnds.map(describeFrontEnd),
  );
}

function describeFrontEnd({ kind, address, port, routes, allowedSources }: FrontEnd): string {
  const senders = [routes.pod, routes.node, routes.other].map(describeRoute).join(' / ');
  return `${kind} ${address}:${port} ${senders}${allowedSources ? ` [${allowedSources.join(' ')}]` : ''}`;
}

function describeRoute(route: Route): string {
  return route.action === 'balance' ? `${route.pool}${route.masquerade ? '+masquerade' : ''}` : route.action;
}

const NODE_PORT = { type: 'NodePort', ports: [buildPort({ nodePort: 30080 })] } as const;

interface Case {
  readonly name: string;
  readonly service?: Partial<ServiceValue>;
  readonly slices: readonly SliceValue[];
  readonly context?: Partial<PlanContext>;
  readonly want: readonly string[];
}

const CASES: readonly Case[] = [
  {
    name: 'cluster IP: everyone but this node’s pods is masqueraded',
    slices: [buildSlice([LOCAL])],
    want: ['clusterIP 10.96.0.10:80 cluster / cluster+masquerade / cluster+masquerade'],
  },
  {
    name: 'cluster IP without a way to tell pods: nobody is',
    slices: [buildSlice([LOCAL])],
    context: { detector: { kind: 'none' } },
    want: ['clusterIP 10.96.0.10:80 cluster / cluster / cluster'],
  },
  {
    name: 'masqueradeAll: pods are too',
    slices: [buildSlice([LOCAL])],
    context: { masqueradeAll: true },
    want: ['clusterIP 10.96.0.10:80 cluster+masquerade / cluster+masquerade / cluster+masquerade'],
  },
  {
    name: 'no endpoints: refused everywhere',
    service: { ...NODE_PORT, externalIPs: ['203.0.113.1'], externalTrafficPolicy: 'Local' },
    slices: [],
    want: [
      'clusterIP 10.96.0.10:80 reject / reject / reject',
      'externalIP 203.0.113.1:80 reject / reject / reject',
      'nodePort :30080 reject / reject / reject',
    ],
  },
  {
    name: 'external policy Cluster: everyone is masqueraded on external front ends',
    service: NODE_PORT,
    slices: [buildSlice([LOCAL])],
    want: [
      'clusterIP 10.96.0.10:80 cluster / cluster+masquerade / cluster+masquerade',
      'nodePort :30080 cluster+masquerade / cluster+masquerade / cluster+masquerade',
    ],
  },
  {
    name: 'external policy Local: outsiders keep to this node, pods and the node do not',
    service: { ...NODE_PORT, externalTrafficPolicy: 'Local' },
    slices: [buildSlice([LOCAL, REMOTE])],
    want: [
      'clusterIP 10.96.0.10:80 cluster / cluster+masquerade / cluster+masquerade',
      'nodePort :30080 cluster / cluster+masquerade / local',
    ],
  },
  {
    name: 'external policy Local without a local endpoint: only outsiders are dropped (kubernetes/kubernetes#131765)',
    service: { ...NODE_PORT, externalTrafficPolicy: 'Local' },
    slices: [buildSlice([REMOTE])],
    want: [
      'clusterIP 10.96.0.10:80 cluster / cluster+masquerade / cluster+masquerade',
      'nodePort :30080 cluster / cluster+masquerade / drop',
    ],
  },
  {
    name: 'internal policy Local: the cluster IP alone obeys it',
    service: { ...NODE_PORT, internalTrafficPolicy: 'Local' },
    slices: [buildSlice([REMOTE])],
    want: [
      'clusterIP 10.96.0.10:80 drop / drop / drop',
      'nodePort :30080 cluster+masquerade / cluster+masquerade / cluster+masquerade',
    ],
  },
  {
    name: 'source ranges without the node',
    service: {
      type: 'LoadBalancer',
      loadBalancerIPs: ['203.0.113.1'],
      sourceRanges: ['198.51.100.0/24', 'fd00::/8'],
      restrictedFamilies: ['IPv4', 'IPv6'],
    },
    slices: [buildSlice([LOCAL])],
    want: [
      'clusterIP 10.96.0.10:80 cluster / cluster+masquerade / cluster+masquerade',
      'loadBalancerIP 203.0.113.1:80 cluster+masquerade / cluster+masquerade / cluster+masquerade [198.51.100.0/24]',
    ],
  },
  {
    name: 'source ranges with the node allow each address itself (kubernetes/kubernetes#109826)',
    service: {
      loadBalancerIPs: ['203.0.113.2', '203.0.113.1'],
      sourceRanges: ['172.30.0.0/16'],
      restrictedFamilies: ['IPv4'],
    },
    slices: [buildSlice([LOCAL])],
    want: [
      'clusterIP 10.96.0.10:80 cluster / cluster+masquerade / cluster+masquerade',
      'loadBalancerIP 203.0.113.1:80 cluster+masquerade / cluster+masquerade / cluster+masquerade [172.30.0.0/16 203.0.113.1/32 203.0.113.2/32]',
      'loadBalancerIP 203.0.113.2:80 cluster+masquerade / cluster+masquerade / cluster+masquerade [172.30.0.0/16 203.0.113.1/32 203.0.113.2/32]',
    ],
  },
  {
    name: 'a /0 range is no restriction (kubernetes/kubernetes#132722)',
    service: {
      loadBalancerIPs: ['203.0.113.1'],
      sourceRanges: ['0.0.0.0/0', '198.51.100.0/24'],
      restrictedFamilies: ['IPv4'],
    },
    slices: [buildSlice([LOCAL])],
    want: [
      'clusterIP 10.96.0.10:80 cluster / cluster+masquerade / cluster+masquerade',
      'loadBalancerIP 203.0.113.1:80 cluster+masquerade / cluster+masquerade / cluster+masquerade',
    ],
  },
  {
    name: 'ranges of which none could be read admit nobody',
    service: { loadBalancerIPs: ['203.0.113.1'], restrictedFamilies: ['IPv4'] },
    slices: [buildSlice([LOCAL])],
    want: [
      'clusterIP 10.96.0.10:80 cluster / cluster+masquerade / cluster+masquerade',
      'loadBalancerIP 203.0.113.1:80 cluster+masquerade / cluster+masquerade / cluster+masquerade []',
    ],
  },
  {
    name: 'an address of the other family is left to it (kubernetes/kubernetes#73157)',
    service: { externalIPs: ['2001:db8::1', '203.0.113.1'], clusterIPs: ['fd00::1', '10.96.0.10'] },
    slices: [buildSlice([LOCAL])],
    want: [
      'clusterIP 10.96.0.10:80 cluster / cluster+masquerade / cluster+masquerade',
      'externalIP 203.0.113.1:80 cluster+masquerade / cluster+masquerade / cluster+masquerade',
    ],
  },
  {
    name: 'no cluster IP of this family: nothing of it',
    service: { clusterIPs: ['fd00::1'], externalIPs: ['203.0.113.1'] },
    slices: [buildSlice([LOCAL])],
    want: [],
  },
  {
    name: 'an address listed as external and load-balancer address is the latter, with its ranges',
    service: {
      externalIPs: ['203.0.113.1'],
      loadBalancerIPs: ['203.0.113.1'],
      sourceRanges: ['198.51.100.0/24'],
      restrictedFamilies: ['IPv4'],
    },
    slices: [buildSlice([LOCAL])],
    want: [
      'clusterIP 10.96.0.10:80 cluster / cluster+masquerade / cluster+masquerade',
      'loadBalancerIP 203.0.113.1:80 cluster+masquerade / cluster+masquerade / cluster+masquerade [198.51.100.0/24]',
    ],
  },
];

test.for(CASES)('$name', ({ service, slices, context, want }) => {
  expect(frontEnds(service ?? {}, slices, context)).toEqual(want);
});

describe('hairpin', () => {
  const plan = (nodeName: string, address: string) =>
    planService(buildService(), [buildSlice([buildEndpoint(address, { nodeName })])], buildContext())[0]
      ?.pools.cluster[0]?.maybeHere;

  it.for([
    { nodeName: 'node1', address: '10.244.1.2', want: true },
    { nodeName: '', address: '10.244.9.2', want: true },
    { nodeName: 'node2', address: '10.244.2.2', want: false },
    { nodeName: 'NODE1.example', address: '10.244.1.2', want: true },
  ])('an endpoint $address of node "$nodeName" may be here: $want', ({ nodeName, address, want }) => {
    expect(plan(nodeName, address)).toBe(want);
  });
});

it('gives the same plan for slices in any order', () => {
  const a = buildSlice([REMOTE, LOCAL]);
  const b = buildSlice([buildEndpoint('10.244.1.10'), LOCAL], { name: 'web-b' });
  const one = planService(buildService(), [a, b], buildContext());
  const other = planService(buildService(), [b, a], buildContext());
  expect(one).toEqual(other);
  expect(one[0]?.pools.cluster.map(({ address }) => address)).toEqual([
    '10.244.1.10',
    '10.244.1.2',
    '10.244.2.2',
  ]);
});
