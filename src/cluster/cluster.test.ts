import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { Cluster } from './cluster.ts';
import type {
  ClusterValue,
  EndpointValue,
  NodeValue,
  ObjectKey,
  ServiceCidrValue,
  ServiceValue,
  SliceValue,
  ValueKind,
} from './values.ts';
import { valueKey } from './values.ts';

function service(name: string, fields: Partial<ServiceValue> = {}): ServiceValue {
  return {
    kind: 'Service',
    namespace: 'default',
    name,
    createdAt: 0,
    type: 'ClusterIP',
    clusterIPs: ['10.96.0.1'],
    externalIPs: [],
    loadBalancerIPs: [],
    sourceRanges: [],
    restrictedFamilies: [],
    externalTrafficPolicy: 'Cluster',
    internalTrafficPolicy: 'Cluster',
    affinitySeconds: 0,
    healthCheckNodePort: 0,
    ports: [{ name: '', protocol: 'TCP', port: 80, nodePort: 0 }],
    ...fields,
  };
}

function endpoint(address: string): EndpointValue {
  return {
    address,
    nodeName: '',
    ready: true,
    serving: true,
    terminating: false,
    zoneHints: [],
    nodeHints: [],
  };
}

function slice(name: string, serviceName: string, fields: Partial<SliceValue> = {}): SliceValue {
  return {
    kind: 'EndpointSlice',
    namespace: 'default',
    name,
    serviceName,
    family: 'IPv4',
    ports: [{ name: '', protocol: 'TCP', port: 8080 }],
    endpoints: [endpoint('10.244.1.2')],
    lastChangeAt: 0,
    ...fields,
  };
}

function node(name: string, zone = ''): NodeValue {
  return {
    kind: 'Node',
    name,
    addresses: ['172.30.0.11'],
    allAddresses: ['172.30.0.11'],
    podCIDRs: [],
    zone,
    leaving: false,
  };
}

function serviceCidr(name: string, ...cidrs: string[]): ServiceCidrValue {
  return { kind: 'ServiceCIDR', name, cidrs };
}

function keyed(...values: ClusterValue[]): Map<ObjectKey, ClusterValue> {
  return new Map(values.map((value) => [valueKey(value), value]));
}

/** A cluster that waits for no list, holds these values, and whose changes have been taken. */
function clusterOf(...values: ClusterValue[]): Cluster {
  const cluster = new Cluster({ requiredKinds: [] });
  for (const value of values) cluster.upsert(value);
  cluster.takeChanges();
  return cluster;
}

function touched(cluster: Cluster): string[] {
  return [...cluster.takeChanges().services].sort();
}

