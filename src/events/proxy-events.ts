/** The Events of this program: kube-proxy's, and one for a Service whose rules are refused. */
import type { IpFamily, ObjectKey } from '../cluster/values.ts';
import type { ProxyMode } from '../reconcile/backend.ts';
import type { ReconcileObserver } from '../reconcile/observer.ts';
import { EVENTS, type ReasonAbout } from './catalogue.ts';
import type { EventSpec } from './event.ts';

export interface ProxyEventsOptions {
  readonly nodeName: string;
  readonly mode: ProxyMode;
  readonly record: (event: EventSpec) => void;
}

/** kube-proxy warns of IPVS mode; whoever looks for that finds this. */
const IPVS_STAYS =
  "kube-proxy's ipvs mode is deprecated since Kubernetes 1.35 and on its way out (KEP-5495). kube-rulesync keeps its own; plan for nftables mode if this node is to go back to kube-proxy.";

/** Hang it on the reconciler as an observer. */
export class ProxyEvents implements ReconcileObserver {
  readonly #options: ProxyEventsOptions;

  constructor(options: ProxyEventsOptions) {
    this.#options = options;
  }

  /** This program has started. */
  starting(): void {
    if (this.#options.mode === 'ipvs') this.#ofNode('IPVSDeprecation', IPVS_STAYS);
    this.#ofNode('Starting', '');
  }

  /** The health check of this program cannot listen, and it ends for that. */
  healthzFailed(error: Error): void {
    this.#ofNode('FailedToStartProxierHealthcheck', error.message);
  }

  /** The metrics server cannot listen, and this program ends for that. */
  metricsFailed(error: Error): void {
    this.#ofNode('FailedToStartMetricServer', error.message);
  }

  /** The health check of a Service cannot listen on its port. */
  serviceHealthFailed(service: ObjectKey, port: number, error: Error): void {
    this.#ofService(
      'FailedToStartServiceHealthcheck',
      service,
      `failed to start healthcheck ${JSON.stringify(service)} on port ${port}: ${error.message}`,
    );
  }

  setAside(family: IpFamily, service: ObjectKey, error: Error): void {
    this.#ofService(
      'ServiceSetAside',
      service,
      `cannot program this Service for ${family} and leaves it as it was until it changes: ${error.message}`,
    );
  }

  #ofNode(reason: ReasonAbout<'Node'>, note: string): void {
    const { nodeName, record } = this.#options;
    const { type, action } = EVENTS[reason];
    record({ regarding: { kind: 'Node', namespace: '', name: nodeName }, type, reason, action, note });
  }

  /** @param what the node does or fails to do */
  #ofService(reason: ReasonAbout<'Service'>, service: ObjectKey, what: string): void {
    const { nodeName, record } = this.#options;
    const { type, action } = EVENTS[reason];
    const [namespace = '', name = ''] = service.split('/');
    const regarding = { kind: 'Service', namespace, name } as const;
    record({ regarding, type, reason, action, note: `node ${nodeName} ${what}` });
  }
}
