import { execFileSync } from 'node:child_process';
import { symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { describe, expect, it, test } from 'vitest';
import {
  clusterIP,
  directory,
  file,
  Log,
  readOnce,
  said,
  service,
  serviceKeys,
  sourceOf,
  start,
  until,
  write,
} from '../../../test/support/manifests.ts';
import { Cluster } from '../../cluster/cluster.ts';

describe('reading once', () => {
  test.for([
    ['kind: service', 'Object', 'kind: "service" is spelled Service; object ignored'],
    ['apiVersion: v1\nkind: NODE', 'Object', 'kind: "NODE" is spelled Node; object ignored'],
    [
      'apiVersion: discovery.k8s.io/v1\nkind: Endpointslice',
      'Object',
      'kind: "Endpointslice" is spelled EndpointSlice; object ignored',
    ],
    [
      'apiVersion: apps/v1\nkind: Service',
      'Service default/web',
      'apiVersion: is "apps/v1", and must be v1; Service ignored',
    ],
    [
      'apiVersion: 1\nkind: Service',
      'Service default/web',
      'apiVersion: is 1, and must be v1; Service ignored',
    ],
    ['apiVersion: v1beta1\nkind: Node', 'Node web', 'apiVersion: is "v1beta1", and must be v1; Node ignored'],
    [
      'kind: EndpointSlice',
      'EndpointSlice default/web',
      'apiVersion: is missing, and must be discovery.k8s.io/v1; EndpointSlice ignored',
    ],
    [
      'apiVersion: discovery.k8s.io/v1beta1\nkind: EndpointSlice',
      'EndpointSlice default/web',
      'apiVersion: is "discovery.k8s.io/v1beta1", and must be discovery.k8s.io/v1; EndpointSlice ignored',
    ],
    [
      'apiVersion: v1\nkind: ServiceCIDR',
      'ServiceCIDR web',
      'apiVersion: is "v1", and must be networking.k8s.io/v1; ServiceCIDR ignored',
    ],
  ] as const)('names an object that is nearly one it reads: %j', async ([head, object, problem]) => {
    write('a.yaml', `${service('web')}---\n${head}\nmetadata: {name: web}\nspec: {clusterIP: 10.96.0.9}\n`);
    const { cluster } = await readOnce();
    expect(said(cluster)).toEqual([`${object} in ${file('a.yaml')}:7: ${problem}`]);
    // What is not used takes nobody's place.
    expect(clusterIP(cluster, 'web')).toBe('10.96.0.1');
  });

  it('takes ServiceCIDRs of the version before, which has the same fields', async () => {
    write(
      'a.yaml',
      'apiVersion: networking.k8s.io/v1beta1\nkind: ServiceCIDR\nmetadata: {name: k}\nspec: {cidrs: [10.96.0.0/12]}\n',
    );
    const { cluster } = await readOnce();
    expect([cluster.serviceCIDRs(), said(cluster)]).toEqual([['10.96.0.0/12'], []]);
  });

  it('rejects when a document is no object, and reports the others of its file all the same', async () => {
    write('a.yaml', `${service('a')}---\n- 7\n${service('b', '10.96.0.2')}`);
    const cluster = new Cluster();
    const done = sourceOf(new Log(), { watch: false }).run(cluster, new AbortController().signal);
    await expect(done).rejects.toThrow(`${file('a.yaml')}:7:1: a list, not a Kubernetes object`);
    expect(serviceKeys(cluster)).toEqual(['default/a', 'default/b']);
  });

  it('says that there is nothing to read', async () => {
    write('services.txt', service('a'));
    expect((await readOnce()).log.lines).toEqual([
      `warn: ${directory}: there is no manifest (*.yaml, *.yml, *.json) in it`,
    ]);
    const nothing =
      'there is nothing in it that a Service proxy reads: no Service, EndpointSlice or ServiceCIDR, and not this Node';
    write('a.yaml', '');
    write('b.yaml', 'kind: Node\nmetadata: {name: node2}\n');
    expect((await readOnce()).log.lines.at(-1)).toBe(`warn: ${directory}: ${nothing}`);
    const { log } = await readOnce({ path: '-', stdin: Readable.from([]) });
    expect(log.lines).toEqual([`warn: standard input: ${nothing}`]);
  });

  it('reads manifests in UTF-16, as PowerShell writes them', async () => {
    writeFileSync(file('a.yaml'), Buffer.from(`\uFEFF${service('a').replaceAll('\n', '\r\n')}`, 'utf16le'));
    expect(serviceKeys((await readOnce()).cluster)).toEqual(['default/a']);
  });

  it('is not ended by what is more than the stack holds, nor by what is more than a string holds', async () => {
    write('a.yaml', service('a'));
    const depth = 50_000;
    write('deep.json', `${'{"kind":"List","items":['.repeat(depth)}${']}'.repeat(depth)}`);
    write('large.yaml', '');
    truncateSync(file('large.yaml'), 2 ** 30);
    const cluster = new Cluster();
    const done = sourceOf(new Log(), { watch: false }).run(cluster, new AbortController().signal);
    await expect(done).rejects.toThrow(
      `${directory}: 2 errors in manifests\n${file('deep.json')}: is nested too deeply\n` +
        `${file('large.yaml')}: is too large: a manifest has at most 511 MiB`,
    );
    expect(serviceKeys(cluster)).toEqual(['default/a']);
  });

  it('names a pipe, which it would wait for without end, and minds no link to /dev/null', async () => {
    write('a.yaml', service('a'));
    execFileSync('mkfifo', [file('pipe.yaml')]);
    symlinkSync('/dev/null', file('masked.yaml'));
    const cluster = new Cluster();
    const done = sourceOf(new Log(), { watch: false }).run(cluster, new AbortController().signal);
    await expect(done).rejects.toThrow(
      new RegExp(
        `^${file('pipe.yaml')}: is no file and no directory; --manifests reads a pipe when it names that alone$`,
      ),
    );
    expect(serviceKeys(cluster)).toEqual(['default/a']);
  });
});

describe('watching', () => {
  it('keeps what a file said before it became something else altogether', async () => {
    write('a.yaml', service('a'));
    const { cluster, log } = await start();
    writeFileSync(file('a.yaml'), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]));
    await until(() => cluster.statuses().get('Service')?.state === 'retrying');
    expect(serviceKeys(cluster)).toEqual(['default/a']);
    write('a.yaml', '5\n');
    await until(() => log.lines.length === 2);
    expect(log.lines[1]).toBe(
      `error: ${file('a.yaml')}:1:1: a number, not a Kubernetes object\n  1 | 5\n    | ^\nWhat was last read of it, if anything, stays in force`,
    );
    expect(serviceKeys(cluster)).toEqual(['default/a']);
  });

  it('takes the other documents of a file beside one that is no object', async () => {
    write('a.yaml', service('a'));
    const { cluster, log } = await start();
    write('a.yaml', `${service('b')}---\ntext\n`);
    await until(() => cluster.statuses().get('Service')?.state === 'retrying');
    expect(serviceKeys(cluster)).toEqual(['default/b']);
    expect(log.lines).toEqual([
      `error: ${file('a.yaml')}:7:1: text, not a Kubernetes object\n  7 | text\n    | ^\nThe rest of the file counts`,
    ]);
    write('a.yaml', service('b'));
    await until(() => cluster.statuses().get('Service')?.state === 'watching');
    expect(log.lines.at(-1)).toBe('info: All manifests can be read again');
  });
});
