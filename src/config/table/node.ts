/** Options about this node: its name, its addresses, and how its pods are known. */
import * as fields from '../fields.ts';
import { option } from '../option.ts';

const DETECT_LOCAL_MODES = ['ClusterCIDR', 'NodeCIDR', 'BridgeInterface', 'InterfaceNamePrefix'] as const;

export const nodeOptions = {
  hostnameOverride: option(fields.text(), '', {
    flag: 'hostname-override',
    alias: 'node-name',
    value: '<name>',
    field: 'hostnameOverride',
    group: 'Node',
    besideFile: true,
    text: 'name of the Node this runs for (default: the host name)',
    differs: 'must be a name that a Node can have',
  }),
  bindAddress: option(fields.ip(), '0.0.0.0', {
    flag: 'bind-address',
    value: '<ip>',
    field: 'bindAddress',
    group: 'Node',
    text: "the node's primary address of its family, in place of the Node object's; nothing is bound to it",
  }),
  detectLocalMode: option(fields.oneOf(DETECT_LOCAL_MODES), 'ClusterCIDR', {
    flag: 'detect-local-mode',
    value: '<mode>',
    field: 'detectLocalMode',
    group: 'Node',
    text: `how traffic of this node's pods is told from other traffic: ${DETECT_LOCAL_MODES.join(', ')}`,
  }),
  clusterCidr: option(fields.commaList(), '', {
    flag: 'cluster-cidr',
    value: '<cidr,...>',
    field: 'clusterCIDR',
    group: 'Node',
    text: "addresses of the cluster's pods, for ClusterCIDR: one CIDR, or one of each IP family",
  }),
  podBridgeInterface: option(fields.text(), '', {
    flag: 'pod-bridge-interface',
    value: '<name>',
    field: 'detectLocal.bridgeInterface',
    group: 'Node',
    text: "bridge of this node's pods, for BridgeInterface",
    differs: 'must be a name that an interface can have: it becomes part of rules',
  }),
  podInterfaceNamePrefix: option(fields.text(), '', {
    flag: 'pod-interface-name-prefix',
    value: '<prefix>',
    field: 'detectLocal.interfaceNamePrefix',
    group: 'Node',
    text: "how the names of this node's pod interfaces begin, for InterfaceNamePrefix",
    differs: 'must be the beginning of a name that an interface can have: it becomes part of rules',
  }),
  nodeportAddresses: option(fields.list(), '', {
    flag: 'nodeport-addresses',
    value: '<cidr,...>',
    repeatable: true,
    field: 'nodePortAddresses',
    group: 'Node',
    text: "where node ports answer: CIDRs that pick among the node's addresses, or the word primary (default: primary in nftables mode, else all addresses)",
  }),
};
