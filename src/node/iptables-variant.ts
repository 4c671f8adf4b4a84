/**
 * There are two iptables: `legacy` writes the kernel's old tables, `nf_tables` translates to nftables. Rules of
 * both are in force at once, and a proxy that writes with the other one than everybody else on the node is
 * overruled or forgotten. The choice is made as kubernetes-sigs/iptables-wrappers makes it: kubelet leaves a chain
 * as a hint; without one, the variant that has more rules is the one in use.
 */
import type { CommandRunner } from './runner.ts';

export type IptablesVariant = 'nf_tables' | 'legacy';

export interface IptablesTools {
  readonly variant: IptablesVariant;
  /** `1.8.9`. */
  readonly version: string;
  /** Why this variant. */
  readonly reason: string;
  /** The first part of the tools' names behind `iptables` or `ip6tables`: `-nft`, `-legacy`, or nothing. */
  readonly suffix: string;
}

/** No iptables that can be used. The message says what to do. */
export class IptablesNotFoundError extends Error {
  override readonly name = 'IptablesNotFoundError';
}

/** Looks once for all who ask, since what is in use does not change under a running proxy. */
export class IptablesLookup {
  readonly #runner: CommandRunner;
  readonly #forced: IptablesVariant | undefined;
  #found: Promise<IptablesTools> | undefined;

  /** @param forced the variant that the user asks for */
  constructor(runner: CommandRunner, forced?: IptablesVariant) {
    this.#runner = runner;
    this.#forced = forced;
  }

  /** Rejects with an `IptablesNotFoundError`; then the next who asks makes it look again. */
  find(): Promise<IptablesTools> {
    this.#found ??= findIptables(this.#runner, this.#forced).catch((error: unknown) => {
      this.#found = undefined;
      throw error;
    });
    return this.#found;
  }
}

interface Candidate {
  readonly variant: IptablesVariant;
  readonly version: string;
  readonly suffix: string;
}

/**
 * Changes nothing, and makes the kernel load nothing: `iptables-legacy-save -t` would create the table it names.
 * @param forced the variant that the user asks for
 * Rejects with an `IptablesNotFoundError`.
 */
export async function findIptables(runner: CommandRunner, forced?: IptablesVariant): Promise<IptablesTools> {
  const candidates = await findCandidates(runner);
  const nft = candidates.find(({ variant }) => variant === 'nf_tables');
  const legacy = candidates.find(({ variant }) => variant === 'legacy');
  if (forced !== undefined) {
    const asked = forced === 'legacy' ? legacy : nft;
    if (asked) return { ...asked, reason: 'it was asked for' };
    const there = nft ?? legacy;
    throw new IptablesNotFoundError(
      `There is no iptables of the variant ${forced} here; install it, or leave --iptables-variant out${there ? ` to use ${there.variant}` : ''}.`,
    );
  }
  const only = nft && legacy ? undefined : (nft ?? legacy);
  if (only) return { ...only, reason: 'no other variant is installed' };
  if (!nft || !legacy) {
    throw new IptablesNotFoundError('The program iptables is not installed; install the package iptables.');
  }
  return chooseByRules(runner, nft, legacy);
}

/** The explicit names first: what plain `iptables` is may be changed on a running system. */
async function findCandidates(runner: CommandRunner): Promise<Candidate[]> {
  const found = await Promise.all(['-nft', '-legacy', ''].map((suffix) => candidate(runner, suffix)));
  return found.filter((one) => one !== undefined);
}

async function candidate(runner: CommandRunner, suffix: string): Promise<Candidate | undefined> {
  const text = await outputOf(runner, [`iptables${suffix}`, '--version']);
  const match = /v(\d+(?:\.\d+)+)(?: \((\w+)\))?/.exec(text);
  if (!match?.[1]) return undefined;
  // Before 1.8 there was one variant, and it had no name.
  return { variant: match[2] === 'nf_tables' ? 'nf_tables' : 'legacy', version: match[1], suffix };
}

const HINT = /^:(KUBE-IPTABLES-HINT|KUBE-KUBELET-CANARY) /gm;
const RULE = /^-/gm;

async function chooseByRules(
  runner: CommandRunner,
  nft: Candidate,
  legacy: Candidate,
): Promise<IptablesTools> {
  const saved = async ({ suffix }: Candidate, ...args: string[]): Promise<string> => {
    const texts = await Promise.all(
      ['iptables', 'ip6tables'].map((tool) => outputOf(runner, [`${tool}${suffix}-save`, ...args])),
    );
    return texts.join('\n');
  };
  if (count(HINT, await saved(nft, '-t', 'mangle')) > 0) return { ...nft, reason: "kubelet's hint is there" };
  const legacyRules = await saved(legacy);
  if (count(HINT, legacyRules) > 0) return { ...legacy, reason: "kubelet's hint is there" };
  const [more, fewer] = [count(RULE, legacyRules), count(RULE, await saved(nft))];
  if (more > fewer) return { ...legacy, reason: `it has more rules (${more} to ${fewer})` };
  return {
    ...nft,
    reason: fewer > 0 ? `it has as many rules or more (${fewer} to ${more})` : 'no rules are there',
  };
}

function count(pattern: RegExp, text: string): number {
  return text.match(pattern)?.length ?? 0;
}

/** Empty for a tool that is not there or does not work: then it is not the one in use. */
async function outputOf(runner: CommandRunner, argv: readonly [string, ...string[]]): Promise<string> {
  try {
    return (await runner.run({ argv })).stdout;
  } catch {
    return '';
  }
}

/** Whether a version such as `1.8.9` is at least another. */
export function versionAtLeast(version: string, least: string): boolean {
  const [a, b] = [version, least].map((text) => text.split('.').map(Number));
  for (let index = 0; index < Math.max(a?.length ?? 0, b?.length ?? 0); index++) {
    const difference = (a?.[index] ?? 0) - (b?.[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
