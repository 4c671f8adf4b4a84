/** What a real kube-apiserver 1.36 sent, byte for byte, broken at every place. */
import { afterEach, describe, expect, test } from 'vitest';
import { projectService } from '../../src/cluster/project/service.ts';
import type { ServiceValue } from '../../src/cluster/values.ts';
import { ApiError } from '../../src/source/api/api-error.ts';
import { LineSplitter } from '../../src/source/api/line-splitter.ts';
import { list } from '../../src/source/api/list.ts';
import { ListSplitter } from '../../src/source/api/list-splitter.ts';
import { apiResources } from '../../src/source/api/resources.ts';
import { createTransport } from '../../src/source/api/transport.ts';
import { watch } from '../../src/source/api/watch.ts';
import { bodyOf, type Replay, recordedAnswer, startReplayServer } from '../support/apiserver/replay.ts';
import { FAST, type RunningSource, runSource } from '../support/apiserver/run-source.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const [SERVICES, SLICES, , CIDRS] = apiResources('node1');
const quiet = { info: () => {}, warn: () => {}, debug: () => {} };

/** A server that plays one answer, broken at the offset that is asked for with `?at=`. */
async function brokenAnywhere(answer: Buffer) {
  const server = await startReplayServer((target) => ({
    bytes: answer,
    splits: [Number(new URLSearchParams(target.split('?')[1]).get('at'))],
  }));
  const transport = createTransport({
    credentials: {
      server: server.url,
      origin: 'test',
      access: async () => ({ tls: {}, headers: {} }),
      forget() {},
    },
    userAgent: 'test',
    hooks: {},
    log: quiet,
  });
  cleanups.push(server.close, async () => transport.close());
  return transport;
}

