/** How IPVS mode leaves the field to another one, with tools played from a script. */
import { describe, expect, it } from 'vitest';
import { type Command, type CommandRunner, ToolError } from '../../src/node/runner.ts';
import type { ProxyMode, Retreat } from '../../src/reconcile/backend.ts';
import { createIpvsBackend } from './backend.ts';
import { parseSources } from './cleanup-addresses.ts';
import { openConnections } from './cleanup-connections.ts';

/** Two virtual servers on one cluster IP, one on another, a node port on two addresses, and somebody else's. */
const SERVERS = `-A -t 10.96.0.10:80 -s rr
-a -t 10.96.0.10:80 -r 10.244.1.2:8080 -m -w 1
-a -t 10.96.0.10:80 -r 10.244.2.2:8080 -m -w 0
-A -t 10.96.0.10:443 -s rr
-a -t 10.96.0.10:443 -r 10.244.1.2:8443 -m -w 1
-A -t 10.96.0.20:80 -s rr
-A -t 172.30.0.11:30080 -s rr
-a -t 172.30.0.11:30080 -r 10.244.1.2:8080 -m -w 1
-A -t 10.244.1.1:30080 -s rr
-A -t 192.0.2.1:30081 -s wlc
`;

const SETS = `create KUBE-CLUSTER-IP hash:ip,port family inet hashsize 1024 maxelem 65536
add KUBE-CLUSTER-IP 10.96.0.10,tcp:80
add KUBE-CLUSTER-IP 10.96.0.10,tcp:443
add KUBE-CLUSTER-IP 10.96.0.20,tcp:80
create KUBE-NODE-PORT-TCP bitmap:port range 0-65535
add KUBE-NODE-PORT-TCP 30080
`;

const OUR_NODE_PORTS = `create KUBE-NODE-PORT-IP hash:ip family inet hashsize 1024 maxelem 65536
add KUBE-NODE-PORT-IP 172.30.0.11
add KUBE-NODE-PORT-IP 10.244.1.1
`;

const LINK = JSON.stringify([
  {
    ifname: 'kube-ipvs0',
    addr_info: ['10.96.0.10', '10.96.0.20'].map((local) => ({ local, scope: 'global' })),
  },
]);

/** iptables mode has come: its chains, and what IPVS mode has beside them. */
const TABLES = `*mangle
:OUTPUT ACCEPT [0:0]
:KUBE-PROXY-FIREWALL - [0:0]
-A OUTPUT -m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL
COMMIT
*filter
:INPUT ACCEPT [0:0]
:KUBE-EXTERNAL-SERVICES - [0:0]
:KUBE-PROXY-FIREWALL - [0:0]
:KUBE-IPVS-FILTER - [0:0]
-A INPUT -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-FILTER
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-NODE-PORT - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-NODE-PORT -p tcp -j KUBE-MARK-MASQ
COMMIT
`;

/** `/proc/net/ip_vs` with connections through 10.96.0.10:80 and the node port. */
const LIVE = `IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port Forward Weight ActiveConn InActConn
TCP  0A60000A:0050 rr
  -> 0AF40102:1F90      Masq    1      0          3
TCP  AC1E000B:7580 rr
  -> 0AF40102:1F90      Masq    1      1          0
`;

const CONNECTIONS = 'Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData\n';
const TO_CLUSTER_IP = 'TCP 0AF40164 15B3 0A60000A 0050 0AF40102 1F90 ESTABLISHED     895\n';
const TO_NODE_PORT = 'TCP AC1E0032 15B3 AC1E000B 7580 0AF40102 1F90 FIN_WAIT         95\n';

const NODE: Record<string, string> = {
  'iptables --version': 'iptables v1.8.9 (legacy)',
  'iptables-save': TABLES,
  'ipvsadm -Sn': SERVERS,
  'ipset save': SETS + OUR_NODE_PORTS,
  'ipset list -name': 'KUBE-CLUSTER-IP\nKUBE-NODE-PORT-TCP\nforeign\n',
  'ip -json address': LINK,
  'ip -json -4 route get 192.0.2.1': '[{"dst":"192.0.2.1","prefsrc":"172.30.0.11"}]',
  'cat /proc/net/ip_vs_conn': CONNECTIONS,
  'cat /proc/net/ip_vs': LIVE,
};

/** What another mode's coming makes of it: the retreat, and what each tool was given. */
async function giveWay(
  answers: Record<string, string | undefined>,
  successor: ProxyMode = 'iptables',
  excludeCIDRs: readonly string[] = [],
): Promise<
  Retreat & { readonly given: Readonly<Record<string, string>>; readonly calls: readonly string[] }
