/** A back end that says what it would do: the same plans, diffs and steps, printed instead of applied. */
import type { Backend, Step } from '../reconcile/backend.ts';

/** `backend` as if the kernel held nothing of ours, whose steps go to `write` in their native text. */
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
    apply: async (step) => printStep(step, write),
    cleanup: async () => [],
  };
}

/** What the tool would read; a tool that reads nothing is shown as it would be called. */
function printStep(step: Step, write: (text: string) => void): void {
  if (step.stdin.length === 0) write(`${step.argv.join(' ')}\n`);
  for (const piece of step.stdin) write(piece);
}
