/** What is said of manifests: which cannot be read, that they can again, and that there is nothing in them. */
import type { Logger } from '../../log/logger.ts';
import type { SourceSink, SourceStatus } from '../source.ts';
import { DocumentError, ManifestError } from './manifest-error.ts';
import { KINDS } from './snapshot.ts';

/** More often the sign of a mistake than of an empty cluster. */
export const NO_FILES = 'there is no manifest (*.yaml, *.yml, *.json) in it';
export const NOTHING =
  'there is nothing in it that a Service proxy reads: no Service, EndpointSlice or ServiceCIDR, and not this Node';

/** Says how the manifests are: in the status each time, in the log when it is news. */
export class Health {
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

/** The same of every kind. */
export function sayStatus(sink: SourceSink, status: SourceStatus): void {
  for (const kind of KINDS) sink.status(kind, status);
}

/** All errors as one, for whoever reads once. */
export function summary(path: string, errors: readonly ManifestError[]): ManifestError {
  const [only, ...others] = errors;
  if (only !== undefined && others.length === 0) return only;
  const list = errors.map(({ message }) => message).join('\n');
  return new ManifestError(path, `${errors.length} errors in manifests\n${list}`);
}