> {
  const given: Record<string, string> = {};
  const calls: string[] = [];
  const all = { ...NODE, ...answers };
  const runner: CommandRunner = {
    async run({ argv, stdin }: Command) {
      const line = argv.join(' ');
      calls.push(line);
      if (stdin !== undefined) given[line] = [...stdin].join('');
      const start = Object.keys(all).find((key) => line.startsWith(key));
      if (start !== undefined && all[start] === undefined)
        throw new ToolError(argv, 'exit', 1, 'no such file');
      return { stdout: (start && all[start]) || '', stderr: '' };
    },
  };
  const backend = createIpvsBackend({ family: 'IPv4', runner, ipvs: { kernel: '6.1.0', excludeCIDRs } });
  const retreat = await backend.giveWay?.(successor);
  if (retreat === undefined) throw new Error('it does not give way');
  return { ...retreat, given, calls };
}

const DELETED = '-D -t 10.96.0.10:80\n-D -t 10.96.0.10:443\n-D -t 10.96.0.20:80\n';

describe('giving way', () => {
  it('removes everything of ours where nothing is connected', async () => {
    const { leftovers, waiting, given } = await giveWay({});
    expect({ leftovers, waiting }).toEqual({ leftovers: [], waiting: [] });
    expect(given).toEqual({
      'ip -batch -': 'link del kube-ipvs0\n',
      'ipvsadm -R': `${DELETED}-D -t 172.30.0.11:30080\n-D -t 10.244.1.1:30080\n`,
      'iptables-restore -w 5 --noflush': `*mangle
:KUBE-PROXY-FIREWALL - [0:0]
-D OUTPUT -m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL
-X KUBE-PROXY-FIREWALL
COMMIT
*filter
:KUBE-IPVS-FILTER - [0:0]
-D INPUT -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-FILTER
-X KUBE-IPVS-FILTER
COMMIT
*nat
:KUBE-NODE-PORT - [0:0]
-X KUBE-NODE-PORT
COMMIT
`,
      'ipset restore': 'destroy KUBE-CLUSTER-IP\ndestroy KUBE-NODE-PORT-TCP\n',
    });
  });

  it('keeps what a connection goes through, with everything on that address, for nobody new', async () => {
    const { waiting, given } = await giveWay({ 'cat /proc/net/ip_vs_conn': CONNECTIONS + TO_CLUSTER_IP });
    expect(waiting).toEqual(['virtual server -t 10.96.0.10:80']);
    // The route is there before the address goes.
    expect(given['ip -batch -']).toBe(
      'route append local 10.96.0.10/32 dev lo table local proto 107 src 172.30.0.11\nlink del kube-ipvs0\n',
    );
    expect(given['ipvsadm -R']).toBe(
      [
        '-D -t 10.96.0.20:80',
        '-D -t 172.30.0.11:30080',
        '-D -t 10.244.1.1:30080',
        '-e -t 10.96.0.10:80 -r 10.244.1.2:8080 -m -w 0',
        '-d -t 10.96.0.10:80 -r 10.244.2.2:8080',
        '-d -t 10.96.0.10:443 -r 10.244.1.2:8443',
        '',
      ].join('\n'),
    );
    // What guards the address stays, and the sets by which the rest is known.
    expect(given['iptables-restore -w 5 --noflush']).not.toContain('KUBE-IPVS-FILTER');
    expect(given['iptables-restore -w 5 --noflush']).toContain('-X KUBE-NODE-PORT\n');
    expect(given).not.toHaveProperty('ipset restore');
  });

  it('keeps a node port by itself: its address is the node’s own anyway', async () => {
    const { waiting, given } = await giveWay({ 'cat /proc/net/ip_vs_conn': CONNECTIONS + TO_NODE_PORT });
    expect(waiting).toEqual(['virtual server -t 172.30.0.11:30080']);
    expect(given['ip -batch -']).toBe('link del kube-ipvs0\n');
    expect(given['ipvsadm -R']).toBe(
      `${DELETED}-D -t 10.244.1.1:30080\n-e -t 172.30.0.11:30080 -r 10.244.1.2:8080 -m -w 0\n`,
    );
    expect(given['iptables-restore -w 5 --noflush']).toContain('-X KUBE-IPVS-FILTER\n');
    expect(given).not.toHaveProperty('ipset restore');
  });

  it('keeps an address that the node itself sends from', async () => {
    const { waiting, given } = await giveWay({
      ss: 'tcp ESTAB 0      0       10.96.0.20:59278 10.96.0.20:80\n',
      // No way out: then the kernel picks the source.
      'ip -json -4 route get 192.0.2.1': undefined,
    });
    expect(waiting).toEqual(['address 10.96.0.20']);
    expect(given['ip -batch -']).toBe(
      'route append local 10.96.0.20/32 dev lo table local proto 107\nlink del kube-ipvs0\n',
    );
    expect(given['ipvsadm -R']).not.toContain('10.96.0.20');
  });

  it('comes to its end later, from what it left', async () => {
    const left = {
      'ip -json address': '[]',
      'ip -json -4 route show table local proto 107': '[{"type":"local","dst":"10.96.0.10","dev":"lo"}]',
      'iptables-save': TABLES.replace(/\*mangle[^*]*/, ''),
    };
    const again = await giveWay({ ...left, 'cat /proc/net/ip_vs_conn': CONNECTIONS + TO_CLUSTER_IP });
    expect(again.waiting).toEqual(['virtual server -t 10.96.0.10:80']);
    expect(again.given).not.toHaveProperty('ip -batch -');
    const last = await giveWay(left);
    expect(last.waiting).toEqual([]);
    expect(last.given['ip -batch -']).toBe('route del local 10.96.0.10/32 dev lo table local proto 107\n');
    expect(last.given).toHaveProperty('ipset restore');
  });

  it('knows kube-proxy’s node ports by the port, and leaves what is excluded', async () => {
    const { given } = await giveWay({ 'ipset save': SETS }, 'iptables', ['10.244.0.0/16']);
    expect(given['ipvsadm -R']).toBe(`${DELETED}-D -t 172.30.0.11:30080\n`);
  });

  it('takes the chains along that iptables mode has too, where that is not the mode that comes', async () => {
    const tables = TABLES.replace(':KUBE-EXTERNAL-SERVICES - [0:0]\n', '');
    const { given } = await giveWay({ 'iptables-save': tables }, 'nftables');
    const chains = [...(given['iptables-restore -w 5 --noflush'] ?? '').matchAll(/^-X (.+)$/gm)];
    expect(chains.map(([, chain]) => chain)).toEqual([
      'KUBE-PROXY-FIREWALL',
      'KUBE-IPVS-FILTER',
      'KUBE-PROXY-FIREWALL',
      'KUBE-SERVICES',
      'KUBE-NODE-PORT',
      'KUBE-MARK-MASQ',
    ]);
  });

  it('asks a kernel without IPVS nothing that would load it', async () => {
    const { leftovers, waiting, calls } = await giveWay({
      'cat /proc/net/ip_vs_conn': undefined,
      'cat /proc/net/ip_vs': undefined,
    });
    expect({ leftovers, waiting, calls }).toEqual({
      leftovers: [],
      waiting: [],
      calls: ['cat /proc/net/ip_vs'],
    });
  });

  it('ends a retreat when it is back itself', async () => {
    const { given } = await giveWay(
      { 'ip -json -4 route show table local proto 107': '[{"type":"local","dst":"10.96.0.10","dev":"lo"}]' },
      'ipvs',
    );
    expect(given).toEqual({
      'ip -batch -': 'route del local 10.96.0.10/32 dev lo table local proto 107\n',
    });
  });
});

