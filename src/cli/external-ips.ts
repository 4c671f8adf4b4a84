/** The feature gate AllowServiceExternalIPs (KEP-5707). */
import type { ClusterValue } from '../cluster/values.ts';
import type { FeatureGates } from '../config/feature-gates.ts';
import type { Source, SourceSink } from '../source/source.ts';

/** The same source; with the gate off, as if no Service had `spec.externalIPs`. */
export function gatedExternalIPs(source: Source, gates: FeatureGates): Source {
  if (gates.AllowServiceExternalIPs) return source;
  return {
    description: source.description,
    run: (sink, signal) => source.run(withoutExternalIPs(sink), signal),
  };
}

function withoutExternalIPs(sink: SourceSink): SourceSink {
  return {
    replace(kind, values) {
      if (kind !== 'Service') return sink.replace(kind, values);
      sink.replace(kind, new Map(Array.from(values, ([key, value]) => [key, stripped(value)])));
    },
    upsert: (value) => sink.upsert(stripped(value)),
    remove: (kind, key) => sink.remove(kind, key),
    problems: (kind, key, problems) => sink.problems(kind, key, problems),
    status: (kind, status) => sink.status(kind, status),
  };
}

function stripped(value: ClusterValue): ClusterValue {
  return value.kind === 'Service' && value.externalIPs.length > 0 ? { ...value, externalIPs: [] } : value;
}
