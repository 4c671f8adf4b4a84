/** The Events of this program: kube-proxy's, and one for a Service whose rules are refused. */
import type { IpFamily, ObjectKey } from '../cluster/values.ts';
import type { ReconcileObserver } from '../reconcile/observer.ts';
import type { EventSpec } from './event.ts';

export interface ProxyEventsOptions {
  readonly nodeName: string;
  readonly record: (event: EventSpec) => void;
}

/** Hang it on the reconciler as an observer. */
export class ProxyEvents implements ReconcileObserver {
  readonly #options: ProxyEventsOptions;

  constructor(options: ProxyEventsOptions) {
    this.#options = options;
  }

  /** This program has started. */
  starting(): void {
    this.#ofNode('Normal', 'Starting', '');
  }

  /** The health check of this program cannot listen, and it ends for that. */
  healthzFailed(error: Error): void {
    this.#ofNode('Warning', 'FailedToStartProxierHealthcheck', error.message);
  }

  /** The metrics server cannot listen, and this program ends for that. */
  metricsFailed(error: Error): void {
    this.#ofNode('Warning', 'FailedToStartMetricServer', error.message);
  }

  /** The health check of a Service cannot listen on its port. */
  serviceHealthFailed(service: ObjectKey, port: number, error: Error): void {
    const { nodeName } = this.#options;
    this.#options.record({
      regarding: regardingService(service),
      type: 'Warning',
      reason: 'FailedToStartServiceHealthcheck',
      action: 'Listen',
      note: `node ${nodeName} failed to start healthcheck ${JSON.stringify(service)} on port ${port}: ${error.message}`,
    });
  }

  setAside(family: IpFamily, service: ObjectKey, error: Error): void {
    const { nodeName } = this.#options;
    this.#options.record({
      regarding: regardingService(service),
      type: 'Warning',
      reason: 'ServiceSetAside',
      action: 'SyncProxyRules',
      note: `node ${nodeName} cannot program this Service for ${family} and leaves it as it was until it changes: ${error.message}`,
    });
  }

  #ofNode(type: EventSpec['type'], reason: string, note: string): void {
    const { nodeName, record } = this.#options;
    const regarding = { kind: 'Node', namespace: '', name: nodeName } as const;
    record({ regarding, type, reason, action: 'StartKubeProxy', note });
  }
}

function regardingService(service: ObjectKey): EventSpec['regarding'] {
  const [namespace = '', name = ''] = service.split('/');
  return { kind: 'Service', namespace, name };
}
