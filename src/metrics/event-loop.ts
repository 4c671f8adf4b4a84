/** How late this process gets to do what is due: nothing else answers or writes in the meantime. */
import { Histogram } from './metric.ts';
import type { Registry } from './registry.ts';

const INTERVAL_MS = 500;
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Sets a timer twice a second and observes how late it comes, until the returned function is called. It keeps no
 * process alive.
 */
export function measureEventLoop(registry: Registry): () => void {
  const lag = new Histogram(
    'kube_rulesync_event_loop_lag_seconds',
    'How late a timer came that was set twice a second: how long everything else had to wait',
    BUCKETS,
    [],
  );
  registry.register(lag);
  let due = performance.now() + INTERVAL_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    lag.observe({}, Math.max(now - due, 0) / 1000);
    due = now + INTERVAL_MS;
  }, INTERVAL_MS).unref();
  return () => clearInterval(timer);
}
