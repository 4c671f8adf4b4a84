/**
 * What there is to say about each path beyond what asking it tells: what its body holds, and how it is beside
 * kube-proxy 1.36's. The table of docs/endpoints.md is made of this and of the answers themselves (docs.ts).
 */
import type { Parity } from '../docs/parity.ts';

export interface EndpointNote {
  /** With a star for what may be anything. */
  readonly path: string;
  readonly body: string;
  readonly parity: Parity;
}

export const SERVERS = {
  healthz: 'health check, `--healthz-bind-address`',
  metrics: 'metrics, `--metrics-bind-address`',
  service: 'health check of a Service, its `healthCheckNodePort`',
} as const;

export type ServerName = keyof typeof SERVERS;

const GO_PROFILES =
  "these are profiles of Go's runtime; `node --inspect` and `--cpu-prof` make those of Node.js";

const ANY_METHOD: Parity = {
  different: 'kube-proxy answers whatever the method; nothing here is changed by a request',
};

const UNREADABLE: readonly EndpointNote[] = [
  { path: 'other methods than GET and HEAD', body: '`method not allowed`', parity: ANY_METHOD },
  { path: 'broken escapes, as in `/%zz`', body: '`400 Bad Request`', parity: 'same' },
];

const OTHERS: readonly EndpointNote[] = [
  { path: 'other paths', body: '`404 page not found`', parity: 'same' },
  ...UNREADABLE,
];

export const ENDPOINT_NOTES: Readonly<Record<ServerName, readonly EndpointNote[]>> = {
  healthz: [
    {
      path: '/healthz',
      body: 'JSON in one line: `lastUpdated`, `currentTime`, `nodeEligible`, `healthy`, and `status` by IP family. 503 when changes of a family have waited for two sync periods, or the Node is about to go',
      parity: 'same',
    },
    { path: '/livez', body: 'the same without `nodeEligible`, whatever the Node', parity: 'same' },
    {
      path: 'paths with `//`, `/./` or `/../`',
      body: 'a link to the path without them, with the query',
      parity: 'same',
    },
    ...OTHERS,
  ],
  metrics: [
    {
      path: '/healthz',
      body: '`ok`; a line for each check with `?verbose`, without those of `?exclude=`',
      parity: 'same',
    },
    { path: '/healthz/ping', body: '`ok`', parity: 'same' },
    {
      path: '/metrics',
      body: 'the Prometheus text format, or OpenMetrics for who asks for it: [metrics](metrics.md)',
      parity: {
        different:
          'no protobuf, and never compressed: both are for the scraper to wish for, and it takes the text as it is',
      },
    },
    {
      path: '/metrics/slis',
      body: '`kubernetes_healthcheck` and `kubernetes_healthchecks_total`, once there was a check',
      parity: { different: 'the checks of `/readyz` are counted too' },
    },
    {
      path: '/proxyMode',
      body: '`nftables`, `iptables` or `ipvs`, without a newline',
      parity: 'same',
    },
    {
      path: '/configz',
      body: 'the configuration in force, defaults included, under `kubeproxy.config.k8s.io`',
      parity: 'same',
    },
    {
      path: '/flagz',
      body: 'each flag as it was given, else its default. 406 for a structure that there is not',
      parity: { different: 'called `kube-rulesync run`, it has the flags that are ours too' },
    },
    {
      path: '/statusz',
      body: 'start, uptime, versions and paths. 406 for a structure that there is not',
      parity: {
        different:
          "the binary version is this program's, the emulation version Kubernetes', and where Go components tell the version of Go there is that of Node.js",
      },
    },
    {
      path: '/readyz',
      body: "`ok`, or what is wrong: each family's rules, and the source of objects",
      parity: 'ours',
    },
    { path: '/readyz/*', body: 'one of its checks: `rules-ipv4`, `rules-ipv6`, `source`', parity: 'ours' },
    { path: '/debug/pprof/*', body: '', parity: { notHere: GO_PROFILES } },
    {
      path: '/debug/flags/v',
      body: '',
      parity: {
        notHere: 'a PUT would change how much is logged, and these servers change nothing; `-v` does',
      },
    },
    ...OTHERS,
  ],
  service: [
    {
      path: '*',
      body: 'JSON, indented by tabs: the Service, `localEndpoints` (which is the weight), `serviceProxyHealthy`. 503 without a ready endpoint here, and while `/livez` says so',
      parity: {
        different:
          'a Service that is gone is answered with 503 for as long as a connection lasts, and not with 200 and no body (Q17)',
      },
    },
    ...UNREADABLE,
  ],
};
