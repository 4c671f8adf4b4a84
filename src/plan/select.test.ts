import { describe, expect, it, test } from 'vitest';
import { buildEndpoint, buildSlice } from '../../test/support/build.ts';
import type { EndpointValue } from '../cluster/values.ts';
import { type Place, selectEndpoints } from './select.ts';

const HERE: Place = { nodeName: 'node1', zone: 'z1' };
const TERMINATING = { ready: false, serving: true, terminating: true };
const GONE = { ready: false, serving: false, terminating: true };
const UNREADY = { ready: false, serving: false };
const REMOTE = { nodeName: 'node2' };

/** `address cluster-reason local-reason`, `*` behind the reasons that put it into the pool. */
function choices(endpoints: readonly EndpointValue[], place = HERE): string[] {
  return selectEndpoints([buildSlice(endpoints)], 'http', 'TCP', place).map(
    ({ candidate, cluster, clusterReason, local, localReason }) =>
      `${candidate.endpoint.address} ${clusterReason}${cluster ? '*' : ''} ${localReason}${local ? '*' : ''}`,
  );
}

interface Case {
  readonly name: string;
  readonly endpoints: readonly EndpointValue[];
  readonly place?: Place;
  readonly want: readonly string[];
}

const CASES: readonly Case[] = [
  {
    name: 'ready endpoints are used, unready ones are not',
    endpoints: [buildEndpoint('10.0.0.1'), buildEndpoint('10.0.0.2', UNREADY)],
    want: ['10.0.0.1 ready* ready*', '10.0.0.2 not-ready not-ready'],
  },
  {
    name: 'ready decides, not serving: publishNotReadyAddresses (kubernetes/kubernetes#118952)',
    endpoints: [buildEndpoint('10.0.0.1', { ready: true, serving: false })],
    want: ['10.0.0.1 ready* ready*'],
  },
  {
    name: 'terminating endpoints wait while others are ready',
    endpoints: [buildEndpoint('10.0.0.1'), buildEndpoint('10.0.0.2', TERMINATING)],
    want: ['10.0.0.1 ready* ready*', '10.0.0.2 terminating-not-needed terminating-not-needed'],
  },
  {
    name: 'with none ready, those still serving are used, and those that stopped are not',
    endpoints: [buildEndpoint('10.0.0.1', TERMINATING), buildEndpoint('10.0.0.2', GONE)],
    want: ['10.0.0.1 terminating-but-serving* terminating-but-serving*', '10.0.0.2 terminating terminating'],
  },
  {
    name: 'the Local fall-back looks at this node alone (kubernetes/kubernetes#85643)',
    endpoints: [buildEndpoint('10.0.0.1', TERMINATING), buildEndpoint('10.0.0.2', REMOTE)],
    want: ['10.0.0.1 terminating-not-needed terminating-but-serving*', '10.0.0.2 ready* not-on-this-node'],
  },
  {
    name: 'an endpoint without nodeName is nobody’s local endpoint',
    endpoints: [buildEndpoint('10.0.0.1', { nodeName: '' })],
    want: ['10.0.0.1 ready* not-on-this-node'],
  },
  {
    name: 'zone hints choose this zone',
    endpoints: [
      buildEndpoint('10.0.0.1', { zoneHints: ['z1'] }),
      buildEndpoint('10.0.0.2', { zoneHints: ['z2'], ...REMOTE }),
    ],
    want: ['10.0.0.1 ready* ready*', '10.0.0.2 no-hint-for-zone not-on-this-node'],
  },
  {
    name: 'a hint missing anywhere disables them (KEP-2433)',
    endpoints: [
      buildEndpoint('10.0.0.1', { zoneHints: ['z1'] }),
      buildEndpoint('10.0.0.2', { zoneHints: ['z2'] }),
      buildEndpoint('10.0.0.3'),
    ],
    want: ['10.0.0.1 ready* ready*', '10.0.0.2 ready* ready*', '10.0.0.3 ready* ready*'],
  },
  {
    name: 'no hint for this zone: all are used',
    endpoints: [
      buildEndpoint('10.0.0.1', { zoneHints: ['z2'] }),
      buildEndpoint('10.0.0.2', { zoneHints: ['z3'] }),
    ],
    want: ['10.0.0.1 ready* ready*', '10.0.0.2 ready* ready*'],
  },
  {
    name: 'a node without a zone ignores zone hints',
    endpoints: [
      buildEndpoint('10.0.0.1', { zoneHints: [''] }),
      buildEndpoint('10.0.0.2', { zoneHints: ['z2'] }),
    ],
    place: { nodeName: 'node1', zone: '' },
    want: ['10.0.0.1 ready* ready*', '10.0.0.2 ready* ready*'],
  },
  {
    name: 'hints of endpoints that are not ready do not count',
    endpoints: [
      buildEndpoint('10.0.0.1', { zoneHints: ['z1'] }),
      buildEndpoint('10.0.0.2', { zoneHints: ['z2'] }),
      buildEndpoint('10.0.0.3', UNREADY),
    ],
    want: ['10.0.0.1 ready* ready*', '10.0.0.2 no-hint-for-zone ready*', '10.0.0.3 not-ready not-ready'],
  },
  {
    name: 'node hints come before zone hints',
    endpoints: [
      buildEndpoint('10.0.0.1', { zoneHints: ['z1'], nodeHints: ['node1'] }),
      buildEndpoint('10.0.0.2', { zoneHints: ['z1'], nodeHints: ['node2'] }),
    ],
    want: ['10.0.0.1 ready* ready*', '10.0.0.2 no-hint-for-node ready*'],
  },
  {
    name: 'node hints that do not name this node leave the choice to zone hints',
    endpoints: [
      buildEndpoint('10.0.0.1', { zoneHints: ['z1'], nodeHints: ['node3'] }),
      buildEndpoint('10.0.0.2', { zoneHints: ['z2'], nodeHints: ['node2'] }),
    ],
    want: ['10.0.0.1 ready* ready*', '10.0.0.2 no-hint-for-zone ready*'],
  },
];

