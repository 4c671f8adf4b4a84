/** A back end that says what it would do: the same plans, diffs and steps, printed instead of applied. */
import type { Backend, Step } from '../reconcile/backend.ts';

/**
 * `backend` as if the kernel held nothing of ours, whose steps go to `write` in their native text. Where a mode has
 * several tools, or one for each family, each input is headed by a comment with the command that would read it.
 */
export function printingBackend(backend: Backend, write: (text: string) => void): Backend {
  return {
    mode: backend.mode,
    family: backend.family,
    probe: () => backend.probe(),
    observe: async () => undefined,
    audit: async () => [],
    diff: (change) => backend.diff(change),
    collect: () => backend.collect(),
    check: async () => undefined,
    apply: async (step) => printStep(step, backend.mode !== 'nftables', write),
    cleanup: async () => [],
  };
}

/** What the tool would read; a tool that reads nothing is shown as it would be called. */
function printStep(step: Step, headed: boolean, write: (text: string) => void): void {
  const command = `${step.argv.join(' ')}\n`;
  if (step.stdin.length === 0) write(command);
  else if (headed) write(`# ${command}`);
  for (const piece of step.stdin) write(piece);
}
