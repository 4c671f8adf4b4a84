/** What takes our rules away and leaves everybody else's: references go before chains, in one input. */
import type { Leftover } from '../../src/reconcile/backend.ts';
import { INVALID_COUNTER, LOCALHOST_COUNTER } from './features.ts';
import { type ChainId, isOwn, nameOf, type Table, tableOf } from './names.ts';
import { parseSave, type SavedRules, targetOf } from './save.ts';
import type { Input } from './script.ts';
import type { Tools } from './tools.ts';

/**
 * Removes what is ours from the tables of both variants, where they are installed: what is left in the other one is
 * in force too. Rejects with a `ToolError` when rules are there and cannot be removed.
 */
export async function cleanup(tools: Tools): Promise<Leftover[]> {
  const leftovers: Leftover[] = [];
  for (const suffix of new Set([tools.found?.suffix ?? '', '-nft', '-legacy'])) {
    const saved = await saveAll(tools, suffix);
    if (saved === undefined) continue;
    const plan = planCleanup(saved);
    if (plan.input.length > 0) await tools.run(tools.restoreArgv(suffix), plan.input);
    leftovers.push(...plan.leftovers);
  }
  for (const counter of [INVALID_COUNTER, LOCALHOST_COUNTER]) {
    // The other family's rules may still count with it, or there is none.
    await tools.run(['nfacct', 'delete', counter]).catch(() => undefined);
  }
  return leftovers;
}

/** Without `-t`, which would make the legacy tool create the table. */
async function saveAll(tools: Tools, suffix: string): Promise<SavedRules | undefined> {
  try {
    return parseSave((await tools.run([tools.name('-save', suffix)])).stdout);
  } catch (error) {
    if (suffix === tools.found?.suffix) throw error;
    return undefined;
  }
}

export interface CleanupPlan {
  /** Empty when there is nothing of ours. */
  readonly input: Input;
  readonly leftovers: readonly Leftover[];
}

const BUILT_IN: ReadonlySet<string> = new Set(['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING']);

/**
 * KUBE-FIREWALL and kubelet's hint are not ours to remove. A chain that somebody else's chain jumps to stays, rules
 * and all, with the chains it jumps to: a CNI plugin may rely on KUBE-MARK-MASQ.
 */
export function planCleanup(saved: SavedRules): CleanupPlan {
  const own = new Set([...saved.keys()].filter((chain) => isOwn(chain)));
  const leftovers = keepReferenced(saved, own);
  const lines: string[] = [];
  for (const [table, chains] of Map.groupBy(saved.keys(), (chain): Table => tableOf(chain))) {
    const mine = chains.filter((chain) => own.has(chain)).map(nameOf);
    const references = chains
      .filter((chain) => BUILT_IN.has(nameOf(chain)))
      .flatMap((chain) => rulesInto(saved, chain, own).map((rule) => `-D ${nameOf(chain)} ${rule}\n`));
    if (mine.length === 0 && references.length === 0) continue;
    lines.push(
      `*${table}\n`,
      ...mine.map((name) => `:${name} - [0:0]\n`),
      ...references,
      ...mine.map((name) => `-X ${name}\n`),
      'COMMIT\n',
    );
  }
  return { input: lines, leftovers };
}

function rulesInto(saved: SavedRules, from: ChainId, targets: ReadonlySet<ChainId>): string[] {
  const table = tableOf(from);
  return (saved.get(from) ?? []).filter((rule) => targets.has(`${table} ${targetOf(rule) ?? ''}`));
}

/** Takes chains that have to stay out of `own`. */
function keepReferenced(saved: SavedRules, own: Set<ChainId>): Leftover[] {
  const leftovers: Leftover[] = [];
  const keep = (chain: ChainId, by: ChainId): void => {
    if (!own.delete(chain)) return;
    leftovers.push({ object: chain, reason: `${nameOf(by)} jumps to it` });
    follow(chain);
  };
  const follow = (from: ChainId): void => {
    for (const rule of saved.get(from) ?? []) keep(`${tableOf(from)} ${targetOf(rule) ?? ''}`, from);
  };
  for (const chain of saved.keys()) {
    if (!isOwn(chain) && !BUILT_IN.has(nameOf(chain))) follow(chain);
  }
  return leftovers;
}
