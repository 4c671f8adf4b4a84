/** The test API server against what the real one was recorded to do. */
import { afterEach, describe, expect, test } from 'vitest';
import { type ApiServer, type ApiServerOptions, startApiServer } from '../support/apiserver/apiserver.ts';
import { bodyOf, recordedAnswer } from '../support/apiserver/replay.ts';
import { node, service } from '../support/apiserver/samples.ts';
import { labelMatcher } from '../support/apiserver/selectors.ts';

const servers: ApiServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function serve(options: ApiServerOptions = {}): Promise<ApiServer> {
  const api = await startApiServer({ bookmarkMs: 0, ...options });
  servers.push(api);
  return api;
}

interface List {
  kind: string;
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  items: { metadata: { name: string }; kind?: string }[];
}

async function get(api: ApiServer, path: string): Promise<{ status: number; body: List }> {
  const response = await fetch(`${api.url}${path}`);
  return { status: response.status, body: (await response.json()) as List };
}

/** The events of a watch until there are `count`. */
async function events(api: ApiServer, query: string, count: number, meanwhile: () => void = () => {}) {
  const response = await fetch(`${api.url}/api/v1/services?watch=true&${query}`);
  meanwhile();
  const found: string[] = [];
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as {
        type: string;
        object: { metadata: Record<string, unknown> };
      };
      found.push([type, object.metadata.name, object.metadata.resourceVersion].filter(Boolean).join(' '));
    }
    if (found.length >= count) break;
  }
  return found;
}

const keysOf = (value: unknown) => Object.keys(value as object).sort();

test('a list has the form of the real one', async () => {
  const api = await serve({ objects: [service('web', '10.96.0.1')] });
  const { body } = await get(api, '/api/v1/services');
  const recorded = JSON.parse(bodyOf(recordedAnswer('list-services')).toString()) as List;
  expect(keysOf(body)).toEqual(keysOf(recorded));
  expect(keysOf(body.metadata)).toEqual(keysOf(recorded.metadata));
  expect(body.kind).toBe(recorded.kind);
  expect(body.items[0]).not.toHaveProperty('kind');
  expect(recorded.items[0]).not.toHaveProperty('kind');
});

test('pages by limit and continue, until the past is forgotten', async () => {
  const api = await serve({
    objects: ['a', 'b', 'c'].map((name, index) => service(name, `10.96.0.${index + 1}`)),
  });
  const first = (await get(api, '/api/v1/services?limit=2')).body;
  expect(first.items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
  expect(first.metadata.remainingItemCount).toBe(1);
  const next = `/api/v1/services?limit=2&continue=${first.metadata.continue}`;
  const second = (await get(api, next)).body;
  expect(second.items.map(({ metadata }) => metadata.name)).toEqual(['c']);
  expect(second.metadata.continue).toBeUndefined();
  api.compact();
  expect((await get(api, next)).status).toBe(410);
});

test('a version from the future: 504 for a list, silence for a watch', async () => {
  const api = await serve({ objects: [service('web', '10.96.0.1')] });
  const { status, body } = await get(api, '/api/v1/services?resourceVersion=9999');
  expect(status).toBe(504);
  expect(body).toMatchObject({ details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } });
  const response = await fetch(
    `${api.url}/api/v1/services?watch=1&resourceVersion=9999&allowWatchBookmarks=true&timeoutSeconds=1`,
  );
  api.bookmark();
  api.apply(service('new', '10.96.0.2'));
  const reader = response.body?.getReader();
  const read = reader?.read().then(
    ({ value }) => value ?? 'bytes',
    () => 'cut off',
  );
  api.cut();
  expect(await read).toBe('cut off');
});

