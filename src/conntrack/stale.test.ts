import { describe, expect, it } from 'vitest';
import {
  buildContext,
  buildEndpoint,
  buildNodePlan,
  buildPort,
  buildService,
  buildSlice,
} from '../../test/support/build.ts';
import type { EndpointValue, ServiceValue, SliceValue } from '../cluster/values.ts';
import type { NodePlan, ServicePlan } from '../plan/plan.ts';
import { planService } from '../plan/service-plan.ts';
import type { UdpFlow } from './flow.ts';
import { type UdpFrontEnds, udpFrontEnds, udpSockets } from './front-ends.ts';
import { isStale, isStaleSelection, StaleFlows } from './stale.ts';

const OWN_ADDRESSES = ['127.0.0.1', '172.30.0.11', '192.0.2.11', '::1', 'fd00:30::11'];

/** `default/web`: UDP 53 on 10.96.0.10, on 203.0.113.7 and on node port 30053; its pods listen on 8053. */
function dns(fields: Partial<ServiceValue> = {}): ServiceValue {
  return buildService({
    type: 'LoadBalancer',
    loadBalancerIPs: ['203.0.113.7'],
    ports: [buildPort({ name: 'dns', protocol: 'UDP', port: 53, nodePort: 30053 })],
    ...fields,
  });
}

function slice(...endpoints: EndpointValue[]): SliceValue {
  return buildSlice(endpoints, { ports: [{ name: 'dns', protocol: 'UDP', port: 8053 }] });
}

function plansOf(service: ServiceValue, slices: readonly SliceValue[]): ServicePlan[] {
  return planService(service, slices, buildContext());
}

interface Situation {
  readonly services?: readonly ServiceValue[];
  readonly slices?: readonly SliceValue[];
  readonly node?: Partial<NodePlan>;
  readonly before?: readonly ServiceValue[];
}

function frontEnds({ services = [dns()], slices = [], node = {}, before = [] }: Situation): UdpFrontEnds {
  const plan = buildNodePlan(node);
  return udpFrontEnds({
    now: { node: plan, plans: services.flatMap((service) => plansOf(service, slices)) },
    former: before.flatMap((service) => [
      ...udpSockets({ node: plan, plans: plansOf(service, slices) }, OWN_ADDRESSES),
    ]),
    nodeAddresses: OWN_ADDRESSES,
    slicesOf: (key) => slices.filter(({ namespace, serviceName }) => `${namespace}/${serviceName}` === key),
  });
}

function flow(destination: string, answeredBy = destination): UdpFlow {
  return { destination, answeredBy };
}

const READY = buildEndpoint('10.244.1.2');
const OTHER = buildEndpoint('10.244.2.2', { nodeName: 'node2' });

