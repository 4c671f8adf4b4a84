/** Manifests that can be read only once: standard input, pipes, devices. */
import { stat } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import type { SourceSink } from '../source.ts';
import { MAX_BYTES, tooLarge } from './decode.ts';
import { type OnIgnored, readObjects } from './files.ts';
import { Health, NOTHING, sayStatus, summary } from './health.ts';
import { ManifestError } from './manifest-error.ts';
import type { ManifestsOptions } from './manifests-source.ts';
import { reportAll, snapshotOf } from './snapshot.ts';
import { unreadableError } from './tree.ts';

/**
 * `<(…)` of a shell, a named pipe, /dev/stdin, a device: looked into again it would be empty, as if everything were
 * gone.
 */
export async function isStream(path: string): Promise<boolean> {
  try {
    const found = await stat(path);
    return !found.isFile() && !found.isDirectory();
  } catch {
    return false;
  }
}

export interface StreamReading {
  readonly input: Readable;
  /** As messages name it. */
  readonly name: string;
  readonly sink: SourceSink;
  readonly signal: AbortSignal;
  readonly options: ManifestsOptions;
  readonly onIgnored: OnIgnored;
}

/**
 * What can be read only once stays in force until the end.
 * Rejects with a `ManifestError` for what does not parse and, without `watch`, for anything that is left out.
 */
export async function readStream({
  input,
  name,
  sink,
  signal,
  options,
  onIgnored,
}: StreamReading): Promise<void> {
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
