/** Everything that can go wrong between the source and an API server. */
import { afterEach, describe, expect, test } from 'vitest';
import type { ClusterValue } from '../../src/cluster/values.ts';
import type { ApiSourceOptions } from '../../src/source/api/source.ts';
import { type ApiServer, type ApiServerOptions, startApiServer } from '../support/apiserver/apiserver.ts';
import { RecordingSink } from '../support/apiserver/recording-sink.ts';
import type { RequestRecord } from '../support/apiserver/request-log.ts';
import { type RunningSource, runSource } from '../support/apiserver/run-source.ts';
import { endpointSlice, node, service, serviceCidr } from '../support/apiserver/samples.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(options: ApiServerOptions = {}): Promise<ApiServer> {
  const api = await startApiServer({
    bookmarkMs: 0,
    objects: [service('web', '10.96.0.1'), service('db', '10.96.0.2')],
    ...options,
  });
  cleanups.push(api.close);
  return api;
}

async function start(
  api: ApiServer,
  options: Partial<ApiSourceOptions> = {},
  sink?: RecordingSink,
): Promise<RunningSource> {
  const source = await runSource({ master: api.url, kinds: ['Service'], ...options }, sink);
  cleanups.push(source.stop);
  return source;
}

/** A source that has listed and follows. */
async function following(
  api: ApiServer,
  options: Partial<ApiSourceOptions> = {},
  sink?: RecordingSink,
): Promise<RunningSource> {
  const source = await start(api, options, sink);
  await source.sink.until(() => source.sink.statuses.get('Service')?.state === 'watching');
  await api.until(() => api.watches('services') === 1);
  return source;
}

const verbs = (requests: readonly RequestRecord[]) => requests.map(({ verb }) => verb);
const BOTH = ['default/db', 'default/web'];

describe('the first list', () => {
  test('four kinds with the selectors of kube-proxy', async () => {
    const api = await serve({
      objects: [
        service('web', '10.96.0.1'),
        service('headless', 'None'),
        service('other', '10.96.0.3', { labels: { 'service.kubernetes.io/service-proxy-name': 'x' } }),
        endpointSlice('web-1', 'web', ['10.244.1.1']),
        node('node1', '192.0.2.1'),
        node('node2', '192.0.2.2'),
        serviceCidr('kubernetes', '10.96.0.0/12'),
      ],
    });
    const source = await start(api, { kinds: ['Service', 'EndpointSlice', 'Node', 'ServiceCIDR'] });
    const { sink } = source;
    await sink.until(
      () => [...sink.statuses.values()].filter(({ state }) => state === 'watching').length === 4,
    );
    expect(sink.keys('Service')).toEqual(['default/web']);
    expect(sink.keys('EndpointSlice')).toEqual(['default/web-1']);
    expect(sink.keys('Node')).toEqual(['node1']);
    expect(sink.keys('ServiceCIDR')).toEqual(['kubernetes']);
    expect(
      api.requests
        .map(({ path, query }) => ({ path, label: query.labelSelector, field: query.fieldSelector }))
        .sort((a, b) => a.path.localeCompare(b.path)),
    ).toEqual([
      { path: '/api/v1/nodes', field: 'metadata.name=node1' },
      {
        path: '/api/v1/services',
        label: '!service.kubernetes.io/service-proxy-name',
        field: 'spec.clusterIP!=None',
      },
      { path: '/apis/discovery.k8s.io/v1/endpointslices', label: '!service.kubernetes.io/headless' },
      { path: '/apis/networking.k8s.io/v1/servicecidrs' },
    ]);
    const [first] = api.requests;
    expect(first?.headers).toMatchObject({ accept: 'application/json', 'user-agent': 'kube-rulesync/test' });
    expect(first?.headers).not.toHaveProperty('accept-encoding');
    expect(source.exchanges[0]).toBe(`200 GET 127.0.0.1:${api.port}`);
  });

  test('a server without watch-list is asked once, then listed from its cache', async () => {
    const api = await serve({ watchList: false });
    const source = await following(api);
    expect(verbs(api.requests)).toEqual(['watch-list', 'list', 'watch']);
    expect(api.requests[1]?.query.resourceVersion).toBe('0');
    api.compact();
    api.cut();
    await source.sink.until(() => source.sink.replacements('Service') === 2);
    expect(verbs(api.requests)).toEqual(['watch-list', 'list', 'watch', 'watch', 'list']);
    expect(api.requests[4]?.query.resourceVersion).toBeUndefined();
    expect(source.sink.keys('Service')).toEqual(BOTH);
  });

  test('a list that fails is tried until it works', async () => {
    const api = await serve({ watchList: false });
    api.fail({ status: 500, verb: 'list', count: 2 });
    const source = await following(api);
    expect(verbs(api.requests)).toEqual(['watch-list', 'list', 'list', 'list', 'watch']);
    expect(source.sink.replacements('Service')).toBe(1);
    expect(source.logged).toContain('failed; will try again: list services: HTTP 500: refused by the test');
  });

  test('an older server that does not know the field selector', async () => {
    const api = await serve();
    api.fail({ status: 400, message: 'field label not supported: spec.clusterIP' });
    const source = await following(api);
    expect(source.sink.keys('Service')).toEqual(BOTH);
    expect(api.requests.map(({ query }) => query.fieldSelector)).toEqual(['spec.clusterIP!=None', undefined]);
  });

  test('a server that is not there yet', async () => {
    const placeholder = await serve();
    const { port } = placeholder;
    await placeholder.close();
    const source = await start(placeholder);
    await source.sink.until(() => source.sink.statuses.get('Service')?.state === 'retrying');
    expect(source.sink.statuses.get('Service')?.error).toBe(
      `watch services: http://127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}`,
    );
    expect(source.exchanges[0]).toBe(`<error> GET 127.0.0.1:${port}`);
    await serve({ port });
    await source.sink.until(() => source.sink.keys('Service')?.length === 2);
  });

  test('thousands of objects, in many writes', async () => {
    const objects = Array.from({ length: 3000 }, (_, n) =>
      service(`s${n}`, `10.96.${n >> 8}.${n & 255}`, { annotations: { note: 'ü'.repeat(n % 90) } }),
    );
    const api = await serve({ watchList: false, objects });
    const source = await following(api);
    expect(source.sink.keys('Service')).toHaveLength(3000);
    expect(source.sink.value('Service', 'default/s299')).toMatchObject({ clusterIPs: ['10.96.1.43'] });
  });
});