describe('touched Services', () => {
  test.for<[string, (cluster: Cluster) => void, string[]]>([
    ['a new Service', (cluster) => cluster.upsert(service('new')), ['default/new']],
    ['a changed one', (cluster) => cluster.upsert(service('a', { affinitySeconds: 5 })), ['default/a']],
    ['an equal one', (cluster) => cluster.upsert(service('a')), []],
    ['a removed one', (cluster) => cluster.remove('Service', 'default/a'), ['default/a']],
    ['one that was not there', (cluster) => cluster.remove('Service', 'default/none'), []],
    ['a new slice', (cluster) => cluster.upsert(slice('a-2', 'a')), ['default/a']],
    [
      'a changed slice',
      (cluster) => cluster.upsert(slice('a-1', 'a', { endpoints: [endpoint('10.244.1.9')] })),
      ['default/a'],
    ],
    ['an equal slice', (cluster) => cluster.upsert(slice('a-1', 'a')), []],
    [
      'a slice with news of its cause only',
      (cluster) => cluster.upsert(slice('a-1', 'a', { lastChangeAt: 7 })),
      [],
    ],
    ['a removed slice', (cluster) => cluster.remove('EndpointSlice', 'default/a-1'), ['default/a']],
    [
      'a slice that moves to another Service',
      (cluster) => cluster.upsert(slice('a-1', 'b')),
      ['default/a', 'default/b'],
    ],
    ['a slice of what is no Service', (cluster) => cluster.upsert(slice('h-1', 'headless')), []],
    [
      'a list with one Service changed, one gone and one new',
      (cluster) =>
        cluster.replace('Service', keyed(service('a', { affinitySeconds: 5 }), service('c'), service('d'))),
      ['default/a', 'default/b', 'default/d'],
    ],
    [
      'the same list',
      (cluster) => cluster.replace('Service', keyed(service('c'), service('b'), service('a'))),
      [],
    ],
    ['an empty list of slices', (cluster) => cluster.replace('EndpointSlice', new Map()), ['default/a']],
    ['a Node', (cluster) => cluster.upsert(node('node1')), []],
  ])('%s', ([, change, expected]) => {
    const cluster = clusterOf(service('a'), service('b'), service('c'), slice('a-1', 'a'));
    let calls = 0;
    cluster.onChange(() => {
      calls += 1;
    });
    change(cluster);
    const changes = cluster.takeChanges();
    expect([...changes.services].sort()).toEqual(expected);
    expect(calls).toBe(expected.length > 0 || changes.node ? 1 : 0);
    expect(touched(cluster)).toEqual([]);
  });

  it('gathers until taken', () => {
    const cluster = clusterOf(service('a'), service('b'));
    cluster.upsert(slice('a-1', 'a'));
    cluster.remove('Service', 'default/b');
    expect(touched(cluster)).toEqual(['default/a', 'default/b']);
  });

  it('has slices that came before their Service', () => {
    const cluster = new Cluster();
    cluster.upsert(slice('a-1', 'a'));
    expect(touched(cluster)).toEqual([]);
    cluster.upsert(service('a'));
    expect(touched(cluster)).toEqual(['default/a']);
    expect(cluster.slicesOf('default/a').map((value) => value.name)).toEqual(['a-1']);
  });
});

describe('when changes were caused', () => {
  it('is the earliest since the last take, for each Service and in all', () => {
    const cluster = clusterOf(service('a'), service('b'), service('c'));
    cluster.upsert(slice('a-1', 'a', { lastChangeAt: 300 }));
    cluster.upsert(slice('a-2', 'a', { lastChangeAt: 200 }));
    cluster.upsert(slice('b-1', 'b', { lastChangeAt: 250 }));
    cluster.upsert(slice('c-1', 'c'));
    const changes = cluster.takeChanges();
    expect(changes.lastChangeAt).toBe(200);
    expect([...changes.lastChangeAtOf]).toEqual([
      ['default/a', 200],
      ['default/b', 250],
    ]);
    const later = cluster.takeChanges();
    expect([later.lastChangeAt, later.lastChangeAtOf.size]).toEqual([0, 0]);
  });

  it('is not said by slices that go, or leave for another Service', () => {
    const cluster = clusterOf(
      service('a'),
      service('b'),
      slice('a-1', 'a', { lastChangeAt: 100 }),
      slice('a-2', 'a', { lastChangeAt: 100 }),
    );
    cluster.remove('EndpointSlice', 'default/a-1');
    cluster.upsert(slice('a-2', 'b', { lastChangeAt: 500 }));
    expect([...cluster.takeChanges().lastChangeAtOf]).toEqual([['default/b', 500]]);
  });
});

describe('synced', () => {
  it('needs Services and EndpointSlices to have been listed, be they empty', () => {
    const cluster = new Cluster();
    let calls = 0;
    cluster.onChange(() => {
      calls += 1;
    });
    cluster.replace('Service', new Map());
    cluster.replace('Node', new Map());
    expect([cluster.synced, cluster.unlistedKinds()]).toEqual([false, ['EndpointSlice']]);
    cluster.replace('EndpointSlice', new Map());
    expect([cluster.synced, cluster.unlistedKinds(), calls]).toEqual([true, [], 2]);
  });

  it('needs whatever kinds it is told to', () => {
    const cluster = new Cluster({ requiredKinds: ['Node', 'Service'] });
    cluster.upsert(service('a'));
    cluster.replace('Service', new Map());
    expect(cluster.synced).toBe(false);
    cluster.replace('Node', keyed(node('node1')));
    expect(cluster.synced).toBe(true);
  });
});

