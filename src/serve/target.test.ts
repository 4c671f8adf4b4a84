import { expect, test } from 'vitest';
import { cleanPath, locationOf, readTarget } from './target.ts';

test.for<[string, string, string, string]>([
  ['/', '/', '/', ''],
  ['/healthz', '/healthz', '/healthz', ''],
  ['/healthz?', '/healthz', '/healthz', ''],
  ['/a?b=/c?d', '/a', '/a', 'b=/c?d'],
  ['/%68ealthz?%zz', '/%68ealthz', '/healthz', '%zz'],
  ['/a%2Fb%2fc', '/a%2Fb%2fc', '/a/b/c', ''],
  ['/%ff%00', '/%ff%00', '/\u00ff\u0000', ''],
  ['/a#b', '/a#b', '/a#b', ''],
  ['//a//b', '//a//b', '//a//b', ''],
  ['http://node/healthz?a', '/healthz', '/healthz', 'a'],
  ['HTTPS://u@[::1]:10256/a', '/a', '/a', ''],
  ['http://node', '', '', ''],
  ['http://node?a', '', '', 'a'],
  ['/http://node/a', '/http://node/a', '/http://node/a', ''],
])('reads %s', ([text, rawPath, path, query]) => {
  expect(readTarget(text)).toEqual({ rawPath, path, query });
});

test.for([
  '',
  '*',
  'healthz',
  '?a',
  'node:80',
  'http://node#a',
  '/%',
  '/%4',
  '/%zz',
  '/a%2',
  'http://node/%g0',
])('does not read %s', (text) => {
  expect(readTarget(text)).toBeUndefined();
});

test.for<[string, string]>([
  ['', '/'],
  ['/', '/'],
  ['//', '/'],
  ['/healthz', '/healthz'],
  ['/healthz/', '/healthz/'],
  ['//healthz', '/healthz'],
  ['/healthz//', '/healthz/'],
  ['/./healthz', '/healthz'],
  ['/healthz/.', '/healthz'],
  ['/a/../healthz', '/healthz'],
  ['/../../healthz', '/healthz'],
  ['/a/..', '/'],
  ['/a/b/../', '/a/'],
  ['/...', '/...'],
  ['/a%2F..%2Fb', '/a%2F..%2Fb'],
])('cleans %s to %s', ([path, clean]) => {
  expect(cleanPath(path)).toBe(clean);
});

test.for<[string, string, string]>([
  ['/healthz', '', '/healthz'],
  ['/healthz', 'a=%2f&b', '/healthz?a=%2f&b'],
  ['/%68ealthz', '', '/%68ealthz'],
  ['/\\node', '', '/%5Cnode'],
  ['/"<>`{|}^', '', '/%22%3C%3E%60%7B%7C%7D%5E'],
])('of %s?%s', ([path, query, location]) => {
  expect(locationOf(path, query)).toBe(location);
});