describe('a watch that ends', () => {
  test('in good order, goes on from the last version without listing', async () => {
    const api = await serve();
    const source = await following(api);
    const version = api.apply(service('new', '10.96.0.9'));
    await source.sink.until(() => source.sink.keys('Service')?.length === 3);
    api.endWatches();
    await api.until((requests) => requests.length === 2);
    expect(verbs(api.requests)).toEqual(['watch-list', 'watch']);
    expect(api.requests[1]?.query).toMatchObject({ resourceVersion: version, allowWatchBookmarks: 'true' });
    expect(source.restarts).toEqual(['Service ended']);
  });

  test('a bookmark moves that version on', async () => {
    const api = await serve();
    const source = await following(api);
    // A node changes: nothing that this watch sees.
    const version = api.apply(node('node1', '192.0.2.1'));
    api.bookmark();
    api.endWatches();
    await api.until((requests) => requests.length === 2);
    expect(api.requests[1]?.query.resourceVersion).toBe(version);
    expect(source.relists).toEqual(['Service first']);
  });

  test.each(['reset', 'fin'] as const)(
    'by a broken connection (%s), what happened meanwhile is caught up',
    async (how) => {
      const api = await serve();
      const source = await following(api);
      api.fail({ status: 500, verb: 'watch', count: 2 });
      api.cut(how);
      api.delete({ kind: 'Service', name: 'db' });
      api.apply(service('new', '10.96.0.9'));
      await source.sink.until(() => source.sink.keys('Service')?.includes('default/new') ?? false);
      expect(source.sink.keys('Service')).toEqual(['default/new', 'default/web']);
      expect(verbs(api.requests)).toEqual(['watch-list', 'watch', 'watch', 'watch']);
      expect(source.sink.replacements('Service')).toBe(1);
      expect(source.restarts).toEqual(['Service dropped', 'Service error', 'Service error']);
    },
  );

  test('at once and empty, again and again, is slowed down', async () => {
    const api = await serve();
    const source = await following(api, {
      timing: { shortWatchMs: 5000, backoffCapMs: 4, backoffFirstMs: 2 },
    });
    api.endWatches();
    await api.until(() => api.watches() === 1 && api.requests.length === 2);
    api.endWatches();
    await api.until((requests) => requests.length === 3);
    // The first one had brought events.
    expect(source.restarts).toEqual(['Service ended', 'Service short']);
    expect(source.waits).toHaveLength(1);
  });

  test.each(['stream', 'http'] as const)(
    '410 (%s) lists again and replaces everything at once',
    async (goneAs) => {
      const api = await serve({ goneAs });
      const source = await following(api);
      api.cut();
      api.delete({ kind: 'Service', name: 'db' });
      api.apply(service('new', '10.96.0.9'));
      api.compact();
      await source.sink.until(() => source.sink.replacements('Service') === 2);
      expect(source.sink.calls).toEqual([
        { call: 'replace', kind: 'Service', keys: ['default/db', 'default/web'] },
        { call: 'replace', kind: 'Service', keys: ['default/new', 'default/web'] },
      ]);
      expect(verbs(api.requests)).toEqual(['watch-list', 'watch', 'watch-list']);
      expect(api.requests[2]?.query.resourceVersion).toBeUndefined();
      expect(source.relists).toEqual(['Service first', 'Service expired']);
      expect(source.restarts).toEqual(['Service dropped', 'Service expired']);
    },
  );

  test('an error inside the stream goes on from the same version, and lists only when it stays', async () => {
    const api = await serve();
    const source = await following(api);
    for (const count of [1, 2, 3]) {
      await api.until(() => api.watches() === 1 && api.requests.length === count);
      api.sendError(500, 'InternalError', 'etcdserver: no leader');
    }
    await source.sink.until(() => source.sink.replacements('Service') === 2);
    expect(verbs(api.requests)).toEqual(['watch-list', 'watch', 'watch', 'watch-list']);
    expect(source.relists).toEqual(['Service first', 'Service rejected']);
    expect(source.logged[1]).toBe(
      'the watch failed; will go on from where it was: watch services: error 500 inside the stream: etcdserver: no leader',
    );
  });

  test('an event that is cut off in the middle comes again', async () => {
    const api = await serve();
    const source = await following(api);
    api.sendRaw('{"type":"DELETED","object":{"kind":"Service","metadata":{"na');
    api.cut('fin');
    api.delete({ kind: 'Service', name: 'db' });
    await source.sink.until(() => source.sink.keys('Service')?.length === 1);
    expect(source.sink.reported).toEqual(new Map());
    expect(source.sink.calls).toEqual([
      { call: 'replace', kind: 'Service', keys: ['default/db', 'default/web'] },
      { call: 'remove', kind: 'Service', key: 'default/db' },
    ]);
  });

  test('a last event without a newline is taken in when the stream ends in good order', async () => {
    const api = await serve();
    const source = await following(api);
    const object = {
      kind: 'Service',
      metadata: { name: 'db', namespace: 'default', resourceVersion: '110' },
    };
    api.sendRaw(JSON.stringify({ type: 'DELETED', object }));
    api.endWatches();
    await source.sink.until(() => source.sink.keys('Service')?.length === 1);
    await api.until((requests) => requests.length === 2);
    expect(api.requests[1]?.query.resourceVersion).toBe('110');
  });
});

