/** What IPVS needs of the node beside rules: settings of the kernel, read and written as text. */
import type { IpvsSettings } from './settings.ts';

/** Sysctls by name, and the values they must have. Sources: kube-proxy 1.36; kernel, networking/ipvs-sysctl. */
export function wantedSysctls(settings: IpvsSettings, kernel: string): ReadonlyMap<string, string> {
  return new Map([
    // Without connection tracking nothing that IPVS forwards can be masqueraded.
    ['net.ipv4.vs.conntrack', '1'],
    // A connection whose real server is gone ends at once instead of timing out.
    ['net.ipv4.vs.expire_nodest_conn', '1'],
    // A client tied to a real server that drains is given another one.
    ['net.ipv4.vs.expire_quiescent_template', '1'],
    ['net.ipv4.ip_forward', '1'],
    ...(reusesBadly(kernel) ? [['net.ipv4.vs.conn_reuse_mode', '0'] as const] : []),
    ...(settings.strictARP
      ? [['net.ipv4.conf.all.arp_ignore', '1'] as const, ['net.ipv4.conf.all.arp_announce', '2'] as const]
      : []),
  ]);
}

/**
 * From 4.1 to before 5.9 a client port that is used again within the time of the old connection delays the new one
 * by a second (kubernetes/kubernetes#81775).
 */
function reusesBadly(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number);
  return (major > 4 || (major === 4 && minor >= 1)) && (major < 5 || (major === 5 && minor < 9));
}

/** The `sysctl` call for those that differ; undefined when none does. */
export function sysctlCommand(
  wanted: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): readonly [string, ...string[]] | undefined {
  const different = [...wanted].filter(([name, value]) => found.get(name) !== value);
  if (different.length === 0) return undefined;
  return ['sysctl', '-q', '-w', ...different.map(([name, value]) => `${name}=${value}`)];
}

/** `net.ipv4.vs.conntrack = 0` by lines. */
export function parseSysctls(text: string): Map<string, string> {
  return new Map(
    text.split('\n').flatMap((line) => {
      const [name, value] = line.split(' = ');
      return name && value !== undefined ? [[name, value.trim()] as const] : [];
    }),
  );
}

/** The `ipvsadm --set` call; undefined when nothing is to be set or it is so already. */
export function timeoutsCommand(
  { timeouts }: IpvsSettings,
  found: readonly number[],
): readonly [string, ...string[]] | undefined {
  if (timeouts === undefined) return undefined;
  // 0 means the same to ipvsadm: leave it.
  const values = [timeouts.tcp, timeouts.tcpFin, timeouts.udp];
  if (values.every((value, index) => value === 0 || value === found[index])) return undefined;
  return ['ipvsadm', '--set', ...values.map(String)];
}

/** `Timeout (tcp tcpfin udp): 900 120 300` */
export function parseTimeouts(text: string): number[] {
  const match = /: (\d+) (\d+) (\d+)/.exec(text);
  return match === null ? [] : match.slice(1).map(Number);
}
