/** Which iptables this node uses, and how its tools are called for one family. */
import type { IpFamily } from '../../src/cluster/values.ts';
import {
  findIptables,
  type IptablesTools,
  type IptablesVariant,
  versionAtLeast,
} from '../../src/node/iptables-variant.ts';
import type { CommandRunner } from '../../src/node/runner.ts';

type Argv = readonly [string, ...string[]];

/** Seconds that a tool waits for another program's lock. */
const LOCK_WAIT = '5';

export class Iptables {
  readonly #family: IpFamily;
  readonly #runner: CommandRunner;
  readonly #variant: IptablesVariant | undefined;
  #found: IptablesTools | undefined;

  constructor(family: IpFamily, runner: CommandRunner, variant: IptablesVariant | undefined) {
    this.#family = family;
    this.#runner = runner;
    this.#variant = variant;
  }

  /** Looks once: it does not change under a running proxy. Rejects with an `IptablesNotFoundError`. */
  async find(): Promise<IptablesTools> {
    this.#found ??= await findIptables(this.#runner, this.#variant);
    return this.#found;
  }

  get saveArgv(): Argv {
    return [this.#name('-save')];
  }

  /** What applies an input beside the rules that are there. Tools before 1.6.2 cannot wait for the lock. */
  get restoreArgv(): Argv {
    const waits = this.#found === undefined || versionAtLeast(this.#found.version, '1.6.2');
    return [this.#name('-restore'), ...(waits ? ['-w', LOCK_WAIT] : []), '--noflush'];
  }

  /** A dry run may never look: then it is the plain name. */
  #name(part: '-save' | '-restore'): string {
    return `${this.#family === 'IPv4' ? 'iptables' : 'ip6tables'}${this.#found?.suffix ?? ''}${part}`;
  }
}