it('reads which addresses the node’s sockets send from', () => {
  const listing = `tcp ESTAB 0      0           172.30.0.11:48768       10.96.50.1:80
udp ESTAB 0      0            10.96.0.10:41726       10.96.0.10:53
tcp SYN-SENT 0      1 [::ffff:10.96.0.20]:41726 [::ffff:10.96.0.20]:80
tcp ESTAB 0      0      [fd00:10:96::50]:39618 [fd00:10:96::50]:80
tcp ESTAB 0      0      [fe80::1%eth0]:39618 [fe80::2%eth0]:80
`;
  expect([...parseSources(listing, 'IPv4')]).toEqual(['172.30.0.11', '10.96.0.10', '10.96.0.20']);
  expect([...parseSources(listing, 'IPv6')]).toEqual(['fd00:10:96::50', 'fe80::1']);
});

it('goes by the counts when there are too many connections to read', async () => {
  const { waiting } = await giveWay({ 'cat /proc/net/ip_vs_conn': undefined });
  expect(waiting).toEqual(['virtual server -t 10.96.0.10:80', 'virtual server -t 172.30.0.11:30080']);
});

it('knows connections that are over from those that go on', () => {
  const listing = `${CONNECTIONS}TCP 0AF40164 15B3 0A60000A 0050 0AF40102 1F90 TIME_WAIT       110
TCP 0AF40164 15B4 0A60000A 0050 0AF40103 1F90 CLOSE             3
TCP 0AF40164 0000 0A60000A 0050 0AF40103 1F90 ASSURED         100
TCP 0AF40164 15B5 0A60000A 0050 0AF40202 1F90 TIME_WAIT       111
UDP 0AF40164 15B6 0A60000B 0035 0AF40202 1F75 UDP             300
TCP fd00:0244:0001:0000:0000:0000:0000:0100 15B3 fd00:0010:0096:0000:0000:0000:0000:0050 0050 fd00:0244:0001:0000:0000:0000:0000:0002 1F90 FIN_WAIT 60
`;
  expect(openConnections(listing, 'IPv4')).toEqual(
    new Map([
      ['-t 10.96.0.10:80', new Set(['10.244.2.2:8080'])],
      ['-u 10.96.0.11:53', new Set(['10.244.2.2:8053'])],
    ]),
  );
  expect(openConnections(listing, 'IPv6')).toEqual(
    new Map([['-t [fd00:10:96::50]:80', new Set(['[fd00:244:1::2]:8080'])]]),
  );
});