describe('a connection that stays silent', () => {
  test('in a watch, is given up and taken up from the same version', async () => {
    const api = await serve();
    const source = await following(api, { timing: { idleMs: 60 } });
    api.freezeWatches();
    api.delete({ kind: 'Service', name: 'db' });
    await source.sink.until(() => source.sink.keys('Service')?.length === 1);
    expect(source.restarts[0]).toBe('Service idle');
    expect(verbs(api.requests).slice(0, 2)).toEqual(['watch-list', 'watch']);
  });

  test('without bookmarks, is left for longer', async () => {
    const api = await serve({ watchList: false });
    const source = await following(api, { timing: { idleMs: 1, idleWithoutBookmarksMs: 80 } });
    api.freezeWatches();
    await source.sink.until(() => source.restarts.length > 0);
    expect(source.restarts[0]).toBe('Service idle');
    expect(source.logged.at(-1)).toContain('nothing at all came for 80 ms');
    expect(source.relists).toEqual(['Service first']);
  });

  test('before the headers, is given up', async () => {
    const api = await serve();
    api.mute(true);
    const source = await start(api, { timing: { responseMs: 40 } });
    await source.sink.until(() => source.sink.statuses.get('Service')?.state === 'retrying');
    expect(source.sink.statuses.get('Service')?.error).toBe(
      `watch services: ${api.url}: no answer within 40 ms`,
    );
    api.mute(false);
    await source.sink.until(() => source.sink.keys('Service')?.length === 2);
  });

  test('beyond its timeoutSeconds, is closed', async () => {
    const api = await serve();
    const source = await following(api, {
      timing: { watchMinSeconds: 0, watchMaxSeconds: 0, overrunMs: 60 },
    });
    await source.sink.until(() => source.restarts.length > 0);
    expect(source.restarts[0]).toBe('Service overrun');
    expect(api.requests[0]?.query.timeoutSeconds).toBe('0');
  });

  test('a server that went back in time is found out and listed', async () => {
    const api = await serve();
    const source = await following(api, { timing: { idleMs: 60 } });
    api.rewind(5);
    api.cut();
    api.delete({ kind: 'Service', name: 'db' });
    await source.sink.until(() => source.sink.replacements('Service') === 2);
    expect(source.sink.keys('Service')).toEqual(['default/web']);
    expect(source.relists).toEqual(['Service first', 'Service silent']);
  });
});