test.for(CASES)('$name', ({ endpoints, place, want }) => {
  expect(choices(endpoints, place)).toEqual(want);
});

describe('endpoints named more than once', () => {
  it('uses one address on two ports twice (kubernetes/kubernetes#101935)', () => {
    const slices = [
      buildSlice([buildEndpoint('10.0.0.1')]),
      buildSlice([buildEndpoint('10.0.0.1')], {
        name: 'web-b',
        ports: [{ name: 'http', protocol: 'TCP', port: 8081 }],
      }),
    ];
    const found = selectEndpoints(slices, 'http', 'TCP', HERE);
    expect(found.map(({ candidate, cluster }) => [candidate.port, cluster])).toEqual([
      [8080, true],
      [8081, true],
    ]);
  });

  it.for([
    { name: 'a copy that is not terminating wins', first: TERMINATING, second: {} },
    { name: 'a ready copy wins over an unready one', first: UNREADY, second: {} },
  ])('$name, in any order of slices', ({ first, second }) => {
    const a = buildSlice([buildEndpoint('10.0.0.1', first)]);
    const b = buildSlice([buildEndpoint('10.0.0.1', second)], { name: 'web-b' });
    for (const slices of [
      [a, b],
      [b, a],
    ]) {
      expect(
        selectEndpoints(slices, 'http', 'TCP', HERE).map(
          (one) => `${one.candidate.sliceName} ${one.clusterReason}`,
        ),
      ).toEqual(['web-b ready', 'web-a duplicate']);
    }
  });
});

it('matches ports by name and protocol, not by number (cilium/cilium#15142)', () => {
  const slice = buildSlice([buildEndpoint('10.0.0.1')], {
    ports: [{ name: 'web', protocol: 'TCP', port: 8080 }],
  });
  expect(selectEndpoints([slice], '', 'TCP', HERE)).toEqual([]);
  expect(selectEndpoints([slice], 'web', 'UDP', HERE)).toEqual([]);
  expect(selectEndpoints([slice], 'web', 'TCP', HERE)).toHaveLength(1);
});
