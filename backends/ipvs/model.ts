/**
 * What this program has put into the kernel for one family, and the difference a change makes to it. Nothing per
 * Service is kept but its plans: objects are rendered again when they are compared. Beside them: how many
 * Services share an entry, how many entries each set has, and which real servers drain.
 */
import type { IpFamily, ObjectKey } from '../../src/cluster/values.ts';
import { cidrContains, compareText } from '../../src/net/ip.ts';
import type { NodePlan, ServicePlan } from '../../src/plan/plan.ts';
import type { Change } from '../../src/reconcile/backend.ts';
import { type Rules, renderRules } from './chains.ts';
import {
  type AddressesDelta,
  compareAddresses,
  compareEntries,
  compareServers,
  type Drains,
  type EntriesDelta,
  type ServersDelta,
} from './delta.ts';
import { IpvsObjects, parseServerKey } from './objects.ts';
import type { Observed } from './observe.ts';
import { type RenderContext, renderNode, renderPlan } from './render.ts';
import { ALL_JUMPS, type KnownRules, NO_RULES, restoreLines } from './restore.ts';
import { DEFAULT_MAX_ELEMENTS, isBounded, SET_KINDS, type SetKind } from './sets.ts';
import type { IpvsSettings } from './settings.ts';

type Plans = ReadonlyMap<ObjectKey, readonly ServicePlan[]>;

/** Sets whose entries several Services may write. An entry goes with the last of them. */
const SHARED: readonly SetKind[] = ['KUBE-LOOP-BACK', 'KUBE-IPVS-IPS', 'KUBE-HEALTH-CHECK-NODE-PORT'];

export interface IpvsDelta {
  /** Sets to make, with their sizes. */
  readonly newSets: ReadonlyMap<SetKind, number>;
  /** Sets that are too small: the new size, and what they hold for the time being. */
  readonly grownSets: ReadonlyMap<SetKind, { readonly size: number; readonly entries: ReadonlySet<string> }>;
  readonly entries: EntriesDelta;
  /** iptables-restore input for the rules of before and after together, then for those of after alone. */
  readonly rulesUp: readonly string[];
  readonly rulesDown: readonly string[];
  readonly newLink: boolean;
  readonly addresses: AddressesDelta;
  readonly servers: ServersDelta;
}

export interface ModelChange {
  readonly delta: IpvsDelta;
  readonly context: RenderContext;
  readonly commit: () => void;
}

/** What the kernel holds beside objects, as far as a change is concerned. */
interface Ground {
  readonly counts: ReadonlyMap<SetKind, number>;
  readonly sizes: ReadonlyMap<SetKind, number>;
  readonly rules: KnownRules;
  readonly hasLink: boolean;
  readonly draining: Drains;
}

const NOTHING: Ground = {
  counts: new Map(),
  sizes: new Map(),
  rules: NO_RULES,
  hasLink: false,
  draining: new Map(),
};

export class IpvsModel {
  readonly family: IpFamily;
  readonly #settings: IpvsSettings;
  #node: NodePlan | undefined;
  #plans = new Map<ObjectKey, readonly ServicePlan[]>();
  #references = new Map<string, number>();
  #counts = new Map<SetKind, number>();
  #sizes = new Map<SetKind, number>();
  #draining = new Map<string, ReadonlySet<string>>();

  constructor(family: IpFamily, settings: IpvsSettings) {
    this.family = family;
    this.#settings = settings;
  }

  get draining(): Drains {
    return this.#draining;
  }

  /** How many entries each set has. */
  get counts(): ReadonlyMap<SetKind, number> {
    return this.#counts;
  }

  /** Our chains as they stand; undefined before the first commit. */
  get rules(): Rules | undefined {
    return this.#node && this.#rulesFor(this.#node, this.#counts.keys());
  }

