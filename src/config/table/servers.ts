/** Options about what answers over HTTP. */
import * as fields from '../fields.ts';
import { option } from '../option.ts';

export const HEALTHZ_PORT = 10_256;
export const METRICS_PORT = 10_249;

const PORT_0 = 'port 0 is taken, and means that nothing listens';
/** A file says so with port 0 alone: in it the empty text means the default, as in kube-proxy. */
const NOWHERE = 'port 0 for nowhere';

export const serversOptions = {
  healthzBindAddress: option(fields.hostPort(), '0.0.0.0', {
    flag: 'healthz-bind-address',
    value: '<ip:port>',
    field: 'healthzBindAddress',
    shownDefault: `0.0.0.0:${HEALTHZ_PORT}`,
    group: 'Servers',
    text: `where /healthz and /livez answer; empty for nowhere (default: port ${HEALTHZ_PORT} of every address)`,
    fieldText: `where /healthz and /livez answer; ${NOWHERE}`,
    differs: PORT_0,
    flagDiffers: 'empty switches the server off, where kube-proxy passes over it',
  }),
  healthzPort: option(fields.integer(0, 65_535), `${HEALTHZ_PORT}`, {
    flag: 'healthz-port',
    value: '<port>',
    group: 'Servers',
    text: 'the port when --healthz-bind-address names none; 0 for no server',
    deprecated: 'use --healthz-bind-address',
  }),
  metricsBindAddress: option(fields.hostPort(), '127.0.0.1', {
    flag: 'metrics-bind-address',
    value: '<ip:port>',
    field: 'metricsBindAddress',
    shownDefault: `127.0.0.1:${METRICS_PORT}`,
    group: 'Servers',
    text: `where metrics are served; empty for nowhere (default: 127.0.0.1:${METRICS_PORT})`,
    fieldText: `where metrics are served; ${NOWHERE}`,
    differs: PORT_0,
    flagDiffers: 'empty switches the server off, as kube-proxy says and does not do (Q10)',
  }),
  metricsPort: option(fields.integer(0, 65_535), `${METRICS_PORT}`, {
    flag: 'metrics-port',
    value: '<port>',
    group: 'Servers',
    text: 'the port when --metrics-bind-address names none; 0 for no server',
    deprecated: 'use --metrics-bind-address',
    differs: '0 switches the server off, as kube-proxy says and does not do (Q10)',
  }),
  bindAddressHardFail: option(fields.bool(), 'false', {
    flag: 'bind-address-hard-fail',
    field: 'bindAddressHardFail',
    group: 'Servers',
    text: 'end when a server cannot listen, instead of trying again every 5 seconds',
  }),
  profiling: option(fields.bool(), 'false', {
    flag: 'profiling',
    field: 'enableProfiling',
    group: 'Without effect',
    text: 'serve /debug/pprof beside the metrics',
    differs: "Go's profiles do not exist in Node.js; `node --inspect` and `--cpu-prof` take its own",
  }),
  showHiddenMetricsForVersion: option(
    fields.textLike(/^1\.35$/, 'must be 1.35, the version before, or empty'),
    '',
    {
      flag: 'show-hidden-metrics-for-version',
      value: '<version>',
      field: 'showHiddenMetricsForVersion',
      group: 'Without effect',
      text: 'show metrics that were hidden since this version',
      differs: 'there are no hidden metrics',
    },
  ),
};
