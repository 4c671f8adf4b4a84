import { expect, test } from 'vitest';
import { apiResources } from './resources.ts';

test.each([
  ['node1', 'metadata.name=node1'],
  [undefined, undefined],
])('Node %s: field selector %s', (nodeName, fieldSelector) => {
  expect(apiResources(nodeName).find(({ kind }) => kind === 'Node')?.fieldSelector).toBe(fieldSelector);
});
