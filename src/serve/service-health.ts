/**
 * Health checks of single Services: a load balancer asks `healthCheckNodePort` whether this node has endpoints of
 * a Service with externalTrafficPolicy Local, and sends nothing here when it has none.
 */

import type { IpFamily, ObjectKey } from '../cluster/values.ts';
import type { Logger } from '../log/logger.ts';
import { compareText } from '../net/ip.ts';
import type { Answer } from './answer.ts';
import { joinHostPort, type Limits, Listener } from './http.ts';

export interface ServiceHealth {
  readonly port: number;
  /** Distinct addresses of ready endpoints on this node. */
  readonly localEndpoints: number;
}

/** What one Service's port answers, on any path: kube-proxy 1.36's body and headers. */
export function serviceHealthAnswer(
  service: ObjectKey,
  localEndpoints: number,
  proxyHealthy: boolean,
): Answer {
  const [namespace = '', name = ''] = service.split('/');
  return {
    status: localEndpoints > 0 && proxyHealthy ? 200 : 503,
    headers: {
      'Content-Type': 'application/json',
      'X-Content-Type-Options': 'nosniff',
      'X-Load-Balancing-Endpoint-Weight': `${localEndpoints}`,
    },
    body: JSON.stringify(
      { service: { namespace, name }, localEndpoints, serviceProxyHealthy: proxyHealthy },
      undefined,
      '\t',
    ),
  };
}

export interface ServiceHealthOptions {
  readonly family: IpFamily;
  /** Whether rules are being written in time. */
  readonly proxyHealthy: () => boolean;
  readonly log: Logger;
  /** Milliseconds between two attempts to listen; default 5,000. */
  readonly retryMs?: number;
  readonly limits?: Partial<Limits>;
  /** Told when a port cannot be opened at first; it goes on being tried. */
  readonly failed?: (service: ObjectKey, port: number, error: Error) => void;
}

/** The health check ports of one family. */
export class ServiceHealthServers {
  readonly #options: ServiceHealthOptions;
  #desired: ReadonlyMap<ObjectKey, ServiceHealth> = new Map();
  /** By Service, port and address. */
  readonly #listeners = new Map<string, Listener>();
  /** Ends when the last call of `sync` has. */
  #last: Promise<void> = Promise.resolve();

  constructor(options: ServiceHealthOptions) {
    this.#options = options;
  }

  /**
   * Opens what is new, closes what is gone and leaves the rest: one listener for each Service and address.
   * `addresses` are where node ports answer. Resolves when each new one has tried; one that cannot listen is
   * logged and goes on trying.
   */
  async sync(
    desired: ReadonlyMap<ObjectKey, ServiceHealth>,
    addresses: 'any' | readonly string[],
  ): Promise<void> {
    this.#desired = desired;
    this.#last = this.#last.then(() => this.#open(desired, addresses));
    await this.#last;
  }

  /** Where it listens, for tests and status: `127.0.0.1:30000`, sorted. */
  get addresses(): readonly string[] {
    return [...this.#listeners.values()]
      .flatMap(({ address }) => (address ? [joinHostPort(address.address, address.port)] : []))
      .sort(compareText);
  }

  async close(): Promise<void> {
    await this.sync(new Map(), []);
  }

  async #open(
    desired: ReadonlyMap<ObjectKey, ServiceHealth>,
    addresses: 'any' | readonly string[],
  ): Promise<void> {
    const wanted = new Map<string, () => Listener>();
    for (const [service, { port }] of desired) {
      for (const host of this.#hosts(addresses)) {
        wanted.set(`${service} ${port} ${host}`, () => this.#listener(service, host, port));
      }
    }
    const gone = [...this.#listeners].filter(([key]) => !wanted.has(key));
    for (const [key] of gone) this.#listeners.delete(key);
    // A port may go from one Service to another, so the old ones are closed first.
    await Promise.all(gone.map(([, listener]) => listener.close()));
    const started: Promise<void>[] = [];
    for (const [key, create] of wanted) {
      if (this.#listeners.has(key)) continue;
      const listener = create();
      this.#listeners.set(key, listener);
      started.push(listener.start());
    }
    await Promise.all(started);
  }

  #hosts(addresses: 'any' | readonly string[]): readonly string[] {
    if (addresses !== 'any') return addresses;
    return [this.#options.family === 'IPv4' ? '0.0.0.0' : '::'];
  }

  #listener(service: ObjectKey, host: string, port: number): Listener {
    const { log, proxyHealthy, retryMs, limits = {}, failed } = this.#options;
    return new Listener({
      name: `${service} health check`,
      host,
      port,
      oneFamily: true,
      log,
      limits,
      ...(retryMs === undefined ? {} : { retryMs }),
      failed: (error) => failed?.(service, port, error),
      answer: () =>
        serviceHealthAnswer(service, this.#desired.get(service)?.localEndpoints ?? 0, proxyHealthy()),
    });
  }
}