describe('accessors', () => {
  it('give slices in the order of their names', () => {
    const cluster = clusterOf(
      service('a'),
      slice('a-9', 'a'),
      slice('a-10', 'a'),
      slice('b-1', 'b'),
      slice('a-1', 'a'),
    );
    expect(cluster.slicesOf('default/a').map((value) => value.name)).toEqual(['a-1', 'a-10', 'a-9']);
    expect(cluster.slicesOf('default/none')).toEqual([]);
  });

  it('give the networks of all ServiceCIDRs, and tell when they change', () => {
    const cluster = clusterOf(serviceCidr('b', '10.112.0.0/16', 'fd00::/112'));
    cluster.upsert(serviceCidr('a', '10.96.0.0/12', '10.97.0.0/16'));
    expect(cluster.serviceCIDRs()).toEqual(['10.112.0.0/16', '10.96.0.0/12', 'fd00::/112']);
    expect(cluster.takeChanges().serviceCIDRs).toBe(true);
    cluster.upsert(serviceCidr('c', '10.96.0.0/12'));
    expect(cluster.takeChanges().serviceCIDRs).toBe(false);
    cluster.remove('ServiceCIDR', 'a');
    expect(cluster.takeChanges().serviceCIDRs).toBe(false);
    cluster.remove('ServiceCIDR', 'b');
    expect(cluster.takeChanges().serviceCIDRs).toBe(true);
    expect(cluster.serviceCIDRs()).toEqual(['10.96.0.0/12']);
  });

  it('give the Node, and tell when it changes', () => {
    const cluster = clusterOf(node('node1', 'z1'));
    cluster.upsert(node('node1', 'z1'));
    expect(cluster.takeChanges().node).toBe(false);
    cluster.upsert(node('node1', 'z2'));
    expect(cluster.takeChanges().node).toBe(true);
    expect(cluster.node?.zone).toBe('z2');
    cluster.replace('Node', new Map());
    expect(cluster.takeChanges().node).toBe(true);
    expect(cluster.node).toBeUndefined();
  });

  it('keep what sources say of themselves', () => {
    const cluster = new Cluster();
    cluster.status('Service', { state: 'listing', lastHeardAt: 0 });
    cluster.status('Service', { state: 'retrying', lastHeardAt: 5, error: 'connection refused' });
    expect([...cluster.statuses()]).toEqual([
      ['Service', { state: 'retrying', lastHeardAt: 5, error: 'connection refused' }],
    ]);
  });
});

describe('problems', () => {
  const problem = (object: string, message: string) => ({ object, field: '', message });

  it('are kept for each object until cleared, and listed in order', () => {
    const cluster = clusterOf(service('b'), service('a'));
    cluster.problems('EndpointSlice', 'default/x', [problem('EndpointSlice default/x', '1')]);
    cluster.problems('Service', 'default/b', [
      problem('Service default/b', '2'),
      problem('Service default/b', '3'),
    ]);
    cluster.problems('Service', 'default/a', [problem('Service default/a', '4')]);
    expect(cluster.allProblems().map(({ message }) => message)).toEqual(['4', '2', '3', '1']);
    cluster.problems('Service', 'default/b', [problem('Service default/b', '5')]);
    cluster.problems('Service', 'default/a', []);
    expect(cluster.allProblems().map(({ message }) => message)).toEqual(['5', '1']);
    expect(cluster.problemsOf('Service', 'default/b')).toEqual([problem('Service default/b', '5')]);
    expect(cluster.problemsOf('Service', 'default/a')).toEqual([]);
  });

  it('go with their object, and with the list of their kind', () => {
    const cluster = new Cluster();
    cluster.problems('Service', 'default/a', [problem('Service default/a', '1')]);
    cluster.problems('EndpointSlice', 'default/a', [problem('EndpointSlice default/a', '2')]);
    cluster.remove('EndpointSlice', 'default/a');
    expect(cluster.allProblems().map(({ message }) => message)).toEqual(['1']);
    cluster.replace('Service', new Map());
    expect(cluster.allProblems()).toEqual([]);
  });
});

