/** The tools of one family: the variant in use, the lock that all of them share, and time limits. */
import type { IpFamily } from '../../src/cluster/values.ts';
import {
  IptablesLookup,
  type IptablesTools,
  type IptablesVariant,
  versionAtLeast,
} from '../../src/node/iptables-variant.ts';
import type { CommandResult, CommandRunner } from '../../src/node/runner.ts';
import { toolFamily } from './names.ts';
import { isLockHeld } from './probe.ts';
import { parseSave, type SavedRules } from './save.ts';

/** Seconds that a tool waits for the xtables lock; kube-proxy's. */
const LOCK_WAIT_SECONDS = 5;
/** Tries before a sync fails for the lock, which is then tried again at the reconciler's pace. */
const LOCK_TRIES = 3;
/** A large table takes a busy machine minutes; a hung tool must end some day. */
const TIMEOUT_MS = 300_000;

export interface ToolOptions {
  readonly family: IpFamily;
  readonly runner: CommandRunner;
  readonly variant?: IptablesVariant | undefined;
  /** Where several share one; it counts in place of `variant`. */
  readonly lookup?: IptablesLookup;
  readonly report?: ((message: string) => void) | undefined;
}

export class Tools {
  readonly runner: CommandRunner;
  readonly #options: ToolOptions;
  readonly #lookup: IptablesLookup;
  #found: IptablesTools | undefined;

  constructor(options: ToolOptions) {
    this.runner = options.runner;
    this.#options = options;
    this.#lookup = options.lookup ?? new IptablesLookup(options.runner, options.variant);
  }

  /** The variant, once it was looked for; a dry run may never look. */
  get found(): IptablesTools | undefined {
    return this.#found;
  }

  /** Looks for the variant in use, the first time. Rejects with an `IptablesNotFoundError`. */
  async find(): Promise<IptablesTools> {
    this.#found ??= await this.#lookup.find();
    return this.#found;
  }

  /** `iptables`, `ip6tables-nft-restore`. */
  name(part: '' | '-save' | '-restore', suffix = this.#found?.suffix ?? ''): string {
    return `${toolFamily(this.#options.family)}${suffix}${part}`;
  }

  /** What applies an input beside the rules that are there. Older ones cannot wait for the lock. */
  restoreArgv(suffix?: string): readonly [string, ...string[]] {
    const waits = this.#found === undefined || versionAtLeast(this.#found.version, '1.6.2');
    return [this.name('-restore', suffix), ...(waits ? ['-w', String(LOCK_WAIT_SECONDS)] : []), '--noflush'];
  }

  async save(table: string): Promise<SavedRules> {
    const { stdout } = await this.run([this.name('-save'), '-t', table]);
    return parseSave(stdout);
  }

  /** Rejects with a `ToolError`. A lock that is held is waited for, and the wait reported. */
  async run(argv: readonly [string, ...string[]], stdin?: Iterable<string>): Promise<CommandResult> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.runner.run({ argv, timeoutMs: TIMEOUT_MS, ...(stdin ? { stdin } : {}) });
      } catch (error) {
        if (!isLockHeld(error) || attempt === LOCK_TRIES) throw error;
        this.#options.report?.(
          `Another program holds the xtables lock; ${argv[0]} waited ${LOCK_WAIT_SECONDS} s for it and tries again (${attempt} of ${LOCK_TRIES})`,
        );
      }
    }
  }
}
