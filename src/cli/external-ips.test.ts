import { expect, test } from 'vitest';
import { buildService } from '../../test/support/build.ts';
import type { ServiceValue } from '../cluster/values.ts';
import { effectiveGates } from '../config/feature-gates.ts';
import type { Source, SourceSink } from '../source/source.ts';
import { gatedExternalIPs } from './external-ips.ts';

const WEB: ServiceValue = { ...buildService({ name: 'web' }), externalIPs: ['192.0.2.1'] };
const PLAIN = buildService({ name: 'plain' });

/** Tells the sink everything a source can tell. */
const source: Source = {
  description: 'test',
  async run(sink) {
    sink.replace(
      'Service',
      new Map([
        ['default/web', WEB],
        ['default/plain', PLAIN],
      ]),
    );
    sink.replace('Node', new Map());
    sink.upsert(WEB);
    sink.remove('Service', 'default/web');
    sink.problems('Service', 'default/web', []);
    sink.status('Service', { state: 'watching', lastHeardAt: 1 });
  },
};

/** What a sink is told of a source. */
async function told(from: Source): Promise<unknown[]> {
  const calls: unknown[] = [];
  const note =
    (name: string) =>
    (...args: unknown[]) =>
      void calls.push([name, ...args]);
  const sink: SourceSink = {
    replace: note('replace'),
    upsert: note('upsert'),
    remove: note('remove'),
    problems: note('problems'),
    status: note('status'),
  };
  await from.run(sink, new AbortController().signal);
  return calls;
}

test('with AllowServiceExternalIPs off, no Service has external addresses, and all else is told as it is', async () => {
  const off = gatedExternalIPs(source, effectiveGates({ AllowServiceExternalIPs: false }));
  expect(off.description).toBe('test');
  expect(await told(off)).toEqual([
    [
      'replace',
      'Service',
      new Map([
        ['default/web', { ...WEB, externalIPs: [] }],
        ['default/plain', PLAIN],
      ]),
    ],
    ['replace', 'Node', new Map()],
    ['upsert', { ...WEB, externalIPs: [] }],
    ['remove', 'Service', 'default/web'],
    ['problems', 'Service', 'default/web', []],
    ['status', 'Service', { state: 'watching', lastHeardAt: 1 }],
  ]);
});

test('by default it is on, and nothing is between', () => {
  expect(gatedExternalIPs(source, effectiveGates({}))).toBe(source);
});
