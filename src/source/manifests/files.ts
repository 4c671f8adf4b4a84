/** What is in the manifest files: reads again what changed, and keeps the last good content of what breaks. */
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { compareText } from '../../net/ip.ts';
import { decodeManifest, MAX_BYTES, tooLarge } from './decode.ts';
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
  /** What is wrong with the present content. */
  readonly errors: readonly ManifestError[];
}

/** Coarser than the time stamps of any file system in use, in milliseconds. */
const SETTLED_AFTER = 2_000;

/** Told of each object a proxy has nothing to do with. */
export type OnIgnored = (what: { readonly kind: string; readonly where: string }) => void;

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

  /** How many files there are. */
  get count(): number {
    return this.#files.size;
  }

  /** Every object, in the order of the files' paths and of their place in the file. */
  *objects(): Generator<ManifestObject> {
    const sorted = [...this.#files].sort(([a], [b]) => compareText(a, b));
    for (const [, file] of sorted) yield* file.objects;
  }

  /** What cannot be read now, in the order of paths and of places in a file. */
  errors(): ManifestError[] {
    const broken = [...this.#files.values()].flatMap(({ errors }) => errors);
    return [...broken, ...this.#unreadable.values()].sort((a, b) => compareText(a.file, b.file));
  }

  async #read(found: FoundFile, known: KnownFile | undefined): Promise<KnownFile | undefined> {
    if (known?.settled && known.fingerprint === found.fingerprint) return known;
    const settled = Date.now() - found.changedAt > SETTLED_AFTER;
    const { path: file, fingerprint } = found;
    const kept = known?.objects ?? [];
    let bytes: Buffer;
    try {
      if (found.size > MAX_BYTES) throw tooLarge(file);
      bytes = await readFile(file);
    } catch (error) {
      if (isMissing(error)) return undefined;
      const errors = [error instanceof ManifestError ? error : unreadableError(file, error)];
      return { fingerprint, settled: false, digest: '', objects: kept, errors };
    }
    const digest = hash('sha256', bytes);
    if (known?.digest === digest) return { ...known, fingerprint, settled };
    try {
      return {
        fingerprint,
        settled,
        digest,
        ...(await readObjects(bytes, file, this.#nodeName, this.#onIgnored)),
      };
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      return { fingerprint, settled, digest, objects: kept, errors: [error] };
    }
  }
}

export interface ReadObjects {
  readonly objects: readonly ManifestObject[];
  /** What is left out of the rest. */
  readonly errors: readonly ManifestError[];
}

/**
 * The objects in one manifest that a proxy of node `nodeName` has something to do with.
 * @throws {ManifestError} for what cannot be read at all
 */
export async function readObjects(
  bytes: Uint8Array,
  file: string,
  nodeName: string | undefined,
  onIgnored: OnIgnored,
): Promise<ReadObjects> {
  try {
    const { documents, errors } = await parseManifest(decodeManifest(bytes, file), file);
    const objects = documents.flatMap((document) => {
      const object = readObject(document, nodeName);
      if (object === undefined) onIgnored({ kind: document.kind, where: document.where });
      return object ?? [];
    });
    return { objects, errors };
  } catch (error) {
    if (error instanceof ManifestError) throw error;
    // Thousands of brackets in one another are more than the stack holds. No file may end the program.
    const reason = error instanceof RangeError ? 'is nested too deeply' : String(error);
    throw new ManifestError(file, reason, undefined, { cause: error });
  }
}

function isBelow(file: string, directories: Tree['unreadable']): boolean {
  for (const directory of directories.keys()) {
    if (file === directory || file.startsWith(directory + path.sep)) return true;
  }
  return false;
}
