import { execFileSync } from 'node:child_process';
import { constants } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import {
  file,
  Log,
  readOnce,
  service,
  serviceKeys,
  slice,
  sourceOf,
  start,
  until,
} from '../../../test/support/manifests.ts';
import { Cluster } from '../../cluster/cluster.ts';

describe('a pipe', () => {
  it('is read once, and stays as it was read', async () => {
    execFileSync('mkfifo', [file('pipe')]);
    const writing = writeFile(file('pipe'), service('a'));
    const { cluster } = await start({ path: file('pipe'), rescanMs: 10 });
    await writing;
    expect(serviceKeys(cluster)).toEqual(['default/a']);
    const again = writeFile(file('pipe'), service('b'), { flag: constants.O_WRONLY | constants.O_NONBLOCK });
    await expect(again).rejects.toThrow('ENXIO');
  });

  it('may be one of a process, which has no path of its own', async () => {
    const script = `exec 3< <(printf '%s' "$1"); exec "$2" --input-type=module -e "$3"`;
    const read = `
      const { createManifestsSource } = await import(${JSON.stringify(new URL('manifests-source.ts', import.meta.url).href)});
      const sink = { replace: (kind, values) => console.log(kind, ...values.keys()), problems() {}, status() {} };
      const source = createManifestsSource({ path: '/dev/fd/3', nodeName: 'n', watch: false, log: { debug() {} } });
      await source.run(sink, new AbortController().signal);`;
    const argv = ['-c', script, 'bash', service('a'), process.execPath, read];
    expect(execFileSync('bash', argv, { encoding: 'utf8' })).toContain('Service default/a');
  });
});

describe('standard input', () => {
  it('is read to its end', async () => {
    const parts = [service('a').slice(0, 30), service('a').slice(30), slice('a-1', 'a')];
    const { cluster } = await readOnce({ path: '-', stdin: Readable.from(parts) });
    expect(serviceKeys(cluster)).toEqual(['default/a']);
    expect(cluster.slicesOf('default/a')).toHaveLength(1);
  });

  it('may be parted inside a character', async () => {
    const bytes = Buffer.from(service('a').replace('metadata:', '# größer\nmetadata:'));
    const cut = bytes.indexOf('ö') + 1;
    const { cluster } = await readOnce({
      path: '-',
      stdin: Readable.from([bytes.subarray(0, cut), bytes.subarray(cut)]),
    });
    expect(serviceKeys(cluster)).toEqual(['default/a']);
  });

  it('is used but for what is no object in it', async () => {
    const stdin = () => Readable.from([`${service('a')}---\ntext\n`]);
    await expect(readOnce({ path: '-', stdin: stdin() })).rejects.toThrow(
      'standard input:7:1: text, not a Kubernetes object',
    );
    const { cluster, log } = await start({ path: '-', stdin: stdin() });
    expect(serviceKeys(cluster)).toEqual(['default/a']);
    expect(log.lines).toEqual([
      'error: standard input:7:1: text, not a Kubernetes object\n  7 | text\n    | ^\nThe rest of the file counts',
    ]);
  });

  it('rejects what does not parse', async () => {
    await expect(readOnce({ path: '-', stdin: Readable.from(['a: b: c\n']) })).rejects.toThrow(
      'standard input:1:4: Nested mappings are not allowed in compact mappings',
    );
  });

  it('can be given up while it lasts', async () => {
    const stop = new AbortController();
    const cluster = new Cluster();
    const endless = new Readable({ read() {} });
    const done = sourceOf(new Log(), { path: '-', stdin: endless }).run(cluster, stop.signal);
    endless.push(service('a'));
    stop.abort();
    await done;
    expect([cluster.synced, endless.destroyed]).toEqual([false, true]);
  });

  it('stays as it was read until stopped', async () => {
    const stop = new AbortController();
    const cluster = new Cluster();
    let ended = false;
    const done = sourceOf(new Log(), { path: '-', stdin: Readable.from([service('a')]) })
      .run(cluster, stop.signal)
      .then(() => {
        ended = true;
      });
    await until(() => cluster.synced);
    expect(ended).toBe(false);
    stop.abort();
    await done;
  });
});
