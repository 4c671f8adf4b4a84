/**
 * IPVS mode: a virtual server per front end, ipsets, a dummy link that makes the front ends' addresses the
 * node's own, and the few iptables rules around them. What it shares with kube-proxy, and what it does better,
 * is in docs/ipvs.md.
 */
import { release } from 'node:os';
import type { IpFamily, ObjectKey } from '../../src/cluster/values.ts';
import { cidrContains } from '../../src/net/ip.ts';
import { IptablesLookup, type IptablesVariant } from '../../src/node/iptables-variant.ts';
import { type CommandRunner, ToolError } from '../../src/node/runner.ts';
import type {
  Backend,
  Change,
  Diff,
  Leftover,
  Probe,
  ProxyMode,
  Retreat,
  Step,
} from '../../src/reconcile/backend.ts';
import { audit } from './audit.ts';
import { type CleanupInput, giveWay, removeAll, resume } from './cleanup.ts';
import { busyServers } from './cleanup-connections.ts';
import type { Drains } from './delta.ts';
import { sysctlCommand, timeoutsCommand, wantedSysctls } from './host.ts';
import { Iptables } from './iptables.ts';
import { IpvsModel } from './model.ts';
import { parseServerKey } from './objects.ts';
import { type Observed, observe } from './observe.ts';
import { ELSEWHERE, probe } from './probe.ts';
import { problemsOf, type RenderContext } from './render.ts';
import type { IpvsSettings } from './settings.ts';
import {
  ADD_LINK,
  complainsQuietly,
  createAllSets,
  isSetStep,
  plainStep,
  removalStep,
  stepsOf,
} from './steps.ts';

export interface IpvsOptions {
  readonly family: IpFamily;
  readonly runner: CommandRunner;
  /** Default: the one in use on this machine. */
  readonly variant?: IptablesVariant | undefined;
  /** Where several share one; it counts in place of `variant`. */
  readonly lookup?: IptablesLookup;
  readonly ipvs?: IpvsSettings;
}

/** A first load of a large cluster takes minutes on a busy machine; a hung tool must end some day. */
const TIMEOUT_MS = 300_000;

export function createIpvsBackend(options: IpvsOptions): Backend {
  return new IpvsBackend(options);
}

class IpvsBackend implements Backend {
  readonly mode = 'ipvs';
  readonly family: IpFamily;
  readonly #runner: CommandRunner;
  readonly #settings: IpvsSettings;
  readonly #kernel: string;
  readonly #model: IpvsModel;
  readonly #iptables: Iptables;
  /** What the kernel held when it was last read; forgotten once it has been brought up to date. */
  #observed: Observed | undefined;
  /** Real servers without connections, by the last audit. */
  #idle: Drains = new Map();
  /** The kernel's settings are as they must be. */
  #settled = false;
  /** The Services of which something was reported. */
  readonly #reported = new Set<ObjectKey>();

  constructor({ family, runner, variant, lookup, ipvs = {} }: IpvsOptions) {
    this.family = family;
    this.#runner = withDeadline(runner);
    this.#settings = ipvs;
    this.#kernel = ipvs.kernel ?? release();
    this.#model = new IpvsModel(family, ipvs);
    this.#iptables = new Iptables(family, lookup ?? new IptablesLookup(this.#runner, variant));
  }

