/** Where iptables and IPVS mode meet in the kernel: what one has to know of the other when it takes its place. */

/** A chain of the filter table that iptables mode alone has. */
export const IPTABLES_MODE = 'KUBE-EXTERNAL-SERVICES';

/** Chains that both have under the same names, by table: after a change of mode they may be the other's. */
export const SHARED_CHAINS: Readonly<Record<'mangle' | 'filter' | 'nat', readonly string[]>> = {
  mangle: [],
  filter: ['KUBE-FORWARD', 'KUBE-PROXY-FIREWALL'],
  nat: ['KUBE-MARK-MASQ', 'KUBE-POSTROUTING', 'KUBE-SERVICES'],
};

/** How IPVS mode comes into KUBE-PROXY-FIREWALL, which both have: with packets of open connections too. */
export const IPVS_FIREWALL_WAY = '-m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL';
