import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
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
  slice,
  sourceOf,
  start,
  until,
  write,
} from '../../../test/support/manifests.ts';
import { Cluster } from '../../cluster/cluster.ts';
import type { ValueKind } from '../../cluster/values.ts';
import { ManifestError } from './manifest-error.ts';

describe('reading once', () => {
  it('takes every manifest of a directory and of those below, and nothing else', async () => {
    write('a.yaml', service('a') + slice('a-1', 'a'));
    write('deep/er/b.yml', service('b', '10.96.0.2'));
    write(
      'c.json',
      JSON.stringify({ kind: 'Service', metadata: { name: 'c' }, spec: { clusterIP: '10.96.0.3' } }),
    );
    write(
      'cidr.yaml',
      'apiVersion: networking.k8s.io/v1\nkind: ServiceCIDR\nmetadata: {name: k}\nspec: {cidrs: [10.96.0.0/12]}\n',
    );
    write('notes.txt', service('no1'));
    write('.hidden.yaml', service('no2'));
    write('.git/x.yaml', service('no3'));
    write('a.yaml~', service('no4'));
    const { cluster } = await readOnce();
    expect(serviceKeys(cluster)).toEqual(['default/a', 'default/b', 'default/c']);
    expect(cluster.slicesOf('default/a').map(({ name }) => name)).toEqual(['a-1']);
    expect(cluster.serviceCIDRs()).toEqual(['10.96.0.0/12']);
    expect(cluster.synced).toBe(true);
    expect(cluster.statuses().get('EndpointSlice')?.state).toBe('watching');
  });

  it('takes one file, whatever it is called', async () => {
    write('manifest', service('a'));
    const { cluster } = await readOnce({ path: file('manifest') });
    expect(serviceKeys(cluster)).toEqual(['default/a']);
  });

  it('reports every kind, also when there is nothing', async () => {
    const kinds: ValueKind[] = [];
    const cluster = new Cluster();
    const replace = cluster.replace.bind(cluster);
    cluster.replace = (kind, values) => {
      kinds.push(kind);
      replace(kind, values);
    };
    await sourceOf(new Log(), { watch: false }).run(cluster, new AbortController().signal);
    expect(kinds.sort()).toEqual(['EndpointSlice', 'Node', 'Service', 'ServiceCIDR']);
  });

  it('reports only the own Node', async () => {
    const node = (name: string) =>
      `---\napiVersion: v1\nkind: Node\nmetadata: {name: ${name}, labels: {topology.kubernetes.io/zone: z-${name}}}\n`;
    write('nodes.yaml', node('node0') + node('node1') + node('node2'));
    const { cluster } = await readOnce();
    expect([cluster.node?.name, cluster.node?.zone]).toEqual(['node1', 'z-node1']);
    expect((await readOnce({ nodeName: 'node9' })).cluster.node).toBeUndefined();
    write('nodes.yaml', 'kind: Node\nmetadata: {name: Node 1}\n');
    expect(said((await readOnce()).cluster)).toEqual([
      `Node in ${file('nodes.yaml')}:1: metadata.name: is "Node 1", which is no valid name`,
    ]);
  });

  it('leaves other kinds alone, with a word only when debugging', async () => {
    write(
      'a.yaml',
      `${service('a')}---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\n` +
        '---\napiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: knative}\nspec: {clusterIP: 10.96.0.9}\n',
    );
    const { cluster, log } = await readOnce();
    expect(serviceKeys(cluster)).toEqual(['default/a']);
    expect(said(cluster)).toEqual([]);
    expect(log.lines).toEqual([
      'debug: Not an object that a Service proxy reads',
      'debug: Not an object that a Service proxy reads',
    ]);
  });

  it('names what it left out of objects', async () => {
    write(
      'a.yaml',
      `${service('a', '10.96.0.300')}---\nkind: Service\nmetadata: {name: B}\n` +
        '---\nkind: Service\nmetadata: {name: c}\nspec: {ports: [{port: 80}]}\n' +
        '---\nkind: Service\nmetadata: {name: headless}\nspec: {clusterIP: None}\n' +
        '---\nkind: Service\nmetadata: {name: elsewhere}\nspec: {type: ExternalName, externalName: a.example}\n',
    );
    const { cluster } = await readOnce();
    expect(serviceKeys(cluster)).toEqual([]);
    expect(said(cluster)).toEqual([
      `Service in ${file('a.yaml')}:7: metadata.name: is "B", which is no valid name`,
      'Service default/a: spec.clusterIP: "10.96.0.300" is not an IP address; ignored',
      'Service default/c: spec.clusterIP: is missing, and no API server is here to allocate one; Service ignored (None means headless)',
    ]);
  });

  it('takes the later of two manifests of one object, and names both', async () => {
    write('a.yaml', service('web', '10.96.0.1'));
    write('b.yaml', `# again\n${service('web', '10.96.0.2')}`);
    const { cluster } = await readOnce();
    expect(clusterIP(cluster, 'web')).toBe('10.96.0.2');
    expect(said(cluster)).toEqual([
      `Service default/web: : is in ${file('a.yaml')}:2 and again in ${file('b.yaml')}:3; the latter counts`,
    ]);
  });

  it('rejects when a file is broken, and reports the others all the same', async () => {
    write('a.yaml', service('a'));
    write('b.yaml', 'kind: Service: x\n');
    const cluster = new Cluster();
    const done = sourceOf(new Log(), { watch: false }).run(cluster, new AbortController().signal);
    await expect(done).rejects.toThrow(
      `${file('b.yaml')}:1:7: Nested mappings are not allowed in compact mappings\n  1 | kind: Service: x\n    |       ^`,
    );
    expect(serviceKeys(cluster)).toEqual(['default/a']);
  });

  it('names every broken file', async () => {
    write('a.yaml', 'a: b: c\n');
    write('b.json', '{"a" 1}');
    const failed = readOnce();
    await expect(failed).rejects.toThrow(ManifestError);
    await expect(failed).rejects.toThrow(
      new RegExp(
        `^${directory}: 2 errors in manifests\n${directory}/a.yaml:1:4: .*${directory}/b.json:1:6: `,
        's',
      ),
    );
  });

  test.for([true, false])('rejects a path that is not there (watch: %s)', async (watch) => {
    await expect(
      sourceOf(new Log(), { path: file('none'), watch }).run(new Cluster(), new AbortController().signal),
    ).rejects.toThrow(`${file('none')}: there is no such file or directory`);
  });

  it('follows links, in circles once, and minds no link to nothing', async () => {
    write('real/a.yaml', service('a'));
    symlinkSync('.', file('real/circle'));
    symlinkSync('nowhere', file('b.yaml'));
    mkdirSync(file('root'));
    symlinkSync('../real', file('root/linked'));
    symlinkSync('../real/a.yaml', file('root/z.yaml'));
    const { cluster } = await readOnce({ path: file('root') });
    expect(serviceKeys(cluster)).toEqual(['default/a']);
    expect(said(cluster)).toEqual([
      `Service default/a: : is in ${file('root/linked/a.yaml')}:2 and again in ${file('root/z.yaml')}:2; the latter counts`,
    ]);
  });
});