describe('a flow to a front end of ours', () => {
  const HOW: Record<string, Partial<EndpointValue>> = {
    ready: {},
    'terminating but serving': { ready: false, terminating: true },
    'published though not ready': { serving: false },
    'on another node': { nodeName: 'node2' },
    'hinted to another zone': { zoneHints: ['z2'] },
  };

  it.for(Object.entries(HOW))('is good with an endpoint that is %s', ([, how]) => {
    const ends = frontEnds({ slices: [slice(buildEndpoint('10.244.1.3', how), READY)] });
    for (const front of ['10.96.0.10 53', '203.0.113.7 53', '172.30.0.11 30053']) {
      expect(isStale(flow(front, '10.244.1.3 8053'), ends)).toBe(false);
    }
  });

  it.for([
    { state: { ready: false, serving: false }, what: 'not ready' },
    { state: { ready: false, serving: false, terminating: true }, what: 'terminating and not serving' },
  ])('is stale with one that is $what', ({ state }) => {
    const ends = frontEnds({ slices: [slice(buildEndpoint('10.244.1.3', state), READY)] });
    for (const front of ['10.96.0.10 53', '203.0.113.7 53', '172.30.0.11 30053']) {
      expect(isStale(flow(front, '10.244.1.3 8053'), ends)).toBe(true);
    }
  });

  it.for([
    { what: 'is gone', answeredBy: '10.244.1.9 8053' },
    { what: 'has moved to another port', answeredBy: '10.244.1.2 8054' },
    { what: 'is nobody, for no rule translated it', answeredBy: '10.96.0.10 53' },
  ])('is stale when the answerer $what', ({ answeredBy }) => {
    const ends = frontEnds({ slices: [slice(READY)] });
    expect(isStale(flow('10.96.0.10 53', answeredBy), ends)).toBe(true);
  });

  it('is stale without endpoints, translated or not', () => {
    const ends = frontEnds({});
    expect(isStale(flow('10.96.0.10 53', '10.244.1.2 8053'), ends)).toBe(true);
    expect(isStale(flow('10.96.0.10 53'), ends)).toBe(true);
  });

  it('goes by all slices of its own port', () => {
    const named = (name: string, protocol: 'UDP' | 'TCP', address: string): SliceValue =>
      buildSlice([buildEndpoint(address)], {
        name: `web-${address}`,
        ports: [{ name, protocol, port: 8053 }],
      });
    const ends = frontEnds({
      slices: [
        slice(READY),
        named('dns', 'UDP', '10.244.1.3'),
        named('dns', 'TCP', '10.244.1.4'),
        named('metrics', 'UDP', '10.244.1.5'),
        buildSlice([buildEndpoint('fd00:244:1::6')], {
          family: 'IPv6',
          ports: [{ name: 'dns', protocol: 'UDP', port: 8053 }],
        }),
      ],
    });
    const stale = ['10.244.1.2', '10.244.1.3', '10.244.1.4', '10.244.1.5', 'fd00:244:1::6'].filter(
      (address) => isStale(flow('10.96.0.10 53', `${address} 8053`), ends),
    );
    expect(stale).toEqual(['10.244.1.4', '10.244.1.5', 'fd00:244:1::6']);
  });
});

describe('a flow of others', () => {
  const ends = frontEnds({ slices: [slice(READY)] });
  it.for([
    { what: 'to another port of a cluster IP', to: '10.96.0.10 54', by: '10.244.1.9 8053' },
    { what: 'to the same port of another address', to: '10.96.0.11 53', by: '10.244.1.9 8053' },
    { what: 'to an endpoint that is gone, directly', to: '10.244.1.9 8053', by: '10.244.1.9 8053' },
    { what: 'to a node port’s number on another machine', to: '172.30.0.12 30053', by: '172.30.0.12 30053' },
    { what: 'to this node, on a port that is no node port', to: '172.30.0.11 53', by: '172.30.0.11 53' },
    { what: 'to another address of this node', to: '192.0.2.11 30053', by: '192.0.2.11 30053' },
    { what: 'in IPv6', to: 'fd00:30::11 30053', by: 'fd00:30::11 30053' },
  ])('$what is never stale', ({ to, by }) => {
    expect(isStale(flow(to, by), ends)).toBe(false);
  });

  it('to a port that is TCP’s is never stale', () => {
    const tcp = dns({ ports: [buildPort({ name: 'dns', protocol: 'TCP', port: 53, nodePort: 30053 })] });
    const none = frontEnds({ services: [tcp], slices: [slice(READY)] });
    expect(isStale(flow('10.96.0.10 53', '10.244.1.9 8053'), none)).toBe(false);
  });
});

