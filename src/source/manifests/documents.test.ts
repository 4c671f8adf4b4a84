import { describe, expect, it, test } from 'vitest';
import { parseManifest } from './documents.ts';
import { DocumentError, ManifestError } from './manifest-error.ts';

async function read(text: string): Promise<[string, unknown][]> {
  const { documents, errors } = await parseManifest(text, 'web.yaml');
  expect(errors).toEqual([]);
  return documents.map(({ object, where }) => [where, object]);
}

async function failure(text: string): Promise<ManifestError> {
  try {
    await parseManifest(text, 'web.yaml');
  } catch (error) {
    if (error instanceof ManifestError) return error;
    throw error;
  }
  throw new Error('expected it not to parse');
}

describe('parseManifest', () => {
  it('reads several documents, and says in which line each begins', async () => {
    const text = '# the web\n---\nkind: Service\n---\n---\nnull\n...\n---\n# then\nkind: Node\n';
    expect(await read(text)).toEqual([
      ['web.yaml:3', { kind: 'Service' }],
      ['web.yaml:10', { kind: 'Node' }],
    ]);
  });

  test.for([
    ['nothing', ''],
    ['blanks', ' \r\n\n'],
    ['comments', '# nothing\n'],
    ['empty documents', '---\n---\n# a template that gave nothing\n---\nnull\n'],
    ['an empty list', 'kind: List\nitems: []\n'],
    ['a list the API has nothing for', '{"kind": "ServiceList", "items": null}'],
    ["somebody else's list without objects", 'kind: AllowList\nitems: [a, b]\n'],
  ] as const)('finds nothing in %s', async ([, text]) => {
    expect(await read(text)).toEqual([]);
  });

  it('reads JSON, whatever its blanks', async () => {
    expect(await read('\uFEFF\n{\n\t"kind": "Service",\n\t"spec": {}\n}\n')).toEqual([
      ['web.yaml', { kind: 'Service', spec: {} }],
    ]);
  });

  it('reads YAML that begins as JSON does', async () => {
    expect(await read('{kind: Service}\n---\nkind: Node\n')).toEqual([
      ['web.yaml:1', { kind: 'Service' }],
      ['web.yaml:3', { kind: 'Node' }],
    ]);
  });

  it('reads anchors, and the merge key of YAML 1.1', async () => {
    const text = 'kind: Service\na: &a {k: 1}\nb: *a\nc: {<<: *a, l: 2}\n';
    expect(await read(text)).toEqual([
      ['web.yaml:1', { kind: 'Service', a: { k: 1 }, b: { k: 1 }, c: { k: 1, l: 2 } }],
    ]);
  });

  it('reads values as kubectl does', async () => {
    const text =
      'kind: Service\nspec: {port: 0120, local: yes, at: 2015-01-01, time: 12:30:00, name: "on"}\n';
    expect(await read(text)).toEqual([
      [
        'web.yaml:1',
        {
          kind: 'Service',
          spec: { port: 80, local: true, at: '2015-01-01', time: '12:30:00', name: 'on' },
        },
      ],
    ]);
  });

  it('opens lists of anything', async () => {
    const text =
      'apiVersion: v1\nkind: List\nitems:\n- {kind: Service, a: 1}\n- {kind: List, items: [{kind: Node}]}\n';
    expect(await read(text)).toEqual([
      ['web.yaml:1 items[0]', { kind: 'Service', a: 1 }],
      ['web.yaml:1 items[1] items[0]', { kind: 'Node' }],
    ]);
  });

  test.for([
    ['5', '1:1: a number, not a Kubernetes object\n  1 | 5\n    | ^'],
    ['# text\n"text"\n', '2:1: text, not a Kubernetes object\n  2 | "text"\n    | ^'],
    ['---\ntrue\n', '2:1: a boolean, not a Kubernetes object\n  2 | true\n    | ^'],
    [
      '- a\n',
      '1:1: a list, not a Kubernetes object; one that holds objects has kind List and its objects in items\n  1 | - a\n    | ^',
    ],
    [
      '\n  [{"kind": "Service"}]',
      '2:3: a list, not a Kubernetes object; one that holds objects has kind List and its objects in items\n  2 |   [{"kind": "Service"}]\n    |   ^',
    ],
    ['replicas: 3\nimage: web\n', '1:1: not a Kubernetes object: it has no kind\n  1 | replicas: 3\n    | ^'],
    ['{}', '1:1: not a Kubernetes object: it has no kind\n  1 | {}\n    | ^'],
    [
      'kind: [Service]\n',
      '1:7: not a Kubernetes object: its kind is ["Service"], not text\n  1 | kind: [Service]\n    |       ^',
    ],
    ['kind: List\nitems: 5\n', '2:8: items is 5, not a list of objects\n  2 | items: 5\n    |        ^'],
    [
      '{"kind": "NodeList", "items": {}}',
      '1:1: items is {}, not a list of objects\n  1 | {"kind": "NodeList", "items": {}}\n    | ^',
    ],
    ['kind: list\nitems: []\n', '1:7: kind "list" is spelled List\n  1 | kind: list\n    |       ^'],
    [
      'kind: Servicelist\nitems: []\n',
      '1:7: kind "Servicelist" is spelled ServiceList\n  1 | kind: Servicelist\n    |       ^',
    ],
    ['kind: List\nitems:\n- 7\n', '3:3: items[0]: a number, not a Kubernetes object\n  3 | - 7\n    |   ^'],
  ] as const)('names what is no object in %j', async ([text, message]) => {
    expect((await failure(text)).message).toBe(`web.yaml:${message}`);
  });

  it('takes the objects beside what is none, and names that', async () => {
    const text =
      'kind: Service\n---\ntext\n---\nkind: List\nitems:\n- kind: Node\n-\n- {kind: List, items: [{}]}\n---\nkind: Node\n';
    const { documents, errors } = await parseManifest(text, 'web.yaml');
    expect(documents.map(({ where, kind }) => [where, kind])).toEqual([
      ['web.yaml:1', 'Service'],
      ['web.yaml:5 items[0]', 'Node'],
      ['web.yaml:11', 'Node'],
    ]);
    expect(errors.every((error) => error instanceof DocumentError)).toBe(true);
    expect(errors.map(({ message }) => message.split('\n')[0])).toEqual([
      'web.yaml:3:1: text, not a Kubernetes object',
      'web.yaml:8:2: items[1]: nothing, not a Kubernetes object',
      'web.yaml:9:24: items[2] items[0]: not a Kubernetes object: it has no kind',
    ]);
  });

  it('names the whole of a list in JSON, whose parser tells no places', async () => {
    const text = JSON.stringify({ kind: 'List', items: [{ kind: 'Node' }, 7] });
    const { errors } = await parseManifest(text, 'web.json');
    expect(errors.map(({ message }) => message.split('\n')[0])).toEqual([
      'web.json:1:1: items[1]: a number, not a Kubernetes object',
    ]);
  });

  it('does not go on for ever about a file that is something else', async () => {
    const { errors } = await parseManifest(`kind: Node\n${'---\na: 1\n'.repeat(25)}`, 'values.yaml');
    expect(errors).toHaveLength(11);
    expect(errors.at(-1)?.message).toBe('values.yaml: 15 more things in it are no Kubernetes objects');
  });

  it('sends no control characters to a terminal', async () => {
    expect((await failure('a: *b\u0085\u009b31m\n')).message).not.toMatch(/[^\P{Cc}\n]/u);
  });

  it("opens the API's own lists, whose items do not say what they are", async () => {
    const list = {
      kind: 'EndpointSliceList',
      apiVersion: 'discovery.k8s.io/v1',
      metadata: { resourceVersion: '1' },
      items: [{ metadata: { name: 'a' } }, { kind: 'EndpointSlice', metadata: { name: 'b' } }],
    };
    const apiVersion = 'discovery.k8s.io/v1';
    expect(await read(JSON.stringify(list))).toEqual([
      ['web.yaml items[0]', { kind: 'EndpointSlice', apiVersion, metadata: { name: 'a' } }],
      ['web.yaml items[1]', { kind: 'EndpointSlice', apiVersion, metadata: { name: 'b' } }],
    ]);
  });

  test.for([
    [
      'a: 1\n---\nb: c: d\n',
      'web.yaml:3:4: Nested mappings are not allowed in compact mappings\n  3 | b: c: d\n    |    ^',
    ],
    ['a: 1\na: 2\n', 'web.yaml:2:1: Map keys must be unique\n  2 | a: 2\n    | ^'],
    [
      '{\n\t"a": 1,\n\t"b" [\n\t\t2\n\t]\n}\n',
      'web.yaml:3:6: Missing , or : between flow map items\n  3 |  "b" [\n    |      ^',
    ],
    [
      'x: 1\n---\ny: *b\n',
      'web.yaml:3:1: in the document that begins here: Unresolved alias (the anchor must be set before the alias): b\n' +
        '  3 | y: *b\n    | ^',
    ],
  ] as const)('names the place where %j goes wrong', async ([text, message]) => {
    expect((await failure(text)).message).toBe(message);
  });

  it('shows the part of a long line that matters', async () => {
    const { message } = await failure(`a: "${'x'.repeat(300)}" y\n`);
    const [, shown = '', mark = ''] = message.split('\n');
    expect(shown.length).toBeLessThan(120);
    expect(shown[mark.indexOf('^')]).toBe('y');
  });

  it('is not blown up by aliases of aliases', async () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 10; level += 1) {
      const alias = `*a${level - 1}`;
      lines.push(`a${level}: &a${level} [${Array.from({ length: 10 }, () => alias).join(', ')}]`);
    }
    expect((await failure(lines.join('\n'))).message).toContain('Excessive alias count');
  });

  it('lets others run while it reads much', async () => {
    let turns = 0;
    let reading = true;
    const count = (): void => {
      turns += 1;
      if (reading) setImmediate(count);
    };
    setImmediate(count);
    const text = Array.from({ length: 3000 }, (_, index) => `---\nkind: Service\nn: ${index}\n`).join('');
    expect(await read(text)).toHaveLength(3000);
    reading = false;
    expect(turns).toBeGreaterThan(1);
  });
});
