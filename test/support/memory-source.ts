/** A source that a test speaks through: API objects in, values out, no files and no server. */
import { projectEndpointSlice } from '../../src/cluster/project/endpointslice.ts';
import { projectNode } from '../../src/cluster/project/node.ts';
import type { Projection } from '../../src/cluster/project/project.ts';
import { projectService } from '../../src/cluster/project/service.ts';
import { projectServiceCidr } from '../../src/cluster/project/servicecidr.ts';
import { type ClusterValue, type ObjectKey, type ValueKind, valueKey } from '../../src/cluster/values.ts';
import type { Source, SourceSink } from '../../src/source/source.ts';
import type { ApiObject } from './scenarios.ts';

const PROJECT: Record<ValueKind, (object: unknown) => Projection<ClusterValue>> = {
  Service: projectService,
  EndpointSlice: projectEndpointSlice,
  Node: projectNode,
  ServiceCIDR: projectServiceCidr,
};

/** The value of an API object; `undefined` for one that a proxy has nothing to do with. */
export function toValue(object: ApiObject): ClusterValue | undefined {
  const project = PROJECT[object.kind as ValueKind];
  if (project === undefined) throw new Error(`no projection for kind ${object.kind}`);
  return project(object).value;
}

export class MemorySource implements Source {
  readonly description = 'memory';
  readonly #objects: readonly ApiObject[];
  #sink: SourceSink | undefined;

  constructor(objects: readonly ApiObject[]) {
    this.#objects = objects;
  }

  run(sink: SourceSink, signal: AbortSignal): Promise<void> {
    this.#sink = sink;
    for (const kind of Object.keys(PROJECT) as ValueKind[]) {
      const values = new Map<ObjectKey, ClusterValue>();
      for (const object of this.#objects) {
        const value = object.kind === kind ? toValue(object) : undefined;
        if (value) values.set(valueKey(value), value);
      }
      sink.replace(kind, values);
    }
    return new Promise((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  /** As a watch would tell it; an object that is none of a proxy's business any more is taken away. */
  apply(object: ApiObject): void {
    const value = toValue(object);
    if (value) this.#sink?.upsert(value);
    else this.delete(object);
  }

  delete(object: ApiObject): void {
    const { namespace, name } = object.metadata;
    this.#sink?.remove(object.kind as ValueKind, namespace === undefined ? name : `${namespace}/${name}`);
  }
}
