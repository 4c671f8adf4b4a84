/** SIGTERM and SIGINT end the daemon; as process 1 of a container it would otherwise get neither. */
import type { Logger } from '../log/logger.ts';
import { OK } from './exit.ts';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** A tool at work gets this long to finish: what it is given then comes whole. */
const GRACE_MS = 5000;

export interface StopSignal {
  /** Aborted by the first signal. A second one, or time, ends the process at once. */
  readonly signal: AbortSignal;
  /** Takes the handlers away. */
  release(): void;
}

export function stopSignal(log: Logger): StopSignal {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) process.exit(OK);
    log.info({ signal: name }, 'Stopping');
    controller.abort();
    setTimeout(() => process.exit(OK), GRACE_MS).unref();
  };
  for (const name of SIGNALS) process.on(name, stop);
  return {
    signal: controller.signal,
    release() {
      for (const name of SIGNALS) process.off(name, stop);
    },
  };
}
