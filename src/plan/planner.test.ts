import { describe, expect, it } from 'vitest';
import { buildContext, buildEndpoint, buildService, buildSlice } from '../../test/support/build.ts';
import type { ServiceValue } from '../cluster/values.ts';
import { Planner } from './planner.ts';

/** A planner over a map of Services that all share one endpoint. */
function setUp(services: readonly ServiceValue[]) {
  const byKey = new Map(services.map((one) => [`${one.namespace}/${one.name}`, one]));
  const planner = new Planner(
    {
      service: (key) => byKey.get(key),
      slicesOf: (key) => [buildSlice([buildEndpoint('10.244.1.2')], { serviceName: key })],
    },
    buildContext(),
  );
  return { byKey, planner };
}

function addresses(planner: Planner): Record<string, string[]> {
  return Object.fromEntries(
    [...planner.all()].map(([key, plans]) => [
      key,
      plans.flatMap((plan) => plan.frontEnds.map(({ address }) => address)),
    ]),
  );
}

const OLD = buildService({
  name: 'old',
  clusterIPs: ['10.96.0.1'],
  externalIPs: ['203.0.113.1'],
  createdAt: 1,
});
const NEW = buildService({
  name: 'new',
  clusterIPs: ['10.96.0.2'],
  externalIPs: ['203.0.113.1'],
  createdAt: 2,
});
const THIEF = buildService({ name: 'thief', clusterIPs: ['10.96.0.3'], externalIPs: ['10.96.0.2'] });

describe('two Services that claim one address', () => {
  it.for([{ order: ['default/old', 'default/new'] }, { order: ['default/new', 'default/old'] }])(
    'leave it to the older one, in order $order',
    ({ order }) => {
      const { planner } = setUp([OLD, NEW]);
      for (const key of order) planner.update([key]);
      expect(addresses(planner)).toEqual({
        'default/old': ['10.96.0.1', '203.0.113.1'],
        'default/new': ['10.96.0.2'],
      });
    },
  );

  it('hand it over when the winner goes, planning the other again', () => {
    const { planner, byKey } = setUp([OLD, NEW]);
    expect(planner.update(['default/old', 'default/new']).lost).toMatchObject([
      { plan: 'default/new:http', frontEnd: { address: '203.0.113.1' }, winner: 'default/old:http' },
    ]);
    byKey.delete('default/old');
    const { plans, lost } = planner.update(['default/old']);
    expect(lost).toEqual([]);
    expect([...plans.keys()].sort()).toEqual(['default/new', 'default/old']);
    expect(plans.get('default/old')).toEqual([]);
    expect(plans.get('default/new')?.[0]?.frontEnds.map(({ address }) => address)).toEqual([
      '10.96.0.2',
      '203.0.113.1',
    ]);
  });

  it('never take another Service’s cluster IP, however old', () => {
    const { planner } = setUp([THIEF, NEW]);
    planner.update(['default/thief', 'default/new']);
    expect(addresses(planner)).toEqual({
      'default/thief': ['10.96.0.3'],
      'default/new': ['10.96.0.2', '203.0.113.1'],
    });
  });
});

it('plans only what changed', () => {
  const { planner } = setUp([OLD, THIEF]);
  planner.update(['default/old', 'default/thief']);
  expect([...planner.update(['default/old']).plans.keys()]).toEqual(['default/old']);
});