/** Runs `check` for each number below `count`, a few at once. */
async function forEach(count: number, check: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await check(next++);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

const signal = new AbortController().signal;

async function watchedEvents(transport: Awaited<ReturnType<typeof brokenAnywhere>>, at: number) {
  if (!SERVICES) throw new Error('no services');
  const seen: string[] = [];
  const request = {
    transport,
    resource: SERVICES,
    query: { at: String(at) },
    signal,
    timing: FAST,
    random: Math.random,
    idleMs: () => FAST.idleMs,
  };
  const outcome = await watch(request, {
    opened() {},
    heard() {},
    event({ type, object, metadata }) {
      const value = projectService(object).value;
      seen.push(`${String(type)} ${value?.name ?? '-'} ${String(metadata.resourceVersion)}`);
    },
    unreadable: (error) => seen.push(`unreadable ${String(error)}`),
  }).then(
    () => 'ended',
    (error: unknown) => (error instanceof ApiError ? error.reason : String(error)),
  );
  return { seen, outcome };
}

describe('a recorded answer broken at any offset of the wire', () => {
  test('watch-services', async () => {
    const answer = recordedAnswer('watch-services');
    const transport = await brokenAnywhere(answer);
    await forEach(answer.length, async (at) => {
      expect(await watchedEvents(transport, at), `at ${at}`).toEqual({
        seen: [
          'DELETED web5 892',
          'DELETED web2 894',
          'BOOKMARK - 1007',
          'BOOKMARK - 1021',
          'BOOKMARK - 1021',
        ],
        outcome: 'ended',
      });
    });
  });

  test('watch-gone', async () => {
    const answer = recordedAnswer('watch-gone');
    const transport = await brokenAnywhere(answer);
    await forEach(answer.length, async (at) => {
      expect(await watchedEvents(transport, at), `at ${at}`).toEqual({ seen: [], outcome: 'expired' });
    });
  });

  test('unauthorized', async () => {
    const answer = recordedAnswer('unauthorized');
    const transport = await brokenAnywhere(answer);
    await forEach(answer.length, async (at) => {
      expect(await watchedEvents(transport, at), `at ${at}`).toEqual({ seen: [], outcome: 'unauthorized' });
    });
  });

  test('servicecidrs', async () => {
    const answer = recordedAnswer('servicecidrs');
    const transport = await brokenAnywhere(answer);
    if (!CIDRS) throw new Error('no servicecidrs');
    const resource = CIDRS;
    await forEach(answer.length, async (at) => {
      const values: unknown[] = [];
      const version = await list(
        { transport, resource, query: { at: String(at) }, signal, responseMs: FAST.responseMs },
        {
          object: (object) => values.push(resource.project(object).value),
          unreadable: (error) => values.push(error),
        },
      );
      expect(version).toBe('914');
      expect(values).toEqual([
        { kind: 'ServiceCIDR', name: 'kubernetes', cidrs: ['10.96.0.0/12', 'fd00:10:96::/112'] },
      ]);
    });
  });
});

describe('the bytes of a recorded body broken at any offset', () => {
  test.each([
    ['list-services', SERVICES, ['web', 'web1', 'web2', 'web3', 'web4', 'web5']],
    ['list-endpointslices', SLICES, ['web-abc', 'web1-abc', 'web2-abc', 'web3-abc', 'web4-abc', 'web5-abc']],
  ] as const)('%s', (name, resource, names) => {
    const body = bodyOf(recordedAnswer(name));
    const cut = (at: number) => {
      const items: string[] = [];
      const splitter = new ListSplitter((json) => items.push(json.toString('utf8')));
      splitter.push(body.subarray(0, at));
      splitter.push(body.subarray(at));
      return { items, envelope: splitter.end() };
    };
    const whole = cut(0);
    expect(whole.envelope).toMatchObject({ metadata: { resourceVersion: '891' }, items: [] });
    const found = whole.items.map((json) => resource?.project(JSON.parse(json)).value?.name);
    expect(found).toHaveLength(names.length);
    expect(new Set(found)).toEqual(new Set(names));
    for (let at = 1; at <= body.length; at++) expect(cut(at), `at ${at}`).toEqual(whole);
  });

  test('watch-list-services', () => {
    const body = bodyOf(recordedAnswer('watch-list-services'));
    const cut = (at: number) => {
      const lines: string[] = [];
      const splitter = new LineSplitter((line) => lines.push(line.toString('utf8')));
      splitter.push(body.subarray(0, at));
      splitter.push(body.subarray(at));
      return lines;
    };
    const whole = cut(0);
    const events = whole.map((line) => {
      const { type, object } = JSON.parse(line) as { type: string; object: unknown };
      return `${type} ${projectService(object).value?.name ?? '-'}`;
    });
    expect(events).toEqual([
      'ADDED web',
      'ADDED web1',
      'ADDED web2',
      'ADDED web3',
      'ADDED web4',
      'ADDED web5',
      'BOOKMARK -',
      'DELETED web5',
      // It has gone over to another proxy.
      'MODIFIED -',
      'BOOKMARK -',
      'BOOKMARK -',
    ]);
    for (let at = 1; at <= body.length; at++) expect(cut(at), `at ${at}`).toEqual(whole);
  });
});

/** What a server answers that has no watch-list (1.33). */
const UNPROCESSABLE = Buffer.from(
  'HTTP/1.1 422 Unprocessable Entity\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"kind":"Status"}',
);

/** Plays a session: the first request with these query parameters gets the recording, and so on; then silence. */
async function session(...steps: [Record<string, string>, string | Buffer][]): Promise<{
  source: RunningSource;
  requests: readonly string[];
}> {
  const left = [...steps];
  const server = await startReplayServer((target): Replay => {
    const query = new URLSearchParams(target.split('?')[1]);
    const index = left.findIndex(([wanted]) =>
      Object.entries(wanted).every(([key, value]) => query.get(key) === value),
    );
    const [step] = index < 0 ? [] : left.splice(index, 1);
    if (!step) return {};
    if (typeof step[1] !== 'string') return { bytes: step[1], close: true };
    const bytes = recordedAnswer(step[1]);
    return {
      bytes,
      splits: Array.from({ length: Math.floor(bytes.length / 97) }, (_, index) => 97 * (index + 1)),
    };
  });
  const source = await runSource({
    master: server.url,
    kinds: ['Service'],
    timing: { responseMs: 300, idleMs: 300 },
  });
  cleanups.push(server.close, source.stop);
  return { source, requests: server.requests };
}

function query(target: string | undefined): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(target?.split('?')[1]));
}

