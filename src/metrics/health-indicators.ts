/** `/metrics/slis` (KEP-3466): what the last health checks came to, and how many came to what. */
import { Counter, Gauge } from './metric.ts';
import { Registry } from './registry.ts';

export class HealthIndicators {
  readonly registry = new Registry();
  readonly #last = new Gauge(
    'kubernetes_healthcheck',
    '[STABLE] The result of each health check, 1 for passed',
    ['name', 'type'],
  );
  readonly #total = new Counter(
    'kubernetes_healthchecks_total',
    '[STABLE] The results of all health checks',
    ['name', 'status', 'type'],
  );

  constructor() {
    this.registry.register(this.#last, this.#total);
  }

  /** @param type of the group of checks: `healthz` */
  ran(name: string, type: string, passed: boolean): void {
    this.#last.set({ name, type }, passed ? 1 : 0);
    this.#total.add({ name, status: passed ? 'success' : 'error', type });
  }
}