  probe(): Promise<Probe> {
    return probe(this.family, this.#runner, this.#iptables, this.#settings, this.#kernel);
  }

  async observe(): Promise<void> {
    this.#observed = await this.#observe();
  }

  /** Without `observe`, `full` compares with what was committed before. */
  diff(change: Change): Diff {
    const observed = change.full ? this.#observed : undefined;
    const { delta, context, commit } = this.#model.change(change, observed);
    return {
      steps: [
        ...(change.full ? this.#settle(observed) : []),
        ...stepsOf(delta, this.family, this.#iptables.restoreArgv, observed?.iptablesMode ?? false, {
          change,
          context,
        }),
      ],
      commit: () => {
        commit();
        if (change.full) {
          this.#observed = undefined;
          this.#settled = true;
        }
        this.#report(change, context);
      },
    };
  }

  /** Removes real servers that the last audit found without connections, if they still drain. */
  collect(): Diff {
    const drained = new Map<string, Set<string>>();
    for (const [key, servers] of this.#idle) {
      const draining = this.#model.draining.get(key);
      const both = new Set([...servers].filter((server) => draining?.has(server)));
      if (both.size > 0) drained.set(key, both);
    }
    return {
      steps: drained.size === 0 ? [] : [removalStep(drained)],
      commit: () => {
        this.#model.drained(drained);
        this.#idle = new Map();
      },
    };
  }

  async audit(): Promise<readonly string[]> {
    await this.#iptables.find();
    const { wrong, drains } = await audit(this.#model, this.#runner, this.#iptables.saveArgv);
    this.#model.drained(drains.gone);
    this.#idle = drains.idle;
    return wrong;
  }

  /**
   * Only set entries carry what a Service says to a tool first, so they alone are tried: in a network of their
   * own, with sets of their own. What follows them is made of the same addresses and ports.
   */
  async check(step: Step): Promise<void> {
    if (!isSetStep(step)) return;
    const sets = createAllSets(this.family);
    try {
      await this.#runner.run({
        argv: [...ELSEWHERE, ...step.argv],
        stdin: [...sets, ...step.stdin],
      });
    } catch (error) {
      if (!(error instanceof ToolError) || /unshare/.test(error.stderr) || error.reason === 'missing') return;
      const stderr = error.stderr.replace(/line (\d+)/, (_, line) => `line ${Number(line) - sets.length}`);
      throw new ToolError(step.argv, error.reason, error.exitCode, stderr);
    }
  }

  async apply(step: Step): Promise<void> {
    try {
      const { stderr } = await this.#runner.run({ argv: step.argv, stdin: step.stdin });
      if (complainsQuietly(step) && stderr.trim() !== '') throw new ToolError(step.argv, 'exit', 0, stderr);
    } catch (error) {
      // The other family was faster.
      if (step.argv === ADD_LINK && error instanceof ToolError && /File exists/.test(error.stderr)) return;
      throw error;
    }
  }

  async cleanup(): Promise<readonly Leftover[]> {
    return removeAll(await this.#cleanupInput());
  }

  async giveWay(successor: ProxyMode): Promise<Retreat> {
    if (successor === this.mode) return resume(this.family, this.#runner);
    const busy = await busyServers(this.family, this.#runner);
    if (busy === undefined) return { leftovers: [], waiting: [] };
    return giveWay(await this.#cleanupInput(), successor, busy);
  }

  async #cleanupInput(): Promise<CleanupInput> {
    const observed = await this.#observe();
    return {
      family: this.family,
      runner: this.#runner,
      restore: this.#iptables.restoreArgv,
      observed,
      isExcluded: (key) => this.#isExcluded(key),
    };
  }

  async #observe(): Promise<Observed> {
    await this.#iptables.find();
    return observe({
      family: this.family,
      runner: this.#runner,
      save: this.#iptables.saveArgv,
      sysctls: [...wantedSysctls(this.#settings, this.#kernel).keys()],
      timeouts: this.#settings.timeouts !== undefined,
    });
  }

  /** Settings of the kernel that are not as they must be. */
  #settle(observed: Observed | undefined): Step[] {
    if (observed === undefined && this.#settled) return [];
    const wanted = wantedSysctls(this.#settings, this.#kernel);
    const commands = [
      sysctlCommand(wanted, observed?.sysctls ?? new Map()),
      timeoutsCommand(this.#settings, observed?.timeouts ?? []),
    ];
    return commands.flatMap((argv) => (argv === undefined ? [] : [plainStep(argv)]));
  }

  #isExcluded(key: string): boolean {
    const address = parseServerKey(key)?.address;
    return this.#settings.excludeCIDRs?.some((cidr) => address && cidrContains(cidr, address)) ?? false;
  }

  #report(change: Change, context: RenderContext): void {
    const { report } = this.#settings;
    if (report === undefined) return;
    for (const [key, plans] of change.services) {
      const problems = problemsOf(plans, context);
      if (problems.length === 0 && !this.#reported.delete(key)) continue;
      if (problems.length > 0) this.#reported.add(key);
      report(key, problems);
    }
  }
}

function withDeadline(runner: CommandRunner): CommandRunner {
  return { run: (command) => runner.run({ timeoutMs: TIMEOUT_MS, ...command }) };
}
