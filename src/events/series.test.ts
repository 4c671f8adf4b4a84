import { expect, test } from 'vitest';
import type { EventSpec } from './event.ts';
import { Series } from './series.ts';

const MINUTE = 60_000;
const START = 1_000_000;

function about(name: string, note = ''): EventSpec {
  const regarding = { kind: 'Service', namespace: 'default', name } as const;
  return { regarding, type: 'Warning', reason: 'ServiceSetAside', action: 'SyncProxyRules', note };
}

const EVENT = { namespace: 'default', name: 'web.1' };

test('the same again counts, once a minute on the server, until it has been quiet for six', () => {
  const series = new Series();
  expect(series.next(about('web'), START)).toEqual({ action: 'create' });
  series.created(about('web'), EVENT, START);
  expect(series.next(about('web', 'in other words'), START + 1000)).toEqual({ action: 'skip' });
  expect(series.next(about('web'), START + MINUTE)).toEqual({ action: 'count', event: EVENT, count: 3 });
  expect(series.next(about('web'), START + MINUTE + 1)).toEqual({ action: 'skip' });
  expect(series.next(about('db'), START + MINUTE + 2)).toEqual({ action: 'create' });
  // Five minutes and 59 seconds after the last one, then six minutes.
  const late = START + MINUTE + 1 + 6 * MINUTE - 1;
  expect(series.next(about('web'), late)).toEqual({ action: 'count', event: EVENT, count: 5 });
  expect(series.next(about('web'), late + 6 * MINUTE)).toEqual({ action: 'create' });
});

test('one that could not be created is no series', () => {
  const series = new Series();
  expect(series.next(about('web'), START)).toEqual({ action: 'create' });
  expect(series.next(about('web'), START + 1)).toEqual({ action: 'create' });
  series.created(about('web'), EVENT, START + 1);
  series.forget(about('web'));
  expect(series.next(about('web'), START + 2)).toEqual({ action: 'create' });
});

test('25 at once, then one every ten seconds', () => {
  const series = new Series();
  const actions = Array.from({ length: 27 }, (_, index) => series.next(about(`s${index}`), START).action);
  expect(actions).toEqual([...Array.from({ length: 25 }, () => 'create'), 'skip', 'skip']);
  expect(series.next(about('a'), START + 9999).action).toBe('skip');
  expect(series.next(about('a'), START + 10_000).action).toBe('create');
  expect(series.next(about('b'), START + 10_001).action).toBe('skip');
  expect(series.next(about('b'), START + 30_000).action).toBe('create');
  expect(series.next(about('c'), START + 30_000).action).toBe('create');
  expect(series.next(about('d'), START + 30_000).action).toBe('skip');
});
