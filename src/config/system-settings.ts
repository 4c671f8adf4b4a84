/** What the options ask of this machine beside rules: kube-proxy's sysctls for connection tracking. */
import type { Options } from './options.ts';

export interface SystemSetting {
  /** Under /proc/sys or /sys. */
  readonly path: string;
  readonly value: number;
  /** A value that is already larger stays. */
  readonly onlyRaise: boolean;
}

type ConntrackOptions = Pick<
  Options,
  | 'conntrackMaxPerCore'
  | 'conntrackMin'
  | 'conntrackTcpTimeoutEstablished'
  | 'conntrackTcpTimeoutCloseWait'
  | 'conntrackTcpBeLiberal'
  | 'conntrackUdpTimeout'
  | 'conntrackUdpTimeoutStream'
>;

const NETFILTER = '/proc/sys/net/netfilter';
const HASH_SIZE = '/sys/module/nf_conntrack/parameters/hashsize';

/** What more than this many connections cost in memory is not to follow from the number of cores alone. */
const SCALED_CAP = 1_048_576;

/** Pure. The order is that of writing: the hash table grows with the number of connections. */
export function systemSettings(options: ConntrackOptions, cpus: number): SystemSetting[] {
  const max = conntrackMax(options, cpus);
  const seconds = (name: string, milliseconds: number) =>
    milliseconds > 0 ? [setting(`${NETFILTER}/${name}`, Math.max(1, Math.floor(milliseconds / 1000)))] : [];
  return [
    ...(max > 0 ? [setting(`${NETFILTER}/nf_conntrack_max`, max)] : []),
    ...(max > 0 ? [setting(HASH_SIZE, Math.floor(max / 4), true)] : []),
    ...seconds('nf_conntrack_tcp_timeout_established', options.conntrackTcpTimeoutEstablished),
    ...seconds('nf_conntrack_tcp_timeout_close_wait', options.conntrackTcpTimeoutCloseWait),
    ...(options.conntrackTcpBeLiberal ? [setting(`${NETFILTER}/nf_conntrack_tcp_be_liberal`, 1)] : []),
    ...seconds('nf_conntrack_udp_timeout', options.conntrackUdpTimeout),
    ...seconds('nf_conntrack_udp_timeout_stream', options.conntrackUdpTimeoutStream),
  ];
}

function setting(path: string, value: number, onlyRaise = false): SystemSetting {
  return { path, value, onlyRaise };
}

/** 0: leave the kernel's. `--conntrack-min` is a floor for the capped value too, unlike in kube-proxy 1.36. */
function conntrackMax(options: ConntrackOptions, cpus: number): number {
  if (options.conntrackMaxPerCore === 0) return 0;
  return Math.max(options.conntrackMin, Math.min(options.conntrackMaxPerCore * cpus, SCALED_CAP));
}
