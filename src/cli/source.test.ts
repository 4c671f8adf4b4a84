import pino from 'pino';
import { expect, test } from 'vitest';
import { buildNode } from '../../test/support/build.ts';
import { Cluster } from '../cluster/cluster.ts';
import type { ServiceCidrValue } from '../cluster/values.ts';
import { logProblems, type Tap, tapped } from './source.ts';

const NODE = buildNode({ name: 'n1' });
const CIDR: ServiceCidrValue = { kind: 'ServiceCIDR', name: 'c', cidrs: ['10.96.0.0/12'] };

test('a tap sees everything, and the sink gets it all the same', async () => {
  const seen: string[] = [];
  const tap: Tap = {
    value: (kind, key, value) => seen.push(`${kind} ${key} ${value === undefined ? 'gone' : 'there'}`),
    values: (kind, values) => seen.push(`${kind} all ${[...values.keys()].join()}`),
    problems: (problems) => seen.push(`problems ${problems.length}`),
    status: (kind, { state }) => seen.push(`${kind} ${state}`),
  };
  const cluster = new Cluster({ requiredKinds: ['Node'] });
  const source = tapped(
    {
      description: 'test',
      async run(sink) {
        sink.replace('Node', new Map([['n1', NODE]]));
        sink.upsert(CIDR);
        sink.remove('ServiceCIDR', 'other');
        sink.problems('Node', 'n1', [{ object: 'Node n1', field: 'spec', message: 'odd' }]);
        sink.status('Node', { state: 'watching', lastHeardAt: 1 });
      },
    },
    tap,
  );
  expect(source.description).toBe('test');
  await source.run(cluster, new AbortController().signal);
  expect(seen).toEqual([
    'Node all n1',
    'ServiceCIDR c there',
    'ServiceCIDR other gone',
    'problems 1',
    'Node watching',
  ]);
  expect(cluster.node).toBe(NODE);
  expect(cluster.serviceCIDRs()).toEqual(['10.96.0.0/12']);
  expect(cluster.problemsOf('Node', 'n1')).toEqual([{ object: 'Node n1', field: 'spec', message: 'odd' }]);
  expect(cluster.statuses().get('Node')).toEqual({ state: 'watching', lastHeardAt: 1 });
});

test('problems are logged with the object and the field', () => {
  const messages: unknown[] = [];
  const log = pino(
    { base: null },
    { write: (line) => messages.push((JSON.parse(line) as { msg: string }).msg) },
  );
  logProblems(log).problems([
    { object: 'Service default/web', field: 'spec.ports[0]', message: 'has no port' },
    { object: 'Service default/db', field: '', message: 'cannot be used' },
  ]);
  expect(messages).toEqual([
    'Service default/web: spec.ports[0]: has no port',
    'Service default/db: cannot be used',
  ]);
});
