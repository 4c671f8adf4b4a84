/**
 * What a back end is: a translator from plans to the native objects of one kernel facility, for one IP family.
 * The contract is `backends/conformance.ts`, which every back end passes.
 */
import type { IpFamily, ObjectKey } from '../cluster/values.ts';
import type { NodePlan, ServicePlan } from '../plan/plan.ts';

export type ProxyMode = 'iptables' | 'ipvs' | 'nftables';

export interface Change {
  /** A node plan that differs from the last one needs a full change. */
  readonly node: NodePlan;
  /**
   * The plans of each Service that is to be looked at; an empty list takes the Service away. With `full`,
   * this is every Service, and what it does not name goes.
   */
  readonly services: ReadonlyMap<ObjectKey, readonly ServicePlan[]>;
  readonly full: boolean;
}

/** One call of a tool. It is applied whole or not at all. */
export interface Step {
  readonly argv: readonly [string, ...string[]];
  /** Standard input, in pieces that are never joined into one string. */
  readonly stdin: readonly string[];
  /** The Services this step writes something for. */
  readonly services: readonly ObjectKey[];
  /** The Service that wrote a line of stdin (first line = 1), where one did: to name it when a tool objects. */
  serviceOfLine(line: number): ObjectKey | undefined;
}

/** Steps from what is in the kernel to what should be. Nothing is remembered until `commit`. */
export interface Diff {
  readonly steps: readonly Step[];
  /** Call when every step went through: from then on the back end takes the kernel to be so. */
  commit(): void;
}

export interface Probe {
  readonly usable: boolean;
  /** `nft 1.0.6`, `kernel 6.18.44`. */
  readonly versions: Readonly<Record<string, string>>;
  /** What is missing and how to get it, one sentence each; empty when usable. */
  readonly missing: readonly string[];
}

/** Something of ours that `cleanup` had to leave, and why. */
export interface Leftover {
  readonly object: string;
  readonly reason: string;
}

/** How far a back end is with leaving the field to another mode. */
export interface Retreat {
  readonly leftovers: readonly Leftover[];
  /** What stays for the connections that go through it, until they end; new ones do not come to it. */
  readonly waiting: readonly string[];
}

export interface Backend {
  readonly mode: ProxyMode;
  readonly family: IpFamily;
  /** Can these tools and this kernel do it? Changes nothing. */
  probe(): Promise<Probe>;
  /**
   * Reads the kernel: later diffs are against that. Without it a back end takes the kernel to hold nothing
   * of ours, which is what a dry run wants.
   */
  observe(): Promise<void>;
  /** Cheap check that what the last commit left is still there; the names of what is not. */
  audit(): Promise<readonly string[]>;
  /** Pure: no I/O, no clock. Cost follows `change` unless it is full. */
  diff(change: Change): Diff;
  /** How many rules of ours each table holds, for a kernel facility that has tables of rules. */
  ruleCounts?(): ReadonlyMap<string, number>;
  /** Deletes what earlier changes left empty; the steps may fail without harm and come again. */
  collect(): Diff;
  /** Whether the tool and the kernel would take a step, changing nothing. Rejects with a `ToolError`. */
  check(step: Step): Promise<void>;
  /** Rejects with a `ToolError`. */
  apply(step: Step): Promise<void>;
  /** Removes what is ours and nothing else; harmless when there is nothing. */
  cleanup(): Promise<readonly Leftover[]>;
  /**
   * Removes what is ours while another mode's rules are in force: what that mode has under the same name is its own
   * now, and what open connections go through stays for them. To be called again until nothing waits. With its own
   * mode for a successor it ends a retreat that was under way. A back end that does not have it shares nothing, and
   * no connection needs it: `cleanup` does.
   */
  giveWay?(successor: ProxyMode): Promise<Retreat>;
}
