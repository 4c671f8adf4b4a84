/** A ConfigMap as kubelet mounts it, and as it brings it up to date. */
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';

const FIXTURES = resolve(import.meta.dirname, '../fixtures/kube-proxy-config');

/** The `data` of one of the ConfigMaps in test/fixtures/kube-proxy-config. */
export async function configMapData(name: string): Promise<Readonly<Record<string, string>>> {
  const text = await readFile(join(FIXTURES, `${name}.yaml`), 'utf8');
  return (parse(text) as { data: Record<string, string> }).data;
}

/** Each key is a link into `..data`, which is a link to a directory that nobody writes to again. */
export class MountedConfigMap {
  readonly directory: string;
  #generation = 0;

  static async create(data: Readonly<Record<string, string>>): Promise<MountedConfigMap> {
    const mounted = new MountedConfigMap(await mkdtemp(join(tmpdir(), 'config-map-')));
    await mounted.update(data);
    for (const key of Object.keys(data)) await symlink(join('..data', key), mounted.path(key));
    return mounted;
  }

  private constructor(directory: string) {
    this.directory = directory;
  }

  path(key: string): string {
    return join(this.directory, key);
  }

  /** All keys at once: `..data` is put in the place of the old one, which then goes. */
  async update(data: Readonly<Record<string, string>>): Promise<void> {
    const before = `..${this.#generation}`;
    const now = `..${++this.#generation}`;
    await mkdir(join(this.directory, now));
    for (const [key, text] of Object.entries(data)) await writeFile(join(this.directory, now, key), text);
    await symlink(now, this.path('..data_tmp'));
    await rename(this.path('..data_tmp'), this.path('..data'));
    await rm(this.path(before), { recursive: true, force: true });
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true });
  }
}
