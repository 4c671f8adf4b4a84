/** Where objects of one kind become values and reach the sink. */
import { objectKey } from '../../cluster/project/metadata.ts';
import type { Problem } from '../../cluster/project/project.ts';
import type { ClusterValue, ObjectKey } from '../../cluster/values.ts';
import type { SourceSink } from '../source.ts';
import { errorText } from './api-error.ts';
import type { ApiResource } from './resources.ts';

/** The key under which problems of objects are kept that cannot be told by name. */
const UNNAMED: ObjectKey = '';

/**
 * Objects come one by one, of a first or new list (`begin`, `add`, `drop`, `commit`) or as changes (`upsert`,
 * `remove`). A list takes the place of everything known at `commit`, in one step. An object that cannot be used
 * is left out and named; it never stops the others.
 */
export class Intake {
  readonly #resource: ApiResource;
  readonly #sink: SourceSink;
  #batch = new Map<ObjectKey, ClusterValue>();
  #batchProblems = new Map<ObjectKey, readonly Problem[]>();
  /** What the sink has been told problems of. */
  #flagged = new Set<ObjectKey>();

  constructor(resource: ApiResource, sink: SourceSink) {
    this.#resource = resource;
    this.#sink = sink;
  }

  begin(): void {
    this.#batch = new Map();
    this.#batchProblems = new Map();
  }

  add(object: unknown): void {
    const { key, value, problems } = this.#read(object);
    if (value === undefined) this.#batch.delete(key);
    else this.#batch.set(key, value);
    if (problems.length > 0) this.#batchProblems.set(key, problems);
    else this.#batchProblems.delete(key);
  }

  /** Names an object whose JSON could not be read. */
  addUnreadable(error: unknown): void {
    this.#batchProblems.set(UNNAMED, this.#unreadable(error));
  }

  drop(object: unknown): void {
    const key = objectKey(this.#resource.kind, object) ?? UNNAMED;
    this.#batch.delete(key);
    this.#batchProblems.delete(key);
  }

  /** How many values the sink was given. */
  commit(): number {
    const values = this.#batch;
    const problems = this.#batchProblems;
    this.begin();
    this.#sink.replace(this.#resource.kind, values);
    for (const key of this.#flagged) if (!problems.has(key)) this.#tell(key, []);
    for (const [key, found] of problems) this.#tell(key, found);
    return values.size;
  }

  upsert(object: unknown): void {
    const { key, value, problems } = this.#read(object);
    if (value !== undefined) this.#sink.upsert(value);
    else if (key !== UNNAMED) this.#sink.remove(this.#resource.kind, key);
    if (problems.length > 0 || this.#flagged.has(key)) this.#tell(key, problems);
  }

  remove(object: unknown): void {
    const key = objectKey(this.#resource.kind, object);
    if (key === undefined) return;
    this.#sink.remove(this.#resource.kind, key);
    if (this.#flagged.has(key)) this.#tell(key, []);
  }

  /** Names a change whose JSON could not be read. */
  unreadable(error: unknown): void {
    this.#tell(UNNAMED, this.#unreadable(error));
  }

  #tell(key: ObjectKey, problems: readonly Problem[]): void {
    if (problems.length > 0) this.#flagged.add(key);
    else this.#flagged.delete(key);
    this.#sink.problems(this.#resource.kind, key, problems);
  }

  #read(object: unknown): { key: ObjectKey; value: ClusterValue | undefined; problems: readonly Problem[] } {
    const { kind, project } = this.#resource;
    const key = objectKey(kind, object) ?? UNNAMED;
    try {
      const { value, problems } = project(object);
      return { key, value, problems };
    } catch (error) {
      const named = key === UNNAMED ? kind : `${kind} ${key}`;
      const message = `could not be read, and is left out: ${errorText(error)}`;
      return { key, value: undefined, problems: [{ object: named, field: '', message }] };
    }
  }

  #unreadable(error: unknown): readonly Problem[] {
    const { kind } = this.#resource;
    return [
      {
        object: kind,
        field: '',
        message: `an object is no valid JSON, and is left out: ${errorText(error)}`,
      },
    ];
  }
}