test('a listener that was ended hears nothing more', () => {
  const cluster = new Cluster();
  let calls = 0;
  const end = cluster.onChange(() => {
    calls += 1;
  });
  cluster.upsert(service('a'));
  end();
  cluster.upsert(service('b'));
  expect(calls).toBe(1);
});

const SERVICES = ['a', 'b', 'c'];
const SLICES = ['s-1', 's-2', 's-3', 's-4'];

const anyService = fc
  .tuple(fc.constantFrom(...SERVICES), fc.nat(1), fc.subarray(['172.30.0.11', '203.0.113.9']))
  .map(([name, affinitySeconds, externalIPs]) => service(name, { affinitySeconds, externalIPs }));
const anySlice = fc
  .tuple(fc.constantFrom(...SLICES), fc.constantFrom(...SERVICES, 'headless'), fc.nat(2), fc.nat(2))
  .map(([name, owner, host, lastChangeAt]) =>
    slice(name, owner, { endpoints: [endpoint(`10.244.1.${host}`)], lastChangeAt }),
  );
const anyNode = fc.constantFrom(node('node1'), node('node1', 'z1'), node('node0'));
const anyCidr = fc
  .tuple(fc.constantFrom('x', 'y'), fc.subarray(['10.96.0.0/12', '10.96.0.0/16', 'fd00::/112']))
  .map(([name, cidrs]) => serviceCidr(name, ...cidrs));

type Operation = (cluster: Cluster) => void;

const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc
    .oneof(anyService, anySlice, anyNode, anyCidr)
    .map((value) => (cluster: Cluster) => cluster.upsert(value)),
  fc
    .oneof(anyService, anySlice, anyNode, anyCidr)
    .map((value) => (cluster: Cluster) => cluster.remove(value.kind, valueKey(value))),
  listOf('Service', anyService),
  listOf('EndpointSlice', anySlice),
  listOf('ServiceCIDR', anyCidr),
);

function listOf(kind: ValueKind, value: fc.Arbitrary<ClusterValue>): fc.Arbitrary<Operation> {
  return fc.array(value, { maxLength: 4 }).map((values) => (cluster: Cluster) => {
    cluster.replace(kind, keyed(...values));
  });
}

/** Everything rules are made of, Service by Service; what is no Service makes none. */
function rulesOf(cluster: Cluster): Map<ObjectKey, unknown> {
  return new Map(
    [...cluster.serviceKeys()].sort().map((key) => [
      key,
      {
        service: cluster.service(key),
        slices: cluster.slicesOf(key).map((value) => ({ ...value, lastChangeAt: 0 })),
      },
    ]),
  );
}

function nodesOf(cluster: Cluster): unknown {
  return { own: cluster.node, claimed: cluster.claimedNodeAddresses() };
}

function stateOf(cluster: Cluster): unknown {
  const slices = [...SERVICES, 'headless'].map((name) => cluster.slicesOf(`default/${name}`));
  return { rules: rulesOf(cluster), slices, node: nodesOf(cluster), cidrs: cluster.serviceCIDRs() };
}

