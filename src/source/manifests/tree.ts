/** Which manifest files there are. */
import type { BigIntStats, Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { compareText } from '../../net/ip.ts';
import { ManifestError } from './manifest-error.ts';

export interface FoundFile {
  readonly path: string;
  /** Equal as long as nobody replaced or wrote the file, as far as the file system can tell. */
  readonly fingerprint: string;
  /** Bytes. */
  readonly size: number;
  /** When it last changed, milliseconds since the epoch. */
  readonly changedAt: number;
}

export interface Tree {
  /** Sorted by path. */
  readonly files: readonly FoundFile[];
  /** Directories and files that are there but would not be read, with the reason. */
  readonly unreadable: ReadonlyMap<string, ManifestError>;
}

const EXTENSIONS: ReadonlySet<string> = new Set(['.yaml', '.yml', '.json']);

/**
 * Told of each directory that matters, before it is read: whoever watches it from then on misses nothing.
 * The identity differs when it is another directory under the same name.
 */
export type OnDirectory = (directory: string, identity: string) => void;

/**
 * The manifests below a directory, or the one file that `root` names, links followed. Names that begin with
 * a dot are left out: they are editors' temporary files and the innards of a mounted ConfigMap.
 * @throws {ManifestError} when `root` is not there or cannot be read
 */
export async function findManifests(root: string, onDirectory: OnDirectory): Promise<Tree> {
  const files: FoundFile[] = [];
  const unreadable = new Map<string, ManifestError>();
  const visited = new Set<string>();

  async function visit(directory: string, found: BigIntStats): Promise<void> {
    // Links can lead in circles.
    const identity = identityOf(found);
    if (visited.has(identity)) return;
    visited.add(identity);
    onDirectory(directory, identity);
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      if (!entry.name.startsWith('.')) await visitEntry(path.join(directory, entry.name), entry);
    }
  }

  async function visitEntry(file: string, entry: Dirent): Promise<void> {
    const isManifest = EXTENSIONS.has(path.extname(file).toLowerCase());
    if (!entry.isDirectory() && !entry.isSymbolicLink() && !isManifest) return;
    try {
      const found = await stat(file, { bigint: true });
      if (found.isDirectory()) return await visit(file, found);
      if (!isManifest) return;
      if (entry.isSymbolicLink()) await mention(path.dirname(await realpath(file)));
      if (found.isFile()) files.push(describe(file, found));
      // A link to /dev/null stands for a file that is empty. Nobody writes to a pipe until this reads it.
      else if (!found.isCharacterDevice()) unreadable.set(file, notAFile(file));
    } catch (error) {
      // Gone since it was listed, or a link to nothing: the same as not there.
      if (!isMissing(error)) unreadable.set(file, unreadableError(file, error));
    }
  }

  async function mention(directory: string): Promise<void> {
    onDirectory(directory, identityOf(await stat(directory, { bigint: true })));
  }

  try {
    const found = await stat(root, { bigint: true });
    if (found.isDirectory()) {
      await visit(root, found);
    } else {
      await mention(path.dirname(root));
      await mention(path.dirname(await realpath(root)));
      if (!found.isFile()) throw notAFile(root);
      files.push(describe(root, found));
    }
  } catch (error) {
    if (error instanceof ManifestError) throw error;
    throw isMissing(error)
      ? new ManifestError(root, 'there is no such file or directory', undefined, { cause: error })
      : unreadableError(root, error);
  }
  return { files: files.sort((a, b) => compareText(a.path, b.path)), unreadable };
}

/** The number of an inode is used again; together with its time of birth it is not. */
function identityOf({ dev, ino, birthtimeNs }: BigIntStats): string {
  return [dev, ino, birthtimeNs].join(':');
}

function describe(file: string, found: BigIntStats): FoundFile {
  const { dev, ino, size, mtimeNs, ctimeNs } = found;
  return {
    path: file,
    fingerprint: [dev, ino, size, mtimeNs, ctimeNs].join(':'),
    size: Number(size),
    changedAt: Math.max(Number(found.mtimeMs), Number(found.ctimeMs)),
  };
}

function notAFile(file: string): ManifestError {
  return new ManifestError(
    file,
    'is no file and no directory; --manifests reads a pipe when it names that alone',
  );
}

/** Whether an error of the file system says that something is not there. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}

/** An error of the file system as one of the manifest's. */
export function unreadableError(file: string, error: unknown): ManifestError {
  const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return new ManifestError(file, `cannot be read (${reason})`, undefined, { cause: error });
}
