/**
 * What cutting an API object down gives: the value to keep (absent when a proxy has nothing to do with the
 * object, or cannot use it) and what a person should know about what was left out of it.
 */
import type { ClusterValue } from '../values.ts';

export interface Problem {
  /** `Service default/web`. */
  readonly object: string;
  /** `spec.loadBalancerSourceRanges[1]`; empty when the whole object is meant. */
  readonly field: string;
  readonly message: string;
}

export interface Projection<V extends ClusterValue> {
  readonly value: V | undefined;
  readonly problems: readonly Problem[];
}
