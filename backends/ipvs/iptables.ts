/** Which iptables this node uses, and how its tools are called for one family. */
import type { IpFamily } from '../../src/cluster/values.ts';
import { type IptablesLookup, type IptablesTools, versionAtLeast } from '../../src/node/iptables-variant.ts';

type Argv = readonly [string, ...string[]];

/** Seconds that a tool waits for another program's lock. */
const LOCK_WAIT = '5';

export class Iptables {
  readonly #family: IpFamily;
  readonly #lookup: IptablesLookup;
  #found: IptablesTools | undefined;

  constructor(family: IpFamily, lookup: IptablesLookup) {
    this.#family = family;
    this.#lookup = lookup;
  }

  /** Looks once. Rejects with an `IptablesNotFoundError`. */
  async find(): Promise<IptablesTools> {
    this.#found ??= await this.#lookup.find();
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
