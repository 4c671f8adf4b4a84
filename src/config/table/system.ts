/** Options about this process and the kernel's connection tracking. */
import * as fields from '../fields.ts';
import { option } from '../option.ts';

const NOT_FATAL = 'a warning when it cannot be set, where kube-proxy ends; --init-only ends too';

export const systemOptions = {
  oomScoreAdj: option(fields.integer(-1000, 1000), '-999', {
    flag: 'oom-score-adj',
    value: '<score>',
    field: 'oomScoreAdj',
    zeroCounts: true,
    group: 'System',
    text: 'oom_score_adj of this process, -1000 to 1000',
  }),
  conntrackMaxPerCore: option(fields.integer(0, fields.INT32_MAX), '32768', {
    flag: 'conntrack-max-per-core',
    value: '<number>',
    field: 'conntrack.maxPerCore',
    zeroCounts: true,
    group: 'System',
    text: "connections to track per CPU core; 0 leaves the kernel's limit alone",
    differs: NOT_FATAL,
  }),
  conntrackMin: option(fields.integer(0, fields.INT32_MAX), '131072', {
    flag: 'conntrack-min',
    value: '<number>',
    field: 'conntrack.min',
    zeroCounts: true,
    group: 'System',
    text: 'connections to track at least, unless --conntrack-max-per-core is 0',
    differs: 'it is a floor also above 1048576, where kube-proxy caps what it computed (Q11)',
  }),
  conntrackTcpTimeoutEstablished: option(fields.duration('zero or more'), '24h', {
    flag: 'conntrack-tcp-timeout-established',
    value: '<duration>',
    field: 'conntrack.tcpEstablishedTimeout',
    zeroCounts: true,
    group: 'System',
    text: 'idle time of established TCP connections; 0 leaves it alone',
    differs: NOT_FATAL,
  }),
  conntrackTcpTimeoutCloseWait: option(fields.duration('zero or more'), '1h', {
    flag: 'conntrack-tcp-timeout-close-wait',
    value: '<duration>',
    field: 'conntrack.tcpCloseWaitTimeout',
    zeroCounts: true,
    group: 'System',
    text: 'idle time of TCP connections in CLOSE_WAIT; 0 leaves it alone',
    differs: NOT_FATAL,
  }),
  conntrackTcpBeLiberal: option(fields.bool(), 'false', {
    flag: 'conntrack-tcp-be-liberal',
    field: 'conntrack.tcpBeLiberal',
    group: 'System',
    text: 'set nf_conntrack_tcp_be_liberal: packets outside the TCP window are not invalid',
    differs: NOT_FATAL,
  }),
  conntrackUdpTimeout: option(fields.duration('zero or more'), '0s', {
    flag: 'conntrack-udp-timeout',
    value: '<duration>',
    field: 'conntrack.udpTimeout',
    group: 'System',
    text: 'idle time of UDP flows without a reply; 0 leaves it alone',
    differs: NOT_FATAL,
  }),
  conntrackUdpTimeoutStream: option(fields.duration('zero or more'), '0s', {
    flag: 'conntrack-udp-timeout-stream',
    value: '<duration>',
    field: 'conntrack.udpStreamTimeout',
    group: 'System',
    text: 'idle time of UDP flows with replies; 0 leaves it alone',
    differs: NOT_FATAL,
  }),
};
