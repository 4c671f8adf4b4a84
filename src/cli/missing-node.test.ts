import { expect, it } from 'vitest';
import { buildNode } from '../../test/support/build.ts';
import type { NodeValue } from '../cluster/values.ts';
import type { SyncReport } from '../reconcile/observer.ts';
import { missingNodeObserver } from './missing-node.ts';

const NODE = buildNode({ name: 'n1' });
const REPORT: SyncReport = {
  family: 'IPv4',
  full: true,
  services: 0,
  steps: 0,
  planSeconds: 0,
  diffSeconds: 0,
  applySeconds: 0,
  waitedSeconds: 0,
  plans: new Map(),
  changedAt: [],
};

it('names the Node that is not there, once each time it goes', () => {
  const said: string[] = [];
  let node: NodeValue | undefined;
  const observer = missingNodeObserver(
    { warn: (_: unknown, text?: string) => said.push(text ?? '') },
    'n1',
    () => node,
  );
  observer.synced?.(REPORT);
  observer.synced?.(REPORT);
  expect(said).toHaveLength(1);
  expect(said[0]).toContain('There is no Node n1');
  node = NODE;
  observer.synced?.(REPORT);
  expect(said).toHaveLength(1);
  node = undefined;
  observer.synced?.(REPORT);
  expect(said).toHaveLength(2);
});