  /** These real servers were removed. */
  drained(servers: Drains): void {
    for (const [key, gone] of servers) {
      const rest = new Set([...(this.#draining.get(key) ?? [])].filter((server) => !gone.has(server)));
      if (rest.size > 0) this.#draining.set(key, rest);
      else this.#draining.delete(key);
    }
  }

  /**
   * What brings the kernel to `change`.
   * @param observed what the kernel holds, when it was read anew; only for full changes
   */
  change(change: Change, observed?: Observed): ModelChange {
    if (change.full || this.#node === undefined) return this.#full(change, observed);
    return this.#incremental(change.services, this.#node);
  }

  /** Everything this program has written, draining real servers left out. */
  objects(): IpvsObjects {
    const out = new IpvsObjects();
    if (this.#node === undefined) return out;
    const context = this.#context(this.#node);
    renderNode(context, out);
    for (const plans of this.#plans.values()) for (const plan of plans) renderPlan(plan, context, out);
    return out;
  }

  #full(change: Change, observed: Observed | undefined): ModelChange {
    const context = this.#context(change.node);
    const plans = new Map(sorted(change.services).filter(([, list]) => list.length > 0));
    const after = new IpvsObjects();
    renderNode(context, after);
    const references = new Map<string, number>();
    for (const list of plans.values()) {
      const own = renderService(list, context);
      for (const name of sharedIn(own)) references.set(name, (references.get(name) ?? 0) + 1);
      after.merge(own);
    }
    const before = observed === undefined ? this.objects() : this.#relevant(observed, after);
    const ground = observed === undefined ? this.#ground() : groundOf(observed);
    const counts = new Map(Array.from(after.sets, ([kind, entries]) => [kind, entries.size]));
    const delta = this.#delta(before, after, ground, counts, change.node, () => before);
    return {
      delta,
      context,
      commit: () => {
        this.#node = change.node;
        this.#plans = plans;
        this.#references = references;
        this.#counts = counts;
        this.#sizes = new Map(ground.sizes);
        this.#draining = new Map();
        this.#remember(delta);
      },
    };
  }

  #incremental(changed: Plans, node: NodePlan): ModelChange {
    const context = this.#context(node);
    const before = new IpvsObjects();
    const after = new IpvsObjects();
    const shared = new Map<string, number>();
    const count = (objects: IpvsObjects, by: number): void => {
      for (const name of sharedIn(objects)) shared.set(name, (shared.get(name) ?? 0) + by);
    };
    const services = sorted(changed);
    for (const [key, list] of services) {
      const old = renderService(this.#plans.get(key) ?? [], context);
      const now = renderService(list, context);
      count(old, -1);
      count(now, 1);
      before.merge(old);
      after.merge(now);
    }
    for (const [name, by] of shared) {
      const was = this.#references.get(name) ?? 0;
      if (was > 0 && was + by > 0) {
        forget(before, name);
        forget(after, name);
      }
    }
    const counts = countsAfter(this.#counts, compareEntries(before, after));
    const delta = this.#delta(before, after, this.#ground(), counts, node, () => this.objects());
    return {
      delta,
      context,
      commit: () => {
        for (const [key, list] of services) {
          if (list.length > 0) this.#plans.set(key, list);
          else this.#plans.delete(key);
        }
        for (const [name, by] of shared) {
          const now = (this.#references.get(name) ?? 0) + by;
          if (now > 0) this.#references.set(name, now);
          else this.#references.delete(name);
        }
        this.#counts = counts;
        this.#remember(delta);
      },
    };
  }

  /** @param whole everything in the sets before the change; asked for only when a set has to grow */
  #delta(
    before: IpvsObjects,
    after: IpvsObjects,
    ground: Ground,
    counts: ReadonlyMap<SetKind, number>,
    node: NodePlan,
    whole: () => IpvsObjects,
  ): IpvsDelta {
    const entries = compareEntries(before, after);
    const newSets = new Map<SetKind, number>();
    const grownSets = new Map<SetKind, { size: number; entries: Set<string> }>();
    for (const kind of SET_KINDS) {
      const added = entries.added.get(kind) ?? [];
      const size = ground.sizes.get(kind);
      const needed = (ground.counts.get(kind) ?? 0) + added.length;
      if (size === undefined) newSets.set(kind, sizeFor(kind, needed, DEFAULT_MAX_ELEMENTS));
      else if (isBounded(kind) && needed > size) {
        const all = new Set([...whole().entries(kind), ...added]);
        grownSets.set(kind, { size: sizeFor(kind, needed, size), entries: all });
      }
    }
    const both = this.#rulesFor(node, new Set([...ground.counts.keys(), ...counts.keys()]));
    return {
      newSets,
      grownSets,
      entries,
      rulesUp: restoreLines(ground.rules, both),
      rulesDown: restoreLines({ rules: both, jumps: ALL_JUMPS }, this.#rulesFor(node, counts.keys())),
      newLink: !ground.hasLink,
      addresses: compareAddresses(before, after),
      servers: compareServers(before, after, ground.draining),
    };
  }

  #remember({ newSets, grownSets, servers }: IpvsDelta): void {
    for (const [kind, size] of newSets) this.#sizes.set(kind, size);
    for (const [kind, { size }] of grownSets) this.#sizes.set(kind, size);
    for (const [key, draining] of servers.draining) {
      if (draining.size > 0) this.#draining.set(key, draining);
      else this.#draining.delete(key);
    }
  }

  /** What the kernel holds after the last commit. */
  #ground(): Ground {
    if (this.#node === undefined) return NOTHING;
    const rules = this.#rulesFor(this.#node, this.#counts.keys());
    return {
      counts: this.#counts,
      sizes: this.#sizes,
      rules: { rules, jumps: ALL_JUMPS },
      hasLink: true,
      draining: this.#draining,
    };
  }

  /** What was read and concerns us: what is ours, and what a Service wants. Excluded addresses never do. */
  #relevant(observed: Observed, wanted: IpvsObjects): IpvsObjects {
    const before = new IpvsObjects();
    before.merge(observed.objects);
    for (const [key, server] of observed.foreign.servers) {
      if (wanted.servers.has(key)) before.servers.set(key, server);
    }
    for (const key of before.servers.keys()) {
      const address = parseServerKey(key)?.address;
      const excluded = this.#settings.excludeCIDRs?.some((cidr) => address && cidrContains(cidr, address));
      if (excluded) before.servers.delete(key);
    }
    return before;
  }

  #rulesFor(node: NodePlan, used: Iterable<SetKind>): Rules {
    return renderRules(node, new Set(used), this.#settings.parity ?? false);
  }

  #context(node: NodePlan): RenderContext {
    return { node, settings: this.#settings };
  }
}

function groundOf(observed: Observed): Ground {
  return {
    counts: new Map(Array.from(observed.objects.sets, ([kind, entries]) => [kind, entries.size])),
    sizes: observed.sets,
    rules: observed.rules,
    hasLink: observed.hasLink,
    draining: new Map(),
  };
}

/** Sets without entries are left out. */
function countsAfter(
  before: ReadonlyMap<SetKind, number>,
  { added, removed }: EntriesDelta,
): Map<SetKind, number> {
  const counts = new Map(before);
  for (const kind of new Set([...added.keys(), ...removed.keys()])) {
    const come = added.get(kind)?.length ?? 0;
    const go = removed.get(kind)?.length ?? 0;
    const now = (counts.get(kind) ?? 0) + come - go;
    if (now > 0) counts.set(kind, now);
    else counts.delete(kind);
  }
  return counts;
}

/** The size that holds so many entries: the old one, doubled as often as it takes. */
function sizeFor(kind: SetKind, count: number, size: number): number {
  let enough = size;
  while (isBounded(kind) && enough < count) enough *= 2;
  return enough;
}

function sorted(plans: Plans): [ObjectKey, readonly ServicePlan[]][] {
  return [...plans].sort(([a], [b]) => compareText(a, b));
}

/** All objects of one Service. */
export function renderService(plans: readonly ServicePlan[], context: RenderContext): IpvsObjects {
  const out = new IpvsObjects();
  for (const plan of plans) renderPlan(plan, context, out);
  return out;
}

/** Names of shared entries: `KUBE-IPVS-IPS 10.96.0.1`. */
function* sharedIn(objects: IpvsObjects): Generator<string> {
  for (const kind of SHARED) for (const entry of objects.entries(kind)) yield `${kind} ${entry}`;
}

function forget(objects: IpvsObjects, name: string): void {
  const space = name.indexOf(' ');
  const kind = name.slice(0, space) as SetKind;
  const entry = name.slice(space + 1);
  objects.sets.get(kind)?.delete(entry);
  if (kind === 'KUBE-IPVS-IPS') objects.addresses.delete(entry);
}
