import { setTimeout as pause } from 'node:timers/promises';

/**
 * Resolves as soon as `condition` holds; a condition that throws does not hold. Rejects when it has not within
 * `deadlineMs`, with what it threw last.
 */
export async function until(condition: () => boolean | Promise<boolean>, deadlineMs = 30_000): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  let cause: unknown;
  for (;;) {
    try {
      if (await condition()) return;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (Date.now() >= deadline) {
      throw new Error(`not within ${deadlineMs} ms: ${condition.toString()}`, { cause });
    }
    await pause(20);
  }
}
