/**
 * The network that packets are tried in, as data: hosts, addresses and routes, and the `ip` and `sysctl` input
 * that makes them. It is the network in which kube-proxy's behaviour was recorded (test/fixtures/scenarios).
 */

export const HOSTS = ['node1', 'node2', 'pods1', 'pods2', 'client1', 'ext', 'lan'] as const;

/**
 * - `node1`: where the proxy under test runs; `node2`: a plain router
 * - `pods1`, `pods2`: the back ends of each node, all addresses of a node in one namespace
 * - `client1`: a pod of node1 that is nobody's back end; `ext`: outside, its default route is node1
 * - `lan`: the switch between nodes and `ext`, and the API server's address; what is routed to it vanishes
 */
export type Host = (typeof HOSTS)[number];

export interface DualStack {
  readonly ipv4: string;
  readonly ipv6: string;
}

/** The address a host is known by. `pods1` and `pods2` have several: this is their first. */
export const ADDRESS: Readonly<Record<Host, DualStack>> = {
  node1: { ipv4: '172.30.0.11', ipv6: 'fd00:30::11' },
  node2: { ipv4: '172.30.0.12', ipv6: 'fd00:30::12' },
  pods1: { ipv4: '10.244.1.2', ipv6: 'fd00:244:1::2' },
  pods2: { ipv4: '10.244.2.2', ipv6: 'fd00:244:2::2' },
  client1: { ipv4: '10.244.1.100', ipv6: 'fd00:244:1::100' },
  ext: { ipv4: '172.30.0.50', ipv6: 'fd00:30::50' },
  lan: { ipv4: '172.30.0.1', ipv6: 'fd00:30::1' },
};

/** The pods' gateway on each node, on `lo`: masqueraded traffic to a node's own pods comes from it. */
export const GATEWAY: Readonly<Record<'node1' | 'node2', DualStack>> = {
  node1: { ipv4: '10.244.1.1', ipv6: 'fd00:244:1::1' },
  node2: { ipv4: '10.244.2.1', ipv6: 'fd00:244:2::1' },
};

/** Every address that node1 may send from. */
export const NODE1_ADDRESSES: readonly string[] = [
  ADDRESS.node1.ipv4,
  ADDRESS.node1.ipv6,
  GATEWAY.node1.ipv4,
  GATEWAY.node1.ipv6,
];

export const BACKEND_PORTS = { tcp: [8080, 8081, 8053], udp: [8053] } as const;

const BACKEND_NUMBERS = [2, 3, 4, 5, 6, 7, 8, 9];

/** The back ends' addresses on a node, both families: 10.244.1.2 to .9 and fd00:244:1::2 to ::9. */
export const BACKEND_ADDRESSES: Readonly<Record<'pods1' | 'pods2', readonly string[]>> = {
  pods1: BACKEND_NUMBERS.flatMap((n) => [`10.244.1.${n}`, `fd00:244:1::${n}`]),
  pods2: BACKEND_NUMBERS.flatMap((n) => [`10.244.2.${n}`, `fd00:244:2::${n}`]),
};

/** One end of a veth pair; every host's own end is eth0. */
interface Link {
  readonly host: Host;
  readonly peerHost: Host;
  readonly peerName: string;
}

const LINKS: readonly Link[] = [
  { host: 'node1', peerHost: 'lan', peerName: 'node1' },
  { host: 'node2', peerHost: 'lan', peerName: 'node2' },
  { host: 'ext', peerHost: 'lan', peerName: 'ext' },
  { host: 'pods1', peerHost: 'node1', peerName: 'veth-pods1' },
  { host: 'client1', peerHost: 'node1', peerName: 'veth-client1' },
  { host: 'pods2', peerHost: 'node2', peerName: 'veth-pods2' },
];

/** `ip -batch` input, run in the namespace this process is in, that joins the namespaces with veth pairs. */
export function linkCommands(namespaceOf: (host: Host) => string): string[] {
  return LINKS.map(
    ({ host, peerHost, peerName }) =>
      `link add eth0 netns ${namespaceOf(host)} type veth peer name ${peerName} netns ${namespaceOf(peerHost)}`,
  );
}

/** `ip -batch` input, run in the host's namespace once the links are there. */
export function hostCommands(host: Host): string[] {
  return ['link set lo up', ...OWN_COMMANDS[host]()];
}

