import { expect, test } from 'vitest';
import { normalizeArguments } from './normalize.ts';

test.for<[string[], string[]]>([
  [
    ['run', '--proxy_mode=nf_tables', '--node_name', 'a_b'],
    ['run', '--proxy-mode=nf_tables', '--node-name', 'a_b'],
  ],
  [
    ['run', '-v=4', '-v4', '-v', '4', '--v=4'],
    ['run', '-v4', '-v4', '-v', '4', '--v=4'],
  ],
  [
    ['run', '-v=', '--mode=ipvs'],
    ['run', '--v=', '--mode=ipvs'],
  ],
  [
    ['run', '--', '--a_b', '-v=4'],
    ['run', '--', '--a_b', '-v=4'],
  ],
  [
    ['dump', '--manifests', '-'],
    ['dump', '--manifests', '-'],
  ],
  [
    ['help', 'run'],
    ['run', '--help'],
  ],
  [['help', 'nonsense'], ['nonsense']],
  [['help'], ['help']],
  [[], []],
])('%o', ([given, expected]) => {
  expect(normalizeArguments(given, ['run', 'dump'])).toEqual(expected);
});
