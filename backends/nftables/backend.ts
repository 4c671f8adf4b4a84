/** nftables mode: one table `kube-proxy` per family, one transaction per change. */
import { release } from 'node:os';
import type { IpFamily } from '../../src/cluster/values.ts';
import { type CommandRunner, ToolError } from '../../src/node/runner.ts';
import type { Backend, Change, Diff, Leftover, Probe, Step } from '../../src/reconcile/backend.ts';
import { collectScript, isEmpty, script } from './delta.ts';
import { nftFamily } from './dialect.ts';
import { NftModel } from './model.ts';
import { TABLE } from './names.ts';
import { inspect, recognise } from './observe.ts';
import { missingFrom } from './probe.ts';
import { NftStep } from './step.ts';
import { NftSyntaxError } from './syntax/error.ts';
import { parseListing } from './syntax/listing.ts';
import type { TableModel } from './syntax/model.ts';

export interface NftablesOptions {
  readonly family: IpFamily;
  readonly runner: CommandRunner;
}

/** A large table takes nft minutes on a busy machine; a hung one must end some day. */
const TIMEOUT_MS = 300_000;
/** A node short of processor time takes long to start anything, and the program again would take more of it. */
const PROBE_TIMEOUT_MS = 60_000;

export function createNftablesBackend(options: NftablesOptions): Backend {
  return new NftablesBackend(options);
}

class NftablesBackend implements Backend {
  readonly mode = 'nftables';
  readonly family: IpFamily;
  readonly #runner: CommandRunner;
  readonly #model: NftModel;
  /** What the kernel held when it was last read; forgotten once it has been brought up to date. */
  #observed: TableModel | undefined;
  /** The table is there and cannot be read: it has to be made anew. */
  #unreadable = false;

  constructor({ family, runner }: NftablesOptions) {
    this.family = family;
    this.#runner = runner;
    this.#model = new NftModel(family);
  }

  async probe(): Promise<Probe> {
    const versions: Record<string, string> = { kernel: release() };
    try {
      const { stdout } = await this.#run(['nft', '--version'], undefined, PROBE_TIMEOUT_MS);
      versions.nft = /v(\S+)/.exec(stdout)?.[1] ?? stdout.trim();
    } catch (error) {
      return { usable: false, versions, missing: [missingFrom(error)] };
    }
    const trial = new NftModel(this.family).change({
      full: true,
      services: new Map(),
      node: {
        family: this.family,
        detector: { kind: 'none' },
        masqueradeAll: false,
        masqueradeBit: 14,
        nodePortAddresses: 'any',
        serviceCIDRs: [],
      },
    });
    try {
      // Under another name: what is in the table now must not decide what nft can do.
      const lines = script(this.family, trial.delta).map((line) => line.replaceAll(TABLE, `${TABLE}-probe`));
      await this.#run(['nft', '--check', '-f', '-'], lines, PROBE_TIMEOUT_MS);
    } catch (error) {
      return { usable: false, versions, missing: [missingFrom(error)] };
    }
    return { usable: true, versions, missing: [] };
  }

  async observe(): Promise<void> {
    this.#unreadable = false;
    try {
      this.#observed = await this.#list([]);
    } catch (error) {
      // A listing may hold what this program has never heard of: then the table is replaced, in one transaction.
      if (!(error instanceof NftSyntaxError)) throw error;
      this.#observed = parseListing('');
      this.#unreadable = true;
    }
  }

  /**
   * Without `observe`, `full` compares with what was committed before, so a listing of everything is never
   * needed while nobody else writes to the table.
   */
  diff(change: Change): Diff {
    const observed = this.#observed;
    const { delta, commit } = this.#model.change(
      change,
      observed && ((wanted) => recognise(this.family, observed, wanted)),
    );
    const lines = isEmpty(delta) ? [] : script(this.family, delta);
    if (this.#unreadable) lines.unshift(...this.#deleteTable());
    return {
      steps: lines.length === 0 ? [] : [this.#step(lines, change)],
      commit: () => {
        commit();
        this.#observed = undefined;
        this.#unreadable = false;
      },
    };
  }

  collect(): Diff {
    const chains = [...this.#model.stale];
    return {
      steps: chains.length === 0 ? [] : [this.#step(collectScript(this.family, chains), undefined)],
      commit: () => this.#model.collected(chains),
    };
  }

  async audit(): Promise<readonly string[]> {
    // Elements are left out: listing them costs what a change must not. Sets, chains and rules are all looked at.
    return inspect(this.family, await this.#list(['--terse']), this.#model.structure());
  }

  async check(step: Step): Promise<void> {
    const [nft, ...args] = step.argv;
    await this.#run([nft, '--check', ...args], step.stdin);
  }

  async apply(step: Step): Promise<void> {
    await this.#run(step.argv, step.stdin);
  }

  async cleanup(): Promise<readonly Leftover[]> {
    await this.#run(['nft', '-f', '-'], this.#deleteTable());
    return [];
  }

  /** Adding it first makes deleting it harmless when there is none. */
  #deleteTable(): string[] {
    const table = `${nftFamily(this.family)} ${TABLE}`;
    return [`add table ${table}\n`, `delete table ${table}\n`];
  }

  #step(lines: readonly string[], change: Change | undefined): Step {
    return new NftStep(lines, change);
  }

  async #list(flags: readonly string[]): Promise<TableModel> {
    try {
      const { stdout } = await this.#run(['nft', ...flags, 'list', 'table', nftFamily(this.family), TABLE]);
      return parseListing(stdout);
    } catch (error) {
      if (isNoSuchTable(error)) return parseListing('');
      throw error;
    }
  }

  async #run(
    argv: readonly [string, ...string[]],
    stdin?: Iterable<string>,
    timeoutMs = TIMEOUT_MS,
  ): Promise<{ stdout: string }> {
    return this.#runner.run({ argv, timeoutMs, ...(stdin ? { stdin } : {}) });
  }
}

function isNoSuchTable(error: unknown): boolean {
  return (
    error instanceof ToolError && error.reason === 'exit' && /No such file or directory/.test(error.stderr)
  );
}
