/** Takes away what any mode left on this machine, for both IP families. */
import { IptablesNotFoundError } from '../node/iptables-variant.ts';
import { ToolError } from '../node/runner.ts';
import type { Backend, Leftover } from '../reconcile/backend.ts';

export interface CleanupReport {
  /** What is ours and still there, and why. */
  readonly leftovers: readonly Leftover[];
  /** What was not looked at, because there is no tool or no part of the kernel that could hold anything of ours. */
  readonly skipped: readonly string[];
}

/**
 * A chain of one mode may hold on to one of another, so what is left is tried once more when the others are through.
 * Never rejects.
 */
export async function cleanUp(backends: readonly Backend[]): Promise<CleanupReport> {
  const skipped: string[] = [];
  const round = async (of: readonly Backend[]) => {
    const results: { readonly backend: Backend; readonly leftovers: readonly Leftover[] }[] = [];
    // One after the other: they share locks, and chains.
    for (const backend of of) {
      const name = `${backend.mode} ${backend.family}`;
      try {
        results.push({ backend, leftovers: await backend.cleanup() });
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
  return undefined;
}