describe('a recorded session, through the whole source', () => {
  test('watch-list, live events, and going on from the last bookmark', async () => {
    const { source, requests } = await session([{ sendInitialEvents: 'true' }, 'watch-list-services']);
    await source.sink.until(() => requests.length >= 2);
    expect(query(requests[0])).toEqual({
      watch: 'true',
      allowWatchBookmarks: 'true',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      labelSelector: '!service.kubernetes.io/service-proxy-name',
      fieldSelector: 'spec.clusterIP!=None',
      timeoutSeconds: expect.stringMatching(/^[345]\d\d$/) as string,
    });
    expect(query(requests[1])).toMatchObject({ watch: 'true', resourceVersion: '903' });
    expect(query(requests[1]).sendInitialEvents).toBeUndefined();
    expect(source.sink.calls).toEqual([
      {
        call: 'replace',
        kind: 'Service',
        keys: ['rec/web', 'rec/web1', 'rec/web2', 'rec/web3', 'rec/web4', 'rec/web5'],
      },
      { call: 'remove', kind: 'Service', key: 'rec/web5' },
      // It has gone over to another proxy.
      { call: 'remove', kind: 'Service', key: 'rec/web2' },
    ]);
    const web = source.sink.value('Service', 'rec/web1') as ServiceValue;
    expect(web).toMatchObject({
      clusterIPs: ['10.99.79.83'],
      ports: [{ name: 'http', protocol: 'TCP', port: 80, nodePort: 0 }],
    });
    expect(source.relists).toEqual(['Service first']);
    expect(source.restarts[0]).toBe('Service ended');
    expect(source.sink.reported).toEqual(new Map());
  });

  test('in pages, each after the last one', async () => {
    const pages = ['list-services-page1', 'list-services-page2'].map(recordedAnswer);
    const [token1, token2] = pages.map((page) => /"continue":"([^"]+)"/.exec(page.toString())?.[1] ?? '');
    const { source, requests } = await session(
      [{ sendInitialEvents: 'true' }, UNPROCESSABLE],
      [{ resourceVersion: '0' }, 'list-services-page1'],
      [{ continue: token1 ?? '' }, 'list-services-page2'],
      // The recording ends here; a whole list stands in for the last page.
      [{ continue: token2 ?? '' }, 'list-services'],
    );
    await source.sink.until(() => requests.length === 5);
    expect(source.sink.calls).toEqual([
      {
        call: 'replace',
        kind: 'Service',
        keys: ['rec/web', 'rec/web1', 'rec/web2', 'rec/web3', 'rec/web4', 'rec/web5'],
      },
    ]);
    expect(query(requests[2]).resourceVersion).toBeUndefined();
    expect(query(requests[4])).toMatchObject({ watch: 'true', resourceVersion: '891' });
  });

  test('initial events that break off are not taken for the whole', async () => {
    const whole = recordedAnswer('watch-list-services');
    const { source, requests } = await session(
      [{ sendInitialEvents: 'true' }, whole.subarray(0, whole.indexOf('"name":"web4"'))],
      [{ resourceVersion: '0' }, 'list-services'],
    );
    await source.sink.until(() => requests.length === 3);
    expect(source.sink.calls).toEqual([
      {
        call: 'replace',
        kind: 'Service',
        keys: ['rec/web', 'rec/web1', 'rec/web2', 'rec/web3', 'rec/web4', 'rec/web5'],
      },
    ]);
    expect(query(requests[1]).watch).toBeUndefined();
    expect(query(requests[2])).toMatchObject({ watch: 'true', resourceVersion: '891' });
  });

  test('410 inside the stream lists again, whatever the version', async () => {
    const { source, requests } = await session(
      [{ sendInitialEvents: 'true' }, 'watch-list-services'],
      [{ resourceVersion: '903' }, 'watch-gone'],
      [{ sendInitialEvents: 'true' }, 'watch-list-services'],
    );
    await source.sink.until(() => source.sink.replacements('Service') === 2);
    expect(query(requests[2])).toMatchObject({ sendInitialEvents: 'true' });
    expect(query(requests[2]).resourceVersion).toBeUndefined();
    expect(source.relists).toEqual(['Service first', 'Service expired']);
    expect(source.restarts).toContain('Service expired');
  });

  test('a version from the future is met with silence, and given up', async () => {
    const { source, requests } = await session(
      [{ sendInitialEvents: 'true' }, 'watch-list-services'],
      [{ resourceVersion: '903' }, 'watch-future'],
      [{ sendInitialEvents: 'true' }, 'watch-list-services'],
    );
    await source.sink.until(() => source.sink.replacements('Service') === 2);
    expect(query(requests[2]).resourceVersion).toBeUndefined();
    expect(source.relists).toEqual(['Service first', 'Service silent']);
    expect(source.restarts).toContain('Service idle');
  });
});
