/** What is in the manifest files: reads again what changed, and keeps the last good content of what breaks. */
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { compareText } from '../../net/ip.ts';
import { parseManifest } from './documents.ts';
import { ManifestError } from './manifest-error.ts';
import { type ManifestObject, readObject } from './objects.ts';
import {
  type FoundFile,
  findManifests,
  isMissing,
  type OnDirectory,
  type Tree,
  unreadableError,
} from './tree.ts';

interface KnownFile {
  readonly fingerprint: string;
  /** Not changed so recently that a further change could have the same fingerprint. */
  readonly settled: boolean;
  readonly digest: string;
  /** Of the last content that could be read. */
  readonly objects: readonly ManifestObject[];
  readonly error: ManifestError | undefined;
}

/** Coarser than the time stamps of any file system in use, in milliseconds. */
const SETTLED_AFTER = 2_000;

/** Told of each object a proxy has nothing to do with. */
export type OnIgnored = (what: { readonly kind: unknown; readonly where: string }) => void;

export class ManifestFiles {
  readonly #root: string;
  readonly #nodeName: string | undefined;
  readonly #onDirectory: OnDirectory;
  readonly #onIgnored: OnIgnored;
  #files = new Map<string, KnownFile>();
  #unreadable: Tree['unreadable'] = new Map();

  constructor(options: {
    readonly root: string;
    readonly nodeName: string | undefined;
    /** See `findManifests`. */
    readonly onDirectory: OnDirectory;
    readonly onIgnored: OnIgnored;
  }) {
    this.#root = options.root;
    this.#nodeName = options.nodeName;
    this.#onDirectory = options.onDirectory;
    this.#onIgnored = options.onIgnored;
  }

  /**
   * Looks at everything and reads what changed.
   * @returns whether any content is another
   * @throws {ManifestError} when the root is not there or cannot be read; what was read before stays
   */
  async refresh(): Promise<boolean> {
    const tree = await findManifests(this.#root, this.#onDirectory);
    const next = new Map<string, KnownFile>();
    for (const found of tree.files) {
      const file = await this.#read(found, this.#files.get(found.path));
      if (file !== undefined) next.set(found.path, file);
    }
    for (const [file, known] of this.#files) {
      if (!next.has(file) && isBelow(file, tree.unreadable)) next.set(file, known);
    }
    const before = this.#files;
    this.#files = next;
    this.#unreadable = tree.unreadable;
    return (
      before.size !== next.size ||
      [...next].some(([file, { objects }]) => before.get(file)?.objects !== objects)
    );
  }

  /** Every object, in the order of the files' paths and of their place in the file. */
  *objects(): Generator<ManifestObject> {
    const sorted = [...this.#files].sort(([a], [b]) => compareText(a, b));
    for (const [, file] of sorted) yield* file.objects;
  }

  /** What cannot be read now, in the order of paths. */
  errors(): ManifestError[] {
    const broken = [...this.#files.values()].flatMap(({ error }) => (error === undefined ? [] : [error]));
    return [...broken, ...this.#unreadable.values()].sort((a, b) => compareText(a.file, b.file));
  }

  async #read(found: FoundFile, known: KnownFile | undefined): Promise<KnownFile | undefined> {
    if (known?.settled && known.fingerprint === found.fingerprint) return known;
    const settled = Date.now() - found.changedAt > SETTLED_AFTER;
    const { fingerprint } = found;
    let text: string;
    try {
      text = await readFile(found.path, 'utf8');
    } catch (error) {
      if (isMissing(error)) return undefined;
      const objects = known?.objects ?? [];
      return { fingerprint, settled: false, digest: '', objects, error: unreadableError(found.path, error) };
    }
    const digest = hash('sha256', text);
    if (known?.digest === digest) return { ...known, fingerprint, settled };
    try {
      return {
        fingerprint,
        settled,
        digest,
        objects: await readObjects(text, found.path, this.#nodeName, this.#onIgnored),
        error: undefined,
      };
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      return { fingerprint, settled, digest, objects: known?.objects ?? [], error };
    }
  }
}

/** The objects in one text that a proxy of node `nodeName` has something to do with. */
export async function readObjects(
  text: string,
  file: string,
  nodeName: string | undefined,
  onIgnored: OnIgnored,
): Promise<ManifestObject[]> {
  const objects: ManifestObject[] = [];
  for (const document of await parseManifest(text, file)) {
    const object = readObject(document, nodeName);
    if (object !== undefined) objects.push(object);
    else onIgnored({ kind: document.object.kind, where: document.where });
  }
  return objects;
}

function isBelow(file: string, directories: Tree['unreadable']): boolean {
  for (const directory of directories.keys()) {
    if (file === directory || file.startsWith(directory + path.sep)) return true;
  }
  return false;
}
