/** What one proxy or another left in the kernel of a node, and how it gets there. */
import type { Host } from '../support/network/topology.ts';
import type { Scenario } from '../support/scenarios.ts';
import type { IpvsDump } from './dump.ts';
import type { UmlNode } from './node.ts';

export interface Recorded {
  readonly iptables: Pick<IpvsDump, 'iptablesSave' | 'ip6tablesSave'>;
  readonly ipvs: IpvsDump;
}

export function recordedBy({ kubeProxyDump }: Scenario): Recorded {
  return kubeProxyDump as unknown as Recorded;
}

/** Puts what kube-proxy left into the kernel. Counters of nfacct stay out: they are objects of their own. */
export async function load(at: UmlNode, dump: Partial<IpvsDump>): Promise<void> {
  const lines = (text = ''): string[] => text.split('\n').filter((line) => line !== '');
  const plain = (text = ''): string[] => lines(text.replaceAll(/ -m nfacct --nfacct-name +\S+/g, ''));
  await at.feed(
    ['ipset', 'restore'],
    lines(dump.ipsetSave).map((line) => line.replace(/ bucketsize .*/, '')),
  );
  await at.feed(['iptables-restore'], plain(dump.iptablesSave));
  await at.feed(['ip6tables-restore'], plain(dump.ip6tablesSave));
  const addresses = [...(dump.ipAddr ?? '').matchAll(/inet6? (\S+)/g)].map(([, address = '']) => address);
  if (addresses.length > 0) {
    await at.feed(
      ['ip', '-batch', '-'],
      ['link add kube-ipvs0 type dummy', ...addresses.map((one) => `address add ${one} dev kube-ipvs0`)],
    );
    const on = ['net.ipv4.vs.conntrack=1', 'net.ipv4.vs.expire_nodest_conn=1'];
    await at.read('sysctl', '-q', '-w', ...on);
  }
  await at.feed(['ipvsadm', '-R'], lines(dump.ipvsadm));
}

/** The rules in force, without counters and in an order that does not tell what came when. */
export async function rulesOf(at: UmlNode): Promise<string[]> {
  const listings = await Promise.all([at.read('iptables-save'), at.read('ip6tables-save')]);
  return listings.flatMap((listing) =>
    listing
      .split('\n')
      .filter((line) => !line.startsWith('#'))
      .map((line) => line.replace(/ \[\d+:\d+\]$/, ''))
      .sort(),
  );
}

/** How many connections IPVS has taken so far. */
export async function carried(at: UmlNode): Promise<number> {
  const stats = await at.read('cat', '/proc/net/ip_vs_stats');
  return Number.parseInt(stats.split('\n')[2]?.trim().split(/\s+/)[0] ?? '', 16);
}

/** How many SYNs a host had to send again: each is a connection that was lost at first. */
export async function repeatedSyns(at: UmlNode, host: Host): Promise<number> {
  const { stdout } = await at.net.exec(host, ['cat', '/proc/net/netstat']);
  const [names = [], values = []] = stdout
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  return Number(values[names.indexOf('TCPSynRetrans')]);
}

/** Everything that IPVS mode alone has, as the tools list it; what is not there is left out. */
export async function ipvsRemains(at: UmlNode): Promise<string[]> {
  const listings = await Promise.all([
    at.read('ipvsadm', '-Sn'),
    at.read('ipset', 'list', '-name'),
    at.read('ip', '-brief', 'address', 'show'),
    at.read('ip', 'route', 'show', 'table', 'local', 'proto', '107'),
    at.read('ip', '-6', 'route', 'show', 'table', 'local', 'proto', '107'),
    at.read('iptables-save'),
    at.read('ip6tables-save'),
  ]);
  return listings
    .join('')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) =>
      /^-[Aa] (-[tu]|--sctp)|^KUBE|kube-ipvs0|^local|^:KUBE-(IPVS|NODE-PORT |LOAD|SOURCE)|match-set|ipvs access|kube-proxy firewall/.test(
        line,
      ),
    );
}

/** The rules of iptables mode alone that are there. */
export async function iptablesRemains(at: UmlNode): Promise<string[]> {
  const listings = await Promise.all([at.read('iptables-save'), at.read('ip6tables-save')]);
  return listings.flatMap((listing) =>
    listing
      .split(/^\*/m)
      .flatMap((table) => {
        const [name = '', ...lines] = table.split('\n');
        return lines.map((line) => `${name} ${line}`);
      })
      .filter((line) =>
        /KUBE-((SVC|SVL|SEP|EXT|FW)-[A-Z2-7]{16}|NODEPORTS|EXTERNAL-SERVICES|PROXY-CANARY)|^filter .*KUBE-SERVICES|load balancer firewall/.test(
          line,
        ),
      ),
  );
}