const OWN_COMMANDS: Readonly<Record<Host, () => string[]>> = {
  node1: () => [
    ...onLan('node1'),
    ...viaLan('10.244.2.0/24', 'fd00:244:2::/64', 'node2'),
    ...viaLan('0.0.0.0/0', '::/0', 'lan'),
    ...gateway('node1'),
    ...podLink('veth-pods1', BACKEND_ADDRESSES.pods1),
    ...podLink('veth-client1', [ADDRESS.client1.ipv4, ADDRESS.client1.ipv6]),
  ],
  node2: () => [
    ...onLan('node2'),
    ...viaLan('10.244.1.0/24', 'fd00:244:1::/64', 'node1'),
    ...viaLan('0.0.0.0/0', '::/0', 'lan'),
    ...gateway('node2'),
    ...podLink('veth-pods2', BACKEND_ADDRESSES.pods2),
  ],
  pods1: () => pod(BACKEND_ADDRESSES.pods1, GATEWAY.node1.ipv4),
  pods2: () => pod(BACKEND_ADDRESSES.pods2, GATEWAY.node2.ipv4),
  client1: () => pod([ADDRESS.client1.ipv4, ADDRESS.client1.ipv6], GATEWAY.node1.ipv4),
  ext: () => [...onLan('ext'), ...viaLan('0.0.0.0/0', '::/0', 'node1')],
  lan: () => [
    'link add br0 type bridge',
    ...addressOn('br0', ADDRESS.lan, 24, 64),
    ...LINKS.filter((link) => link.peerHost === 'lan').flatMap(({ peerName }) => [
      `link set ${peerName} up`,
      `link set ${peerName} master br0`,
    ]),
    ...viaLan('10.244.1.0/24', 'fd00:244:1::/64', 'node1'),
    ...viaLan('10.244.2.0/24', 'fd00:244:2::/64', 'node2'),
    // An answer of "no route" would tell senders what a router elsewhere would not.
    'route add blackhole 0.0.0.0/0',
    'route add blackhole ::/0',
  ],
};

function addressOn(device: string, address: DualStack, length4: number, length6: number): string[] {
  return [
    `addr add ${address.ipv4}/${length4} dev ${device}`,
    `addr add ${address.ipv6}/${length6} dev ${device} nodad`,
    `link set ${device} up`,
  ];
}

function onLan(host: 'node1' | 'node2' | 'ext'): string[] {
  return addressOn('eth0', ADDRESS[host], 24, 64);
}

function viaLan(to4: string, to6: string, next: 'node1' | 'node2' | 'lan'): string[] {
  return [`route add ${to4} via ${ADDRESS[next].ipv4}`, `route add ${to6} via ${ADDRESS[next].ipv6}`];
}

function gateway(node: 'node1' | 'node2'): string[] {
  return addressOn('lo', GATEWAY[node], 32, 128);
}

/** IPv6 neighbours answer only for an interface's own addresses, so the pods' IPv6 gateway is a link-local one. */
const LINK_LOCAL_GATEWAY = 'fe80::1';

function podLink(device: string, addresses: readonly string[]): string[] {
  return [
    `addr add ${LINK_LOCAL_GATEWAY}/64 dev ${device} nodad`,
    `link set ${device} up`,
    ...addresses.map((address) => `route add ${address}${fullLength(address)} dev ${device}`),
  ];
}

function pod(addresses: readonly string[], gateway4: string): string[] {
  return [
    ...addresses.map(
      (address) =>
        `addr add ${address}${fullLength(address)} dev eth0${address.includes(':') ? ' nodad' : ''}`,
    ),
    'link set eth0 up',
    `route add ${gateway4} dev eth0`,
    `route add 0.0.0.0/0 via ${gateway4}`,
    `route add ::/0 via ${LINK_LOCAL_GATEWAY} dev eth0`,
  ];
}

function fullLength(address: string): '/32' | '/128' {
  return address.includes(':') ? '/128' : '/32';
}

/**
 * `sysctl -p` input for a host, to be applied before it has links, which inherit `default`.
 * ICMP masks: a mask without a message's type exempts it from the global limit too, and is per namespace on
 * every kernel, which the global limit's own settings are not (kernel, networking/ip-sysctl).
 */
export function hostSysctls(host: Host): string[] {
  const router = host === 'node1' || host === 'node2';
  const everywhere = ['all', 'default'].flatMap((scope) => [
    `net.ipv4.conf.${scope}.rp_filter = 0`,
    `net.ipv4.conf.${scope}.send_redirects = 0`,
    `net.ipv4.conf.${scope}.accept_redirects = 0`,
    `net.ipv6.conf.${scope}.disable_ipv6 = 0`,
    `net.ipv6.conf.${scope}.accept_dad = 0`,
    `net.ipv6.conf.${scope}.accept_ra = 0`,
    `net.ipv6.conf.${scope}.accept_redirects = 0`,
  ]);
  return [
    // First, because a change of forwarding resets other settings.
    `net.ipv4.ip_forward = ${router ? 1 : 0}`,
    `net.ipv6.conf.all.forwarding = ${router ? 1 : 0}`,
    ...everywhere,
    'net.ipv4.icmp_ratelimit = 0',
    'net.ipv4.icmp_ratemask = 0',
    'net.ipv6.icmp.ratelimit = 0',
    'net.ipv6.icmp.ratemask = 255',
  ];
}