describe('any sequence of reports', () => {
  it('touches exactly what it changes', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 30 }), (operations) => {
        const cluster = new Cluster();
        for (const operate of operations) {
          const before = { rules: rulesOf(cluster), node: nodesOf(cluster), cidrs: cluster.serviceCIDRs() };
          operate(cluster);
          const after = rulesOf(cluster);
          const changed = [...new Set([...before.rules.keys(), ...after.keys()])].filter(
            (key) => JSON.stringify(before.rules.get(key)) !== JSON.stringify(after.get(key)),
          );
          const changes = cluster.takeChanges();
          expect([...changes.services].sort()).toEqual(changed.sort());
          expect(changes.node).toBe(JSON.stringify(before.node) !== JSON.stringify(nodesOf(cluster)));
          expect(changes.serviceCIDRs).toBe(
            JSON.stringify(before.cidrs) !== JSON.stringify(cluster.serviceCIDRs()),
          );
        }
      }),
    );
  });

  it('that ends in the same objects ends in the same state', () => {
    const objects = fc
      .tuple(
        fc.uniqueArray(anyService, { selector: valueKey }),
        fc.uniqueArray(anySlice, { selector: valueKey }),
        fc.uniqueArray(anyCidr, { selector: valueKey }),
        fc.option(anyNode, { nil: undefined }),
      )
      .map(([services, slices, cidrs, own]) => [...services, ...slices, ...cidrs, ...(own ? [own] : [])]);
    const orders = objects.chain((values) =>
      fc.tuple(
        fc.constant(values),
        fc.shuffledSubarray(values, { minLength: values.length, maxLength: values.length }),
        fc.array(operation, { maxLength: 20 }),
      ),
    );
    fc.assert(
      fc.property(orders, ([values, shuffled, noise]) => {
        const straight = new Cluster();
        for (const value of values) straight.upsert(value);

        const listed = new Cluster();
        for (const operate of noise) operate(listed);
        for (const kind of ['Node', 'ServiceCIDR', 'EndpointSlice', 'Service'] as const)
          listed.replace(kind, keyed(...values.filter((value) => value.kind === kind)));

        const piecemeal = new Cluster();
        for (const operate of noise) operate(piecemeal);
        for (const value of shuffled) piecemeal.upsert(value);
        const wanted = keyed(...values);
        for (const name of SERVICES)
          if (!wanted.has(`default/${name}`)) piecemeal.remove('Service', `default/${name}`);
        for (const name of SLICES) {
          if (!wanted.has(`default/${name}`)) piecemeal.remove('EndpointSlice', `default/${name}`);
        }
        for (const name of ['x', 'y']) if (!wanted.has(name)) piecemeal.remove('ServiceCIDR', name);
        for (const name of ['node0', 'node1']) if (!wanted.has(name)) piecemeal.remove('Node', name);

        expect(stateOf(listed)).toEqual(stateOf(straight));
        expect(stateOf(piecemeal)).toEqual(stateOf(straight));
      }),
    );
  });
});

describe('addresses of Nodes that Services ask for', () => {
  const other = (name: string, ...addresses: string[]): NodeValue => ({
    ...node(name),
    allAddresses: addresses,
  });

  it('are known while a Node and a Service have them', () => {
    const cluster = new Cluster({ requiredKinds: [], nodeName: 'node1' });
    const taken = (): boolean => cluster.takeChanges().node;
    cluster.upsert(node('node1'));
    expect(taken()).toBe(true);

    cluster.upsert(other('node2', '172.30.0.12', '198.51.100.2'));
    cluster.upsert(other('node3', '172.30.0.13'));
    expect(taken()).toBe(false);

    cluster.upsert(service('web', { externalIPs: ['172.30.0.13', '203.0.113.9'] }));
    cluster.upsert(service('api', { loadBalancerIPs: ['198.51.100.2'], externalIPs: ['198.51.100.2'] }));
    expect(cluster.claimedNodeAddresses()).toEqual(['172.30.0.13', '198.51.100.2']);
    expect(taken()).toBe(true);

    cluster.upsert(service('more', { externalIPs: ['172.30.0.13'] }));
    cluster.remove('Service', 'default/web');
    expect(cluster.claimedNodeAddresses()).toEqual(['172.30.0.13', '198.51.100.2']);
    expect(taken()).toBe(false);

    cluster.upsert(other('node2', '172.30.0.12'));
    expect(cluster.claimedNodeAddresses()).toEqual(['172.30.0.13']);
    expect(taken()).toBe(true);

    cluster.replace('Node', keyed(node('node1')));
    expect(cluster.claimedNodeAddresses()).toEqual([]);
    expect(taken()).toBe(true);
  });

  it('do not make another Node the own one', () => {
    const cluster = new Cluster({ requiredKinds: [], nodeName: 'node2' });
    cluster.replace('Node', keyed(node('node1', 'z1'), node('node2', 'z2')));
    expect(cluster.node?.zone).toBe('z2');
    cluster.remove('Node', 'node2');
    expect(cluster.node).toBeUndefined();
  });
});