describe('refusals', () => {
  test('429 and 503 wait as long as the server says', async () => {
    const api = await serve();
    api.fail({ status: 429, retryAfterSeconds: 3600 });
    api.fail({ status: 503, retryAfterSeconds: 0 });
    const source = await following(api, { random: () => 0, timing: { retryAfterCapMs: 7 } });
    expect(source.waits).toEqual([7, 0]);
    expect(source.sink.keys('Service')).toEqual(BOTH);
  });

  test('403 says which verbs on what to grant, and leaves the others alone', async () => {
    const api = await serve({
      objects: [service('web', '10.96.0.1'), endpointSlice('web-1', 'web', ['10.244.1.1'])],
    });
    const message =
      'endpointslices.discovery.k8s.io is forbidden: User "x" cannot watch resource "endpointslices" in API group "discovery.k8s.io" at the cluster scope';
    api.fail({
      status: 403,
      resource: 'endpointslices',
      count: Number.POSITIVE_INFINITY,
      reason: 'Forbidden',
      message,
    });
    const source = await start(api, { kinds: ['Service', 'EndpointSlice'] });
    await source.sink.until(() => source.sink.statuses.get('EndpointSlice')?.state === 'retrying');
    await source.sink.until(() => source.sink.statuses.get('Service')?.state === 'watching');
    expect(source.sink.statuses.get('EndpointSlice')?.error).toBe(
      `watch endpointslices: HTTP 403: ${message}; grant list and watch on endpointslices (API group "discovery.k8s.io"), which ClusterRole system:node-proxier has`,
    );
    expect(source.sink.keys('EndpointSlice')).toBeUndefined();
    expect(source.waits[0]).toBeGreaterThanOrEqual(10);
    api.clearFaults();
    await source.sink.until(() => source.sink.keys('EndpointSlice')?.length === 1);
  });

  test('a server without ServiceCIDRs has none, until it has', async () => {
    const api = await serve({
      without: ['servicecidrs'],
      objects: [serviceCidr('kubernetes', '10.96.0.0/12')],
    });
    const source = await start(api, { kinds: ['Service', 'ServiceCIDR'] });
    await source.sink.until(() => source.sink.statuses.get('ServiceCIDR')?.state === 'watching');
    await api.until((requests) => requests.filter(({ resource }) => resource === 'servicecidrs').length >= 3);
    expect(source.sink.calls.filter(({ kind }) => kind === 'ServiceCIDR')).toEqual([
      { call: 'replace', kind: 'ServiceCIDR', keys: [] },
    ]);
    api.setServed('servicecidrs', true);
    await source.sink.until(() => source.sink.keys('ServiceCIDR')?.length === 1);
  });

  test('ServiceCIDRs that are kept from us do not stop the rest', async () => {
    const api = await serve();
    api.fail({ status: 403, resource: 'servicecidrs', count: Number.POSITIVE_INFINITY });
    const source = await start(api, { kinds: ['Service', 'ServiceCIDR'] });
    await source.sink.until(() => source.sink.statuses.get('ServiceCIDR')?.state === 'retrying');
    await source.sink.until(() => source.sink.keys('Service')?.length === 2);
    expect(source.sink.keys('ServiceCIDR')).toEqual([]);
    expect(source.sink.statuses.get('ServiceCIDR')?.error).toContain(
      'grant list and watch on servicecidrs (API group "networking.k8s.io")',
    );
  });

  test('404 for what a proxy cannot do without', async () => {
    const api = await serve({ without: ['services'] });
    const source = await start(api);
    await source.sink.until(() => source.sink.statuses.get('Service')?.state === 'retrying');
    expect(source.sink.statuses.get('Service')?.error).toBe(
      'watch services: HTTP 404: the server could not find the requested resource; is this a Kubernetes API server, and does it serve /api/v1/services?',
    );
    expect(source.sink.keys('Service')).toBeUndefined();
  });

  test('a watch whose version the server does not take lists again', async () => {
    const api = await serve();
    const source = await following(api);
    api.fail({ status: 400, verb: 'watch', message: 'invalid resource version' });
    api.cut();
    await source.sink.until(() => source.sink.replacements('Service') === 2);
    expect(source.relists).toEqual(['Service first', 'Service rejected']);
  });
});

