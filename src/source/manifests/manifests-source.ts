/** Manifests on disk, or on standard input, in place of an API server. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import type { Logger } from '../../log/logger.ts';
import type { Source, SourceSink, SourceStatus } from '../source.ts';
import { MAX_BYTES, tooLarge } from './decode.ts';
import { ManifestFiles, type OnIgnored, readObjects } from './files.ts';
import { DocumentError, ManifestError } from './manifest-error.ts';
import { KINDS, reportAll, reportChanges, type Snapshot, snapshotOf } from './snapshot.ts';
import { unreadableError } from './tree.ts';
import { DirectoryWatcher } from './watcher.ts';

export interface ManifestsOptions {
  /** A directory (read with all below it), a file, a pipe (read once), or `-` for standard input. */
  readonly path: string;
  /** Whose Node is reported, and no other; `undefined` for all Nodes. */
  readonly nodeName: string | undefined;
  /** Go on reporting changes until stopped; otherwise everything is read once. */
  readonly watch: boolean;
  readonly log: Logger;
  /** How often to look for changes nobody gave notice of (network file systems), in milliseconds; default 5,000. */
  readonly rescanMs?: number;
  /** What `-` reads; default the process's standard input. */
  readonly stdin?: Readable;
}

const RESCAN_MS = 5_000;
const STDIN = 'standard input';

/** More often the sign of a mistake than of an empty cluster. */
const NO_FILES = 'there is no manifest (*.yaml, *.yml, *.json) in it';
const NOTHING =
  'there is nothing in it that a Service proxy reads: no Service, EndpointSlice or ServiceCIDR, and not this Node';

/**
 * A source of Services, EndpointSlices, ServiceCIDRs and the own Node in YAML or JSON files. Each kind is
 * reported once everything was read, be there any or not. A file that breaks is named in the log and in the
 * status of every kind; what it said before stays. A document that is no Kubernetes object is named in the same
 * way; the others of its file count.
 *
 * With `watch`, `run` ends when it is told to. Without, it ends when everything was reported; it then rejects
 * with a `ManifestError` if anything could not be read, the rest having been reported all the same. In either
 * case it rejects when the path is not there at the start, or standard input does not parse.
 */
export function createManifestsSource(options: ManifestsOptions): Source {
  const { path, log } = options;
  const onIgnored: OnIgnored = ({ kind, where }) => {
    log.debug({ where, kind }, 'Not an object that a Service proxy reads');
  };
  if (path === '-') return stdinSource(options, onIgnored);
  const files = fileSource(options, onIgnored);
  return {
    description: path,
    async run(sink, signal) {
      if (!(await isStream(path))) return files.run(sink, signal);
      await readStream({ input: createReadStream(path), name: path, sink, signal, options, onIgnored });
    },
  };
}

function stdinSource(options: ManifestsOptions, onIgnored: OnIgnored): Source {
  return {
    description: STDIN,
    async run(sink, signal) {
      if (options.stdin === undefined && process.stdin.isTTY) {
        options.log.info('Reading manifests from standard input; end with Ctrl-D');
      }
      const input = options.stdin ?? process.stdin;
      await readStream({ input, name: STDIN, sink, signal, options, onIgnored });
    },
  };
}

/**
 * `<(…)` of a shell, a named pipe, /dev/stdin, a device: looked into again it would be empty, as if everything were
 * gone.
 */
async function isStream(path: string): Promise<boolean> {
  try {
    const found = await stat(path);
    return !found.isFile() && !found.isDirectory();
  } catch {
    return false;
  }
}

interface StreamReading {
  readonly input: Readable;
  /** As messages name it. */
  readonly name: string;
  readonly sink: SourceSink;
  readonly signal: AbortSignal;
  readonly options: ManifestsOptions;
  readonly onIgnored: OnIgnored;
}

/** What can be read only once stays in force until the end. */
async function readStream({ input, name, sink, signal, options, onIgnored }: StreamReading): Promise<void> {
  sayStatus(sink, { state: 'listing', lastHeardAt: 0 });
  const manifest = await readAll(input, name, signal);
  if (manifest === undefined) return;
  const { objects, errors } = await readObjects(manifest, name, options.nodeName, onIgnored);
  reportAll(sink, snapshotOf(objects));
  if (objects.length + errors.length === 0) options.log.warn(`${name}: ${NOTHING}`);
  if (!options.watch && errors.length > 0) throw summary(name, errors);
  new Health(sink, options.log).report(errors);
  if (options.watch) await aborted(signal);
}