describe('watches', () => {
  test('with initial events, as recorded: ADDED, the bookmark that ends them, then live', async () => {
    const api = await serve({ objects: [service('web', '10.96.0.1')] });
    const seen = await events(
      api,
      'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
      4,
      () => {
        api.apply(service('web', '10.96.0.1', { labels: { a: 'b' } }));
        api.delete({ kind: 'Service', name: 'web' });
      },
    );
    expect(seen).toEqual(['ADDED web 101', 'BOOKMARK 101', 'MODIFIED web 102', 'DELETED web 103']);
  });

  test('leaving a selector is DELETED, entering it ADDED', async () => {
    const api = await serve({ objects: [service('web', '10.96.0.1')] });
    const seen = await events(
      api,
      'resourceVersion=101&labelSelector=%21other&fieldSelector=spec.clusterIP%21%3DNone',
      3,
      () => {
        api.apply(service('headless', 'None'));
        api.apply(service('web', '10.96.0.1', { labels: { other: '' } }));
        api.apply(service('web', '10.96.0.1'));
        api.apply(service('web', 'None'));
      },
    );
    expect(seen).toEqual(['DELETED web 103', 'ADDED web 104', 'DELETED web 105']);
  });

  test('catch up from a version', async () => {
    const api = await serve();
    api.apply(service('a', '10.96.0.1'));
    api.apply(node('n', '192.0.2.1'));
    api.apply(service('b', '10.96.0.2'));
    api.delete({ kind: 'Service', name: 'a' });
    expect(await events(api, 'resourceVersion=101', 2)).toEqual(['ADDED b 103', 'DELETED a 104']);
  });

  test('from before the past was forgotten: the ERROR of the real one', async () => {
    const api = await serve({ objects: [service('web', '10.96.0.1')] });
    api.compact();
    const response = await fetch(`${api.url}/api/v1/services?watch=1&resourceVersion=100`);
    const line = JSON.parse(await response.text()) as { type: string; object: Record<string, unknown> };
    const recorded = JSON.parse(bodyOf(recordedAnswer('watch-gone')).toString()) as typeof line;
    expect({ ...line, object: { ...line.object, message: '' } }).toEqual({
      ...recorded,
      object: { ...recorded.object, message: '' },
    });
  });
});

test('a token that is not the one: the answer of the real one', async () => {
  const api = await serve({ token: 'right' });
  const { status, body } = await get(api, '/api/v1/services');
  expect(status).toBe(401);
  expect(body).toEqual(JSON.parse(bodyOf(recordedAnswer('unauthorized')).toString()));
});

test('objects are created, replaced, changed and removed over HTTP', async () => {
  const api = await serve();
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${api.url}${path}`, {
      method,
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return response.status;
  };
  const collection = '/api/v1/namespaces/default/services';
  expect(await send('POST', collection, service('web', '10.96.0.1'))).toBe(201);
  expect(await send('POST', collection, service('web', '10.96.0.1'))).toBe(409);
  expect(await send('PATCH', `${collection}/web`, { metadata: { labels: { a: 'b' } } })).toBe(200);
  expect(api.get({ kind: 'Service', name: 'web' })).toMatchObject({
    metadata: { labels: { a: 'b' } },
    spec: { clusterIP: '10.96.0.1' },
  });
  expect(await send('PUT', `${collection}/web`, service('web', '10.96.0.2'))).toBe(200);
  expect((await get(api, `${collection}/web`)).body).toMatchObject({ spec: { clusterIP: '10.96.0.2' } });
  expect(await send('DELETE', `${collection}/web`)).toBe(200);
  expect(await send('GET', `${collection}/web`)).toBe(404);
});

test.each([
  ['a', { a: '' }, true],
  ['a', {}, false],
  ['!a', {}, true],
  ['!a', { a: '' }, false],
  ['a=b', { a: 'b' }, true],
  ['a==b', { a: 'c' }, false],
  ['a!=b', {}, true],
  ['a!=b', { a: 'b' }, false],
  ['a in (b, c),!d', { a: 'c' }, true],
  ['a in (b, c),!d', { a: 'c', d: '' }, false],
  ['a notin (b)', {}, true],
  ['a notin (b)', { a: 'b' }, false],
] as const)('label selector %s on %j: %s', (selector, labels, matches) => {
  expect(labelMatcher(selector)({ kind: 'Service', metadata: { name: 'web', labels } })).toBe(matches);
});
