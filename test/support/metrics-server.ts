import { pino } from 'pino';
import { Registry } from '../../src/metrics/registry.ts';
import type { Listener } from '../../src/serve/http.ts';
import { createMetricsServer, type MetricsServerOptions } from '../../src/serve/metrics-server.ts';

/** A metrics server of IPVS mode on a free port of 127.0.0.1, with nothing to tell. */
export function bareMetricsServer(options: Partial<MetricsServerOptions> = {}): Listener {
  return createMetricsServer({
    host: '127.0.0.1',
    port: 0,
    log: pino({ level: 'silent' }),
    mode: 'ipvs',
    registry: new Registry(),
    version: 'v0.1.0',
    startedAt: 0,
    configs: {},
    flags: {},
    readiness: [],
    ...options,
  });
}
