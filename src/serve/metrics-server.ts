/** The metrics server: kube-proxy 1.36's paths, status codes, headers and bodies, and `/readyz` beside them. */
import { LANGUAGE_VERSION } from '../metrics/build-info.ts';
import { exposition, formatFor } from '../metrics/exposition.ts';
import { HealthIndicators } from '../metrics/health-indicators.ts';
import type { Registry } from '../metrics/registry.ts';
import type { ProxyMode } from '../reconcile/backend.ts';
import { type Answer, type Asked, NOT_FOUND, TEXT_HEADERS } from './answer.ts';
import { type Check, type CheckGroup, checksAnswer, PING } from './checks.ts';
import { Listener, type ListenerOptions } from './http.ts';
import { anyDelimiter, flagzAnswer, statuszAnswer } from './zpages.ts';

export interface MetricsServerOptions
  extends RouteOptions,
    Pick<ListenerOptions, 'host' | 'port' | 'log' | 'retryMs' | 'failed' | 'limits'> {}

export interface RouteOptions {
  readonly mode: ProxyMode;
  readonly registry: Registry;
  /** `v0.1.0`. */
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The configuration in force, by the name that `/configz` has it under. Nothing in it may be secret. */
  readonly configs: Readonly<Record<string, object>>;
  /** Every flag's value as text, by its name without dashes; `undefined` for no `/flagz`. */
  readonly flags: Readonly<Record<string, string>> | undefined;
  /** Whether there is `/statusz`; default true. */
  readonly statusz?: boolean;
  readonly readiness: readonly Check[];
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** From [0, 1). */
  readonly random?: () => number;
}

/** The version whose behaviour this program has. */
const EMULATION_VERSION = '1.36';

/** What a path is answered; it is told which, as one route may have several. */
export type Route = (asked: Asked, path: string) => Answer | Promise<Answer>;

/** Call `start` to listen. */
export function createMetricsServer(options: MetricsServerOptions): Listener {
  const routes = metricsRoutes(options);
  return new Listener({
    ...options,
    name: 'metrics',
    answer: (path, asked) => (routes.get(path) ?? (() => NOT_FOUND))(asked, path),
  });
}

/** Every path that is there, and what it is answered. Where the server listens makes no difference. */
export function metricsRoutes(options: RouteOptions): ReadonlyMap<string, Route> {
  const { mode, registry, configs, flags, readiness, random = Math.random } = options;
  const indicators = new HealthIndicators();
  const configz = JSON.stringify(configs);
  const routes = new Map<string, Route>([
    ['/metrics', ({ accept }) => metricsAnswer(registry, accept)],
    ['/metrics/slis', ({ accept }) => metricsAnswer(indicators.registry, accept)],
    ['/proxyMode', () => ({ status: 200, headers: TEXT_HEADERS, body: mode })],
    ['/configz', () => ({ status: 200, headers: JSON_HEADERS, body: configz })],
    ...checkRoutes(group('healthz', [PING], indicators)),
    ...checkRoutes(group('readyz', readiness, indicators)),
  ]);
  if (flags) {
    const delimiter = anyDelimiter(random());
    routes.set('/flagz', (asked) => flagzAnswer(flags, delimiter, asked));
  }
  if (options.statusz ?? true) routes.set('/statusz', statusz(options, [...routes.keys(), '/statusz']));
  return routes;
}

function statusz(options: RouteOptions, paths: readonly string[]): Route {
  const { version, startedAt, now = Date.now, random = Math.random } = options;
  const status = {
    startedAt,
    languageVersion: LANGUAGE_VERSION,
    binaryVersion: version.replace(/^v/, ''),
    emulationVersion: EMULATION_VERSION,
    paths: paths.filter((path) => path.lastIndexOf('/') === 0).sort(),
  };
  return (asked) => statuszAnswer(status, now(), anyDelimiter(random()), asked);
}

const JSON_HEADERS = { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff' };

async function metricsAnswer(registry: Registry, accept: string): Promise<Answer> {
  const format = formatFor(accept);
  const body = exposition(await registry.read(), format);
  return { status: 200, headers: { 'Content-Type': format.contentType }, body };
}

function group(name: string, checks: readonly Check[], indicators: HealthIndicators): CheckGroup {
  return { name, checks, ran: (check, passed) => indicators.ran(check, name, passed) };
}

function checkRoutes(checks: CheckGroup): [string, Route][] {
  const answer: Route = ({ query }, path) => checksAnswer(checks, path, query);
  const own = `/${checks.name}`;
  return [[own, answer], ...checks.checks.map(({ name }): [string, Route] => [`${own}/${name}`, answer])];
}
