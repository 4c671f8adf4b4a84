/** Takes away what any mode left on this machine, for both IP families. */
import { IptablesNotFoundError } from '../node/iptables-variant.ts';
import { ToolError } from '../node/runner.ts';
import type { Backend, Leftover, ProxyMode, Retreat } from '../reconcile/backend.ts';

export interface CleanupReport {
  /** What is ours and still there, and why. */
  readonly leftovers: readonly Leftover[];
  /** What was not looked at, because there is no tool or no part of the kernel that could hold anything of ours. */
  readonly skipped: readonly string[];
}

export interface RetreatReport extends CleanupReport {
  /** Back ends of which something stays for open connections, and what. */
  readonly waiting: ReadonlyMap<Backend, readonly string[]>;
}

/** Removes everything. Never rejects. */
export async function cleanUp(backends: readonly Backend[]): Promise<CleanupReport> {
  const { leftovers, skipped } = await sweep(backends, removeAll);
  return { leftovers, skipped };
}

/** Removes what is not needed while `successor` is in force. Never rejects. */
export function giveWay(backends: readonly Backend[], successor: ProxyMode): Promise<RetreatReport> {
  return sweep(backends, (backend) => backend.giveWay?.(successor) ?? removeAll(backend));
}

async function removeAll(backend: Backend): Promise<Retreat> {
  return { leftovers: await backend.cleanup(), waiting: [] };
}

/** A chain of one mode may hold on to one of another, so what is left is tried once more when the others are through. */
async function sweep(
  backends: readonly Backend[],
  remove: (backend: Backend) => Promise<Retreat>,
): Promise<RetreatReport> {
  const skipped: string[] = [];
  const waiting = new Map<Backend, readonly string[]>();
  const round = async (of: readonly Backend[]) => {
    const results: { readonly backend: Backend; readonly leftovers: readonly Leftover[] }[] = [];
    // One after the other: they share locks, and chains.
    for (const backend of of) {
      const name = `${backend.mode} ${backend.family}`;
      try {
        const retreat = await remove(backend);
        results.push({ backend, leftovers: retreat.leftovers });
        if (retreat.waiting.length > 0) waiting.set(backend, retreat.waiting);
        else waiting.delete(backend);
      } catch (error) {
        const absence = absenceFrom(error);
        if (absence !== undefined) skipped.push(`${name}: ${absence}`);
        else results.push({ backend, leftovers: [{ object: 'rules', reason: reasonOf(error) }] });
      }
    }
    return results.filter(({ leftovers }) => leftovers.length > 0);
  };
  const first = await round(backends);
  const second = await round(first.map(({ backend }) => backend));
  return {
    leftovers: second.flatMap(({ backend, leftovers }) =>
      leftovers.map(({ object, reason }) => ({
        object: `${object} (${backend.mode} ${backend.family})`,
        reason,
      })),
    ),
    skipped,
    waiting,
  };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Why nothing of a mode can be here; `undefined` when the error says nothing of the kind. */
function absenceFrom(error: unknown): string | undefined {
  if (error instanceof IptablesNotFoundError) return 'iptables is not installed';
  if (!(error instanceof ToolError)) return undefined;
  const [tool = ''] = error.argv;
  if (error.reason === 'missing') return `${tool} is not installed`;
  if (/ipvsadm/.test(tool) && /Protocol not available|IP Virtual Server|No such file/i.test(error.stderr)) {
    return 'the kernel has no IPVS';
  }
  if (/nft$/.test(tool) && /not supported/.test(error.stderr)) return 'the kernel has no nf_tables';
  return undefined;
}
