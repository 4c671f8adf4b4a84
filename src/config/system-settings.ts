/** What the options ask of this machine beside rules: kube-proxy's sysctls. */
import { DEFAULT_FEATURES, localhostNodePorts } from '../../backends/iptables/features.ts';
import { wantedSysctls } from '../../backends/ipvs/host.ts';
import { nodePlan } from './node-plan.ts';
import type { Options } from './options.ts';

export interface SystemSetting {
  /** Under /proc or /sys. */
  readonly path: string;
  readonly value: number;
  /** A value that is already larger stays. */
  readonly onlyRaise: boolean;
  /** Where it cannot be written, a larger value serves as well. */
  readonly largerServes: boolean;
  /** Something works differently without it; the others are about speed. */
  readonly essential: boolean;
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

/**
 * Settings of connection tracking, whatever the mode. Pure. The order is that of writing: the hash table grows with
 * the number of connections.
 */
export function systemSettings(options: ConntrackOptions, cpus: number): SystemSetting[] {
  const max = conntrackMax(options, cpus);
  const seconds = (name: string, milliseconds: number) =>
    milliseconds > 0 ? [setting(`${NETFILTER}/${name}`, Math.max(1, Math.floor(milliseconds / 1000)))] : [];
  return [
    // In a container of its own network (kind) the limit can be read and not written: it is the host's.
    ...(max > 0 ? [setting(`${NETFILTER}/nf_conntrack_max`, max, { largerServes: true })] : []),
    // In LXC, and wherever else /sys is read-only, the table stays as large as it is.
    ...(max > 0 ? [setting(HASH_SIZE, Math.floor(max / 4), { onlyRaise: true, essential: false })] : []),
    ...seconds('nf_conntrack_tcp_timeout_established', options.conntrackTcpTimeoutEstablished),
    ...seconds('nf_conntrack_tcp_timeout_close_wait', options.conntrackTcpTimeoutCloseWait),
    ...(options.conntrackTcpBeLiberal ? [setting(`${NETFILTER}/nf_conntrack_tcp_be_liberal`, 1)] : []),
    ...seconds('nf_conntrack_udp_timeout', options.conntrackUdpTimeout),
    ...seconds('nf_conntrack_udp_timeout_stream', options.conntrackUdpTimeoutStream),
  ];
}

/** kube-proxy's; that it cannot be set is logged and no more. */
export function oomScore(options: Pick<Options, 'oomScoreAdj'>): SystemSetting {
  return setting('/proc/self/oom_score_adj', options.oomScoreAdj, { essential: false });
}

/**
 * What the mode itself sets when it writes rules, for a start that may not: its back end finds it set then.
 * @param nodeAddresses every address of this node's interfaces, canonical
 * @param kernel `uname -r`
 */
export function modeSettings(
  options: Options,
  nodeAddresses: readonly string[],
  kernel: string,
): SystemSetting[] {
  switch (options.proxyMode) {
    case 'nftables':
      return [];
    case 'iptables': {
      const plan = nodePlan(options, undefined, [], nodeAddresses, 'IPv4');
      const features = { ...DEFAULT_FEATURES, localhostNodePorts: options.localhostNodePorts };
      return localhostNodePorts(plan, features) ? [sysctl('net.ipv4.conf.all.route_localnet', 1)] : [];
    }
    case 'ipvs': {
      const wanted = wantedSysctls({ strictARP: options.ipvsStrictArp }, kernel);
      return Array.from(wanted, ([name, value]) => sysctl(name, Number(value)));
    }
  }
}

function sysctl(name: string, value: number): SystemSetting {
  return setting(`/proc/sys/${name.replaceAll('.', '/')}`, value);
}

function setting(
  path: string,
  value: number,
  traits: Partial<Omit<SystemSetting, 'path' | 'value'>> = {},
): SystemSetting {
  return { path, value, onlyRaise: false, largerServes: false, essential: true, ...traits };
}

/** 0: leave the kernel's. `--conntrack-min` is a floor for the capped value too, unlike in kube-proxy 1.36. */
function conntrackMax(options: ConntrackOptions, cpus: number): number {
  if (options.conntrackMaxPerCore === 0) return 0;
  return Math.max(options.conntrackMin, Math.min(options.conntrackMaxPerCore * cpus, SCALED_CAP));
}