describe('watching', () => {
  it('reports files that come, change and go', async () => {
    write('a.yaml', service('a') + slice('a-1', 'a'));
    const { cluster } = await start();
    expect(serviceKeys(cluster)).toEqual(['default/a']);
    cluster.takeChanges();

    write('b.yaml', service('b', '10.96.0.2'));
    await until(() => cluster.service('default/b') !== undefined);
    expect([...cluster.takeChanges().services]).toEqual(['default/b']);

    write('a.yaml', service('a') + slice('a-1', 'a', '10.244.1.9'));
    await until(() => cluster.slicesOf('default/a')[0]?.endpoints[0]?.address === '10.244.1.9');
    expect([...cluster.takeChanges().services]).toEqual(['default/a']);

    rmSync(file('b.yaml'));
    await until(() => cluster.service('default/b') === undefined);
    expect(serviceKeys(cluster)).toEqual(['default/a']);
  });

  it('sees directories that are made later, and what is put into them', async () => {
    const { cluster } = await start();
    write('new/deep/a.yaml', service('a'));
    await until(() => cluster.service('default/a') !== undefined);
    write('new/deep/b.yaml', service('b', '10.96.0.2'));
    await until(() => cluster.service('default/b') !== undefined);
    rmSync(file('new'), { recursive: true });
    await until(() => serviceKeys(cluster).length === 0);
    write('new/deep/c.yaml', service('c'));
    await until(() => cluster.service('default/c') !== undefined);
  });

  it('sees what is put into a directory that took the place of another', async () => {
    write('sub/a.yaml', service('a'));
    const { cluster } = await start();
    renameSync(file('sub'), file('.away'));
    write('sub/b.yaml', service('b'));
    await until(() => cluster.service('default/b') !== undefined);
    write('sub/c.yaml', service('c'));
    await until(() => cluster.service('default/c') !== undefined);
    expect(serviceKeys(cluster)).toEqual(['default/b', 'default/c']);
  });

  it('sees files that editors put in the place of others', async () => {
    write('a.yaml', service('a'));
    const { cluster } = await start();
    for (const ip of ['10.96.0.2', '10.96.0.3']) {
      write('.a.yaml.swp', service('a', ip));
      renameSync(file('.a.yaml.swp'), file('a.yaml'));
      await until(() => clusterIP(cluster, 'a') === ip);
    }
  });

  it('sees the swaps by which ConfigMaps change', async () => {
    write('..v1/a.yaml', service('a', '10.96.0.1'));
    symlinkSync('..v1', file('..data'));
    symlinkSync('..data/a.yaml', file('a.yaml'));
    const { cluster } = await start();
    expect(clusterIP(cluster, 'a')).toBe('10.96.0.1');
    for (const [version, ip] of [
      ['v2', '10.96.0.2'],
      ['v3', '10.96.0.3'],
    ] as const) {
      write(`..${version}/a.yaml`, service('a', ip));
      symlinkSync(`..${version}`, file('..data_tmp'));
      renameSync(file('..data_tmp'), file('..data'));
      await until(() => clusterIP(cluster, 'a') === ip);
    }
    expect(said(cluster)).toEqual([]);
  });

  it('sees one file written, and another put in its place', async () => {
    write('web.yaml', service('a'));
    const { cluster } = await start({ path: file('web.yaml') });
    write('web.yaml', service('a', '10.96.0.2'));
    await until(() => clusterIP(cluster, 'a') === '10.96.0.2');
    write('web.new', service('a', '10.96.0.3'));
    renameSync(file('web.new'), file('web.yaml'));
    await until(() => clusterIP(cluster, 'a') === '10.96.0.3');
  });

  it('sees what no watch tells of, when it looks again', async () => {
    write('real/a.yaml', service('a'));
    write('other/a.yaml', service('a', '10.96.0.2'));
    symlinkSync('real', file('root'));
    const { cluster } = await start({ path: file('root'), rescanMs: 20 });
    rmSync(file('root'));
    symlinkSync('other', file('root'));
    await until(() => clusterIP(cluster, 'a') === '10.96.0.2');
  });

  it('loses no change of many in a row', async () => {
    const { cluster } = await start();
    for (let round = 1; round <= 100; round += 1) {
      write('a.yaml', service('a', `10.96.1.${round}`));
      if (round % 10 === 0) await sleep(1);
    }
    await until(() => clusterIP(cluster, 'a') === '10.96.1.100');
  });

  it('keeps what a file said before it broke, names the place, and goes on with the others', async () => {
    write('a.yaml', service('a'));
    write('b.yaml', service('b', '10.96.0.2'));
    const { cluster, log } = await start();
    write('a.yaml', 'kind: Service: x\n');
    await until(() => cluster.statuses().get('Service')?.state === 'retrying');
    const place = `${file('a.yaml')}:1:7: Nested mappings are not allowed in compact mappings`;
    expect(cluster.statuses().get('Node')?.error).toBe(place);
    expect(log.lines).toEqual([
      `error: ${place}\n  1 | kind: Service: x\n    |       ^\nWhat was last read of it, if anything, stays in force`,
    ]);
    expect(serviceKeys(cluster)).toEqual(['default/a', 'default/b']);

    write('b.yaml', service('c', '10.96.0.3'));
    await until(() => cluster.service('default/c') !== undefined);
    expect(serviceKeys(cluster)).toEqual(['default/a', 'default/c']);
    expect(log.lines).toHaveLength(1);

    write('a.yaml', service('a', '10.96.0.9'));
    await until(() => clusterIP(cluster, 'a') === '10.96.0.9');
    await until(() => cluster.statuses().get('Service')?.state === 'watching');
    expect(log.lines.at(-1)).toBe('info: All manifests can be read again');
  });

  it('starts with what can be read', async () => {
    write('a.yaml', service('a'));
    write('b.yaml', '{');
    const { cluster } = await start();
    expect(serviceKeys(cluster)).toEqual(['default/a']);
    expect(cluster.statuses().get('Service')?.state).toBe('retrying');
    write('b.yaml', service('b', '10.96.0.2'));
    await until(() => cluster.service('default/b') !== undefined);
  });

  it('keeps everything while the directory is gone', async () => {
    write('root/a.yaml', service('a'));
    const { cluster, log } = await start({ path: file('root'), rescanMs: 20 });
    renameSync(file('root'), file('away'));
    await until(() => cluster.statuses().get('Service')?.state === 'retrying');
    expect(cluster.statuses().get('Service')?.error).toBe(
      `${file('root')}: there is no such file or directory`,
    );
    expect(serviceKeys(cluster)).toEqual(['default/a']);
    write('root/b.yaml', service('b'));
    await until(() => cluster.service('default/b') !== undefined);
    expect(serviceKeys(cluster)).toEqual(['default/b']);
    rmSync(file('root/b.yaml'));
    await until(() => serviceKeys(cluster).length === 0);
    await until(
      () => log.lines.at(-1) === `warn: ${file('root')}: there is no manifest (*.yaml, *.yml, *.json) in it`,
    );
  });

  it('keeps what is below a directory it can no longer read', async () => {
    write('sub/a.yaml', service('a'));
    write('b.yaml', service('b', '10.96.0.2'));
    const { cluster } = await start();
    // A link that leads to itself is refused to root too, which missing permissions are not.
    rmSync(file('sub'), { recursive: true });
    rmSync(file('b.yaml'));
    symlinkSync('sub', file('sub'));
    await until(() => cluster.service('default/b') === undefined);
    expect(serviceKeys(cluster)).toEqual(['default/a']);
    expect(cluster.statuses().get('Service')?.error).toBe(`${file('sub')}: cannot be read (ELOOP)`);
  });

  it('says and clears problems as manifests change', async () => {
    write('a.yaml', service('a'));
    const { cluster } = await start();
    write('b.yaml', service('a', '10.96.0.2'));
    await until(() => cluster.allProblems().length === 1);
    expect(clusterIP(cluster, 'a')).toBe('10.96.0.2');
    rmSync(file('b.yaml'));
    await until(() => cluster.allProblems().length === 0);
    expect(clusterIP(cluster, 'a')).toBe('10.96.0.1');
    write('a.yaml', service('a', 'nonsense'));
    await until(() => cluster.service('default/a') === undefined);
    expect(said(cluster)).toEqual([
      'Service default/a: spec.clusterIP: "nonsense" is not an IP address; ignored',
    ]);
    rmSync(file('a.yaml'));
    await until(() => cluster.allProblems().length === 0);
  });
});

describe('problems of an object whose value goes', () => {
  it('stay', async () => {
    write('a.yaml', service('a'));
    write('b.yaml', service('a', '10.96.0.2'));
    const { cluster } = await start();
    const twice = `Service default/a: : is in ${file('a.yaml')}:2 and again in ${file('b.yaml')}:2; the latter counts`;
    expect(said(cluster)).toEqual([twice]);
    write('b.yaml', service('a', 'None'));
    await until(() => cluster.service('default/a') === undefined);
    expect(said(cluster)).toEqual([twice]);
  });
});

test('describes itself by its path', () => {
  expect(sourceOf(new Log()).description).toBe(directory);
  expect(sourceOf(new Log(), { path: '-' }).description).toBe('standard input');
});
