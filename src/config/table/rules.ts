/** Options about what carries the rules, and what they say. */
import { MODES } from '../../../backends/registry.ts';
import * as fields from '../fields.ts';
import { option, optional } from '../option.ts';

const IPVS_TIMEOUT = fields.duration('any');

export const rulesOptions = {
  proxyMode: option(fields.oneOf(MODES), '', {
    flag: 'proxy-mode',
    alias: 'mode',
    value: '<mode>',
    field: 'mode',
    fieldDefault: 'iptables',
    group: 'Rules',
    shownDefault: 'iptables',
    text: `what carries the rules: ${MODES.join(', ')} (default: ${MODES[0]}; called kube-proxy, and from a file: iptables)`,
    flagDiffers: `the default of \`kube-rulesync run\` is ${MODES[0]}`,
  }),
  masqueradeAll: option(fields.bool(), 'false', {
    flag: 'masquerade-all',
    field: 'iptables.masqueradeAll',
    group: 'Rules',
    text: 'masquerade all traffic to cluster IPs',
  }),
  nftablesMasqueradeAll: optional(fields.bool(), {
    field: 'nftables.masqueradeAll',
    fieldDefault: 'false',
    group: 'Rules',
    text: 'masquerade all traffic to cluster IPs, in nftables mode',
  }),
  masqueradeBit: option(fields.integer(0, 31), '14', {
    flag: 'iptables-masquerade-bit',
    alias: 'masquerade-bit',
    value: '<bit>',
    field: 'iptables.masqueradeBit',
    zeroCounts: true,
    group: 'Rules',
    text: 'bit of the packet mark that asks for masquerading, 0 to 31',
    flagDiffers: 'it counts in nftables mode too, for which kube-proxy has the field alone',
  }),
  nftablesMasqueradeBit: optional(fields.integer(0, 31), {
    field: 'nftables.masqueradeBit',
    fieldDefault: '14',
    zeroCounts: true,
    group: 'Rules',
    text: 'bit of the packet mark that asks for masquerading, in nftables mode',
  }),
  localhostNodePorts: option(fields.bool(), 'true', {
    flag: 'iptables-localhost-nodeports',
    field: 'iptables.localhostNodePorts',
    zeroCounts: true,
    group: 'Rules',
    text: 'node ports answer on 127.0.0.1 too, in iptables mode and for IPv4',
  }),
  iptablesVariant: option(fields.oneOf(['', 'nf_tables', 'legacy']), '', {
    flag: 'iptables-variant',
    value: '<variant>',
    own: true,
    group: 'Rules',
    text: 'which iptables to write with: nf_tables or legacy (default: the one the node uses)',
  }),
  iptablesDispatch: option(fields.oneOf(['auto', 'flat', 'split']), 'auto', {
    flag: 'iptables-dispatch',
    value: '<form>',
    own: true,
    group: 'Rules',
    text: 'whether chains that all Services share are split by destination: flat, split, or auto, which splits the long ones',
  }),
  ipvsScheduler: option(fields.text(), '', {
    flag: 'ipvs-scheduler',
    value: '<name>',
    field: 'ipvs.scheduler',
    group: 'Rules',
    text: 'scheduler of virtual servers, any that the kernel has (default: rr)',
  }),
  ipvsExcludeCidrs: option(fields.list(), '', {
    flag: 'ipvs-exclude-cidrs',
    value: '<cidr,...>',
    repeatable: true,
    field: 'ipvs.excludeCIDRs',
    group: 'Rules',
    text: "virtual servers on these addresses are somebody else's, and stay",
  }),
  ipvsStrictArp: option(fields.bool(), 'false', {
    flag: 'ipvs-strict-arp',
    field: 'ipvs.strictARP',
    group: 'Rules',
    text: 'answer ARP for an address only on its own interface: sets arp_ignore to 1 and arp_announce to 2',
  }),
  ipvsTcpTimeout: option(IPVS_TIMEOUT, '0s', {
    flag: 'ipvs-tcp-timeout',
    value: '<duration>',
    field: 'ipvs.tcpTimeout',
    group: 'Rules',
    text: 'idle time of TCP connections in IPVS; 0 leaves it alone',
  }),
  ipvsTcpFinTimeout: option(IPVS_TIMEOUT, '0s', {
    flag: 'ipvs-tcpfin-timeout',
    value: '<duration>',
    field: 'ipvs.tcpFinTimeout',
    group: 'Rules',
    text: 'idle time of TCP connections in IPVS after a FIN; 0 leaves it alone',
  }),
  ipvsUdpTimeout: option(IPVS_TIMEOUT, '0s', {
    flag: 'ipvs-udp-timeout',
    value: '<duration>',
    field: 'ipvs.udpTimeout',
    group: 'Rules',
    text: 'idle time of UDP flows in IPVS; 0 leaves it alone',
  }),
  ipvsParity: option(fields.bool(), 'false', {
    flag: 'ipvs-parity',
    own: true,
    group: 'Rules',
    text: 'behave as kube-proxy in IPVS mode, also where that is worse',
  }),
};
