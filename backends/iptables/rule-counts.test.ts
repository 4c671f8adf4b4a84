/** How many rules each table holds is counted change by change, and must stay what the tables say. */
import { expect, test } from 'vitest';
import type { ServicePlan } from '../../src/plan/plan.ts';
import { planService } from '../../src/plan/service-plan.ts';
import {
  buildContext,
  buildEndpoint,
  buildNodePlan,
  buildService,
  buildSlice,
} from '../../test/support/build.ts';
import { FakeTables } from '../../test/support/fake-tables.ts';
import { createIptablesBackend } from './backend.ts';

const node = buildNodePlan({ nodePortAddresses: 'any' });
const runner = { run: () => Promise.reject(new Error('nothing is run')) };

function plansOf(name: string, clusterIP: string, endpoints: readonly string[]): readonly ServicePlan[] {
  const service = buildService({
    name,
    clusterIPs: [clusterIP],
    externalIPs: [clusterIP.replace('10.96', '198.51')],
    type: 'NodePort',
  });
  const slice = buildSlice(
    endpoints.map((address) => buildEndpoint(address)),
    { serviceName: name },
  );
  return planService(service, [slice], buildContext());
}

test('the counts are those of the tables after each change', () => {
  const backend = createIptablesBackend({ family: 'IPv4', runner });
  const tables = new FakeTables();
  const apply = (full: boolean, services: Record<string, readonly ServicePlan[]>) => {
    const change = { node, full, services: new Map(Object.entries(services)) };
    // Chains that nothing jumps to any more do not count: they go with the next clean-up.
    for (const diffOf of [() => backend.diff(change), () => backend.collect()]) {
      const diff = diffOf();
      for (const { stdin } of diff.steps) tables.restore(stdin.filter((line) => !line.startsWith('#')));
      diff.commit();
    }
  };
  const counted = () => {
    const counts: Record<string, number> = {};
    let table = '';
    for (const line of tables.save().split('\n')) {
      if (line.startsWith('*')) table = line.slice(1);
      // The martian rule in KUBE-FIREWALL and the jumps from built-in chains are put there by us too.
      if (line.startsWith('-A ')) counts[table] = (counts[table] ?? 0) + 1;
    }
    return counts;
  };
  const told = () => Object.fromEntries([...(backend.ruleCounts?.() ?? [])].filter(([, rules]) => rules > 0));

  expect(told()).toEqual({});
  apply(true, {
    'default/a': plansOf('a', '10.96.0.1', ['10.244.1.1', '10.244.1.2']),
    'default/b': plansOf('b', '10.96.0.2', []),
  });
  const first = counted();
  expect(told()).toEqual(first);
  apply(false, { 'default/b': plansOf('b', '10.96.0.2', ['10.244.1.3']) });
  const second = counted();
  expect(told()).toEqual(second);
  expect(second).not.toEqual(first);
  apply(false, { 'default/a': [], 'default/c': plansOf('c', '10.96.0.3', ['10.244.1.4']) });
  expect(told()).toEqual(counted());
  apply(true, {});
  expect(told()).toEqual(counted());
});
