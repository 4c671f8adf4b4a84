/** Manifests on disk, or on standard input, in place of an API server. */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Logger } from '../../log/logger.ts';
import type { Source, SourceSink } from '../source.ts';
import { ManifestFiles, type OnIgnored } from './files.ts';
import { Health, NO_FILES, NOTHING, sayStatus, summary } from './health.ts';
import { ManifestError } from './manifest-error.ts';
import { reportAll, reportChanges, type Snapshot, snapshotOf } from './snapshot.ts';
import { isStream, readStream } from './streams.ts';
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