describe('node ports', () => {
  it('answer on every address of the node where none is chosen', () => {
    const ends = frontEnds({ slices: [slice(READY)], node: { nodePortAddresses: 'any' } });
    expect([...ends.keys()].sort()).toEqual([
      '10.96.0.10 53',
      '127.0.0.1 30053',
      '172.30.0.11 30053',
      '192.0.2.11 30053',
      '203.0.113.7 53',
    ]);
  });

  it('answer on those that the mode names', () => {
    const node = { nodePortAddresses: 'any', localAddresses: ['172.30.0.11'] } as const;
    const ends = frontEnds({ slices: [slice(READY)], node });
    expect([...ends.keys()].filter((key) => key.endsWith(' 30053'))).toEqual(['172.30.0.11 30053']);
  });

  it('on loopback leave alone what is not translated', () => {
    const ends = frontEnds({ slices: [slice(READY)], node: { nodePortAddresses: 'any' } });
    expect(isStale(flow('127.0.0.1 30053'), ends)).toBe(false);
    expect(isStale(flow('127.0.0.1 30053', '10.244.1.9 8053'), ends)).toBe(true);
    expect(isStale(flow('127.0.0.1 30053', '10.244.1.2 8053'), ends)).toBe(false);
  });

  it('come after an address that another Service has', () => {
    const external = dns({
      name: 'external',
      type: 'ClusterIP',
      clusterIPs: ['10.96.0.11'],
      loadBalancerIPs: [],
      externalIPs: ['172.30.0.11'],
      ports: [buildPort({ name: 'dns', protocol: 'UDP', port: 30053 })],
    });
    const theirs = { ...slice(OTHER), name: 'external-a', serviceName: 'external' };
    const ends = frontEnds({ services: [external, dns()], slices: [slice(READY), theirs] });
    expect([...(ends.get('172.30.0.11 30053')?.endpoints ?? [])]).toEqual(['10.244.2.2 8053']);
  });
});

describe('a front end that is no more', () => {
  const ends = frontEnds({ services: [], before: [dns()], slices: [slice(READY)] });
  it('has no good flow that was translated', () => {
    expect(isStale(flow('10.96.0.10 53', '10.244.1.2 8053'), ends)).toBe(true);
    expect(isStale(flow('172.30.0.11 30053', '10.244.1.2 8053'), ends)).toBe(true);
  });
  it('has nothing to do with flows that were not', () => {
    expect(isStale(flow('10.96.0.10 53'), ends)).toBe(false);
  });
  it('does not count where another Service has taken its place', () => {
    const now = frontEnds({ services: [dns()], before: [dns()], slices: [slice(READY)] });
    expect(isStale(flow('10.96.0.10 53', '10.244.1.2 8053'), now)).toBe(false);
    expect(isStale(flow('10.96.0.10 53'), now)).toBe(true);
  });
});

describe('StaleFlows', () => {
  it('takes all clients of one endpoint at once', () => {
    const stale = new StaleFlows(frontEnds({ slices: [slice(READY)] }));
    for (let client = 0; client < 1000; client++) stale.add(flow('10.96.0.10 53', '10.244.1.9 8053'));
    stale.add(flow('10.96.0.10 53', '10.244.1.2 8053'));
    stale.add(flow('10.96.0.10 53', '10.244.1.8 8053'));
    stale.add(flow('172.30.0.11 30053', '10.244.1.9 8053'));
    expect(stale.selections()).toEqual([
      { destination: '10.96.0.10 53', answeredBy: '10.244.1.9 8053' },
      { destination: '10.96.0.10 53', answeredBy: '10.244.1.8 8053' },
      { destination: '172.30.0.11 30053', answeredBy: '10.244.1.9 8053' },
    ]);
  });

  it('takes all flows of a front end without endpoints at once', () => {
    const stale = new StaleFlows(frontEnds({}));
    for (const address of ['10.244.1.2', '10.244.1.3']) stale.add(flow('10.96.0.10 53', `${address} 8053`));
    stale.add(flow('10.96.0.10 53'));
    expect(stale.selections()).toEqual([{ destination: '10.96.0.10 53' }]);
  });

  it('takes what was translated alone where a front end is no more', () => {
    const stale = new StaleFlows(frontEnds({ services: [], before: [dns()] }));
    stale.add(flow('10.96.0.10 53', '10.244.1.2 8053'));
    stale.add(flow('10.96.0.10 53'));
    expect(stale.selections()).toEqual([{ destination: '10.96.0.10 53', answeredBy: '10.244.1.2 8053' }]);
  });
});

it('sees when a selection is stale no longer', () => {
  const one = { destination: '10.96.0.10 53', answeredBy: '10.244.1.2 8053' };
  const all = { destination: '10.96.0.10 53' };
  const without = frontEnds({});
  const withIt = frontEnds({ slices: [slice(READY)] });
  expect([one, all].map((selection) => isStaleSelection(selection, without))).toEqual([true, true]);
  expect([one, all].map((selection) => isStaleSelection(selection, withIt))).toEqual([false, false]);
});
