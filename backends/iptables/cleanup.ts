/** What takes our rules away and leaves everybody else's: references go before chains, in one input. */
import { ToolError } from '../../src/node/runner.ts';
import type { Leftover, ProxyMode } from '../../src/reconcile/backend.ts';
import { SHARED_CHAINS } from '../shared/mode-overlap.ts';
import { INVALID_COUNTER, LOCALHOST_COUNTER } from './features.ts';
import { type ChainId, isOwn, nameOf, type Table, tableOf } from './names.ts';
import { parseSave, type SavedRules, targetOf } from './save.ts';
import type { Input } from './script.ts';
import type { Tools } from './tools.ts';

/**
 * Removes what is ours from the tables of both variants, where they are installed: what is left in the other one is
 * in force too. Rejects with a `ToolError` when rules are there and cannot be removed.
 * @param successor the mode that is in force instead. Chains that IPVS mode has under the same names are its own
 *   then, in the variant in use
 */
export async function cleanup(tools: Tools, successor?: ProxyMode): Promise<Leftover[]> {
  const leftovers: Leftover[] = [];
  const inUse = tools.found?.variant === 'legacy' ? '-legacy' : '-nft';
  for (const suffix of new Set([tools.found?.suffix ?? '', '-nft', '-legacy'])) {
    const saved = await saveAll(tools, suffix);
    if (saved === undefined) continue;
    if (!(saved instanceof Map)) {
      leftovers.push(saved);
      continue;
    }
    const shares = successor === 'ipvs' && (suffix === tools.found?.suffix || suffix === inUse);
    const plan = planCleanup(saved, shares ? IPVS_CHAINS : undefined);
    if (plan.input.length > 0) await tools.run(tools.restoreArgv(suffix), plan.input);
    leftovers.push(...plan.leftovers);
  }
  for (const counter of [INVALID_COUNTER, LOCALHOST_COUNTER]) {
    // The other family's rules may still count with it, or there is none.
    await tools.run(['nfacct', 'delete', counter]).catch(() => undefined);
  }
  return leftovers;
}

/**
 * Without `-t`, which would make the legacy tool create the table. Undefined when the tool is not there. What it may
 * not look at, or cannot, may hold rules of ours: the legacy tool takes CAP_NET_RAW besides.
 */
async function saveAll(tools: Tools, suffix: string): Promise<SavedRules | Leftover | undefined> {
  try {
    return parseSave((await tools.run([tools.name('-save', suffix)])).stdout);
  } catch (error) {
    if (suffix === tools.found?.suffix || !(error instanceof ToolError)) throw error;
    if (error.reason === 'missing') return undefined;
    return {
      object: `whatever ${tools.name('', suffix)} has`,
      reason: `it cannot be read: ${error.message}`,
    };
  }
}

export interface CleanupPlan {
  /** Empty when there is nothing of ours. */
  readonly input: Input;
  readonly leftovers: readonly Leftover[];
}

/** Chains that IPVS mode has too. */
export const IPVS_CHAINS: ReadonlySet<ChainId> = new Set(
  Object.entries(SHARED_CHAINS).flatMap(([table, names]) =>
    names.map((name): ChainId => `${table as Table} ${name}`),
  ),
);

/** How we, and not IPVS mode, come into a chain that both modes have. */
const OUR_WAY = /--comment "kubernetes load balancer firewall" -j KUBE-PROXY-FIREWALL$/;

const BUILT_IN: ReadonlySet<string> = new Set(['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING']);

/**
 * KUBE-FIREWALL and kubelet's hint are not ours to remove. A chain that somebody else's chain jumps to stays, rules
 * and all, with the chains it jumps to: a CNI plugin may rely on KUBE-MARK-MASQ.
 * @param theirs chains that have become somebody else's, rules and all
 */
export function planCleanup(saved: SavedRules, theirs: ReadonlySet<ChainId> = new Set()): CleanupPlan {
  const own = new Set([...saved.keys()].filter((chain) => isOwn(chain) && !theirs.has(chain)));
  const leftovers = keepReferenced(saved, own);
  const lines: string[] = [];
  for (const [table, chains] of Map.groupBy(saved.keys(), (chain): Table => tableOf(chain))) {
    const mine = chains.filter((chain) => own.has(chain)).map(nameOf);
    const references = chains
      .filter((chain) => BUILT_IN.has(nameOf(chain)))
      .flatMap((chain) =>
        (saved.get(chain) ?? [])
          .filter((rule) => leadsInto(own, table, rule) || (theirs.size > 0 && OUR_WAY.test(rule)))
          .map((rule) => `-D ${nameOf(chain)} ${rule}\n`),
      );
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

function leadsInto(chains: ReadonlySet<ChainId>, table: Table, rule: string): boolean {
  return chains.has(`${table} ${targetOf(rule) ?? ''}`);
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
  const others = [...saved.keys()].filter((chain) => !own.has(chain) && !BUILT_IN.has(nameOf(chain)));
  for (const chain of others) follow(chain);
  return leftovers;
}