/** Everything until the end; `undefined` when `signal` aborts before it. */
async function readAll(input: Readable, name: string, signal: AbortSignal): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of addAbortSignal(signal, input) as AsyncIterable<Buffer | string>) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      chunks.push(bytes);
      size += bytes.length;
      if (size > MAX_BYTES) throw tooLarge(name);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error instanceof ManifestError ? error : unreadableError(name, error);
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function fileSource(options: ManifestsOptions, onIgnored: OnIgnored): Source {
  const { path, log } = options;
  return {
    description: path,
    async run(sink, signal) {
      const watcher = new DirectoryWatcher((directory, error) => {
        log.warn(
          { directory, err: error },
          'Cannot watch this directory; looking into it now and then instead',
        );
      });
      const files = new ManifestFiles({
        root: path,
        nodeName: options.nodeName,
        onDirectory: (directory, identity) => {
          if (options.watch) watcher.want(directory, identity);
        },
        onIgnored,
      });
      try {
        sayStatus(sink, { state: 'listing', lastHeardAt: 0 });
        await files.refresh();
        if (signal.aborted) return;
        watcher.endRound();
        const first = snapshotOf(files.objects());
        reportAll(sink, first);
        const errors = files.errors();
        sayWhenEmpty(files, options);
        if (options.watch) await follow({ sink, signal, watcher, files, first, options });
        else if (errors.length > 0) throw summary(path, errors);
        else sayStatus(sink, { state: 'watching', lastHeardAt: Date.now() });
      } finally {
        watcher.close();
      }
    },
  };
}

interface Following {
  readonly sink: SourceSink;
  readonly signal: AbortSignal;
  readonly watcher: DirectoryWatcher;
  readonly files: ManifestFiles;
  readonly first: Snapshot;
  readonly options: ManifestsOptions;
}

/** Reports changes until told to stop. */
async function follow({ sink, signal, watcher, files, first, options }: Following): Promise<void> {
  const health = new Health(sink, options.log);
  let told = first;
  health.report(files.errors());
  for (;;) {
    await watcher.next(options.rescanMs ?? RESCAN_MS, signal);
    if (signal.aborted) return;
    try {
      if (await files.refresh()) {
        const now = snapshotOf(files.objects());
        reportChanges(sink, told, now);
        told = now;
        sayWhenEmpty(files, options);
      }
      watcher.endRound();
      health.report(files.errors());
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      health.report([error]);
    }
  }
}

function sayWhenEmpty(files: ManifestFiles, { path, log }: ManifestsOptions): void {
  const { done: noObject } = files.objects().next();
  if (noObject && files.errors().length === 0) log.warn(`${path}: ${files.count === 0 ? NO_FILES : NOTHING}`);
}

/** Says how the manifests are: in the status each time, in the log when it is news. */
class Health {
  readonly #sink: SourceSink;
  readonly #log: Logger;
  #known: ReadonlySet<string> = new Set();
  #lastHeardAt = 0;

  constructor(sink: SourceSink, log: Logger) {
    this.#sink = sink;
    this.#log = log;
  }

  report(errors: readonly ManifestError[]): void {
    for (const error of errors) {
      if (this.#known.has(error.message)) continue;
      const rest =
        error instanceof DocumentError
          ? 'The rest of the file counts'
          : 'What was last read of it, if anything, stays in force';
      this.#log.error({ file: error.file }, `${error.message}\n${rest}`);
    }
    if (this.#known.size > 0 && errors.length === 0) this.#log.info('All manifests can be read again');
    this.#known = new Set(errors.map(({ message }) => message));
    const [first, ...others] = errors;
    if (first === undefined) {
      this.#lastHeardAt = Date.now();
      sayStatus(this.#sink, { state: 'watching', lastHeardAt: this.#lastHeardAt });
      return;
    }
    const [line = ''] = first.message.split('\n');
    const error = others.length === 0 ? line : `${line} (and ${others.length} more)`;
    sayStatus(this.#sink, { state: 'retrying', lastHeardAt: this.#lastHeardAt, error });
  }
}

function sayStatus(sink: SourceSink, status: SourceStatus): void {
  for (const kind of KINDS) sink.status(kind, status);
}

function summary(path: string, errors: readonly ManifestError[]): ManifestError {
  const [only, ...others] = errors;
  if (only !== undefined && others.length === 0) return only;
  const list = errors.map(({ message }) => message).join('\n');
  return new ManifestError(path, `${errors.length} errors in manifests\n${list}`);
}