describe('objects', () => {
  test('a bad one is named and left out; the others and the stream go on', async () => {
    const api = await serve();
    const source = await following(api);
    api.apply({ ...service('bad', '10.96.0.66'), spec: { clusterIP: 'nonsense', ports: 'none' } });
    api.apply(service('good', '10.96.0.7'));
    await source.sink.until(() => source.sink.keys('Service')?.includes('default/good') ?? false);
    expect(source.sink.keys('Service')).toEqual(['default/db', 'default/good', 'default/web']);
    expect(source.sink.reported.get('default/bad')?.[0]).toMatchObject({ object: 'Service default/bad' });
    api.apply(service('bad', '10.96.0.66'));
    await source.sink.until(() => source.sink.keys('Service')?.includes('default/bad') ?? false);
    expect(source.sink.reported.size).toBe(0);
  });

  test('problems of a deleted object, and of one that a new list lacks, are taken back', async () => {
    const api = await serve();
    const source = await following(api);
    const bad = (name: string) => ({ ...service(name, '10.96.0.66'), spec: { clusterIP: 'nonsense' } });
    api.apply(bad('bad1'));
    api.apply(bad('bad2'));
    await source.sink.until(() => source.sink.reported.size === 2);
    api.delete({ kind: 'Service', name: 'bad1' });
    await source.sink.until(() => source.sink.reported.size === 1);
    api.cut();
    api.delete({ kind: 'Service', name: 'bad2' });
    api.compact();
    await source.sink.until(() => source.sink.reported.size === 0);
    expect(source.sink.replacements('Service')).toBe(2);
  });

  test('a line that is no JSON, an object without a name and an unknown event cost nothing else', async () => {
    const api = await serve();
    const source = await following(api);
    api.sendRaw('{"type":"MODIFIED","object":{"kind":nil}}\n');
    await source.sink.until(() => source.sink.reported.size === 1);
    expect(source.sink.reported.get('')?.[0]?.message).toContain(
      'an object is no valid JSON, and is left out',
    );
    api.sendRaw('{"type":"MODIFIED","object":{"kind":"Service","metadata":{}}}\n');
    await source.sink.until(() => source.sink.reported.get('')?.[0]?.field === 'metadata.name');
    api.sendRaw('{"type":"RENAMED","object":{}}\nnull\n{"type":"DELETED"}\n');
    api.apply(service('good', '10.96.0.7'));
    await source.sink.until(() => source.sink.keys('Service')?.includes('default/good') ?? false);
    expect(verbs(api.requests)).toEqual(['watch-list']);
  });

  test('the same ADDED twice, and line separators inside a value', async () => {
    const api = await serve();
    const source = await following(api);
    const odd = service('odd', '10.96.0.8', { annotations: { text: 'a\u2028b\u2029c\u0085d' } });
    api.apply(odd);
    await source.sink.until(() => source.sink.keys('Service')?.length === 3);
    api.sendRaw(
      `${JSON.stringify({ type: 'ADDED', object: { ...odd, metadata: { ...odd.metadata, resourceVersion: '103' } } })}\n`,
    );
    api.delete({ kind: 'Service', name: 'odd' });
    await source.sink.until(() => source.sink.keys('Service')?.length === 2);
    expect(source.sink.calls.slice(1)).toEqual([
      { call: 'upsert', kind: 'Service', key: 'default/odd' },
      { call: 'upsert', kind: 'Service', key: 'default/odd' },
      { call: 'remove', kind: 'Service', key: 'default/odd' },
    ]);
  });

  test('one that goes over to another proxy leaves', async () => {
    const api = await serve();
    const source = await following(api);
    api.apply(service('web', '10.96.0.1', { labels: { 'service.kubernetes.io/service-proxy-name': 'x' } }));
    await source.sink.until(() => source.sink.keys('Service')?.length === 1);
    expect(source.sink.calls.at(-1)).toEqual({ call: 'remove', kind: 'Service', key: 'default/web' });
  });
});

/** Throws at the first change. */
class FaultySink extends RecordingSink {
  #thrown = false;

  override upsert(value: ClusterValue): void {
    if (!this.#thrown) {
      this.#thrown = true;
      throw new TypeError('oops');
    }
    super.upsert(value);
  }
}

describe('a fault of our own while a change is handed on', () => {
  test('is said, and everything is listed anew, no older than what we had', async () => {
    const api = await serve();
    const source = await following(api, {}, new FaultySink());
    api.apply(service('new', '10.96.0.9'));
    await source.sink.until(() => source.sink.replacements('Service') === 2);
    expect(source.sink.keys('Service')).toEqual(['default/db', 'default/new', 'default/web']);
    expect(api.requests[1]).toMatchObject({ verb: 'watch-list', query: { resourceVersion: '102' } });
    expect(source.relists).toEqual(['Service first', 'Service fault']);
    expect(source.logged[1]).toBe('a fault of this program; will list again: oops');
  });

  test('and a server that is behind what we had: whatever it has', async () => {
    const api = await serve({ watchList: false });
    const source = await following(api, {}, new FaultySink());
    api.apply(service('new', '10.96.0.9'));
    api.rewind(50);
    await source.sink.until(() => source.sink.replacements('Service') === 2);
    await api.until((requests) => requests.length === 6 && api.watches() === 1);
    expect(
      api.requests.slice(3).map(({ verb, status, query }) => [verb, status, query.resourceVersion]),
    ).toEqual([
      ['list', 504, '102'],
      ['list', 200, undefined],
      ['watch', 200, '50'],
    ]);
    expect(source.relists).toEqual(['Service first', 'Service too-large']);
  });
});

describe('stopping', () => {
  test.each([
    ['while it watches', async (api: ApiServer) => (await following(api)).stop],
    [
      'while the server does not answer',
      async (api: ApiServer) => {
        api.mute(true);
        const source = await start(api);
        await api.until((requests) => requests.length === 1);
        return source.stop;
      },
    ],
    [
      'while it waits to try again',
      async (api: ApiServer) => {
        api.fail({ status: 429, retryAfterSeconds: 3600 });
        const source = await start(api, { timing: { retryAfterCapMs: 3_600_000 } });
        await source.sink.until(() => source.waits.length === 1);
        return source.stop;
      },
    ],
  ])('%s', async (_when, prepare) => {
    const api = await serve();
    const stop = await prepare(api);
    const before = api.requests.length;
    await stop();
    await api.until(() => api.watches() === 0);
    expect(api.requests).toHaveLength(before);
  });
});

test('connections are kept and used again', async () => {
  const api = await serve({ watchList: false });
  const source = await following(api);
  for (let round = 1; round <= 5; round++) {
    api.apply(service('web', '10.96.0.1', { annotations: { round: String(round) } }));
    api.endWatches();
    await api.until((requests) => requests.length === 3 + round && api.watches() === 1);
  }
  expect(new Set(api.requests.map(({ connection }) => connection))).toEqual(new Set([1]));
  expect(source.restarts).toHaveLength(5);
});
