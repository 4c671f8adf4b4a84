/**
 * The options of the program: one schema that gives their types, defaults, checks and help texts. Flags carry
 * kube-proxy's names and meaning where it has them, so that its command lines work here as they are.
 * What concerns several of them at once is in options.ts.
 */
import { z } from 'zod';
import { MODES } from '../../backends/registry.ts';
import * as fields from './fields.ts';

/** What help shows together; a command takes the flags of some groups. */
export type FlagGroup = 'Cluster' | 'Node' | 'Rules' | 'Syncing' | 'Servers' | 'System' | 'Output';

export interface FlagSpec {
  /** Without the dashes. */
  readonly flag: string;
  /** Another name of the same flag. */
  readonly alias?: string;
  readonly short?: string;
  /** What stands for the value in help: `<cidr,...>`. A flag without one is switched on by its name alone. */
  readonly value?: string;
  /** May be given several times, its values adding up. */
  readonly repeatable?: boolean;
  readonly group: FlagGroup;
  readonly text: string;
}

export interface FlagSpecOfOption extends FlagSpec {
  /** The default as a user would write it; empty for none. */
  readonly initial: string;
}

/** Everything about an option but its value: kept beside the schema, read by help and by error messages. */
const specs = z.registry<FlagSpecOfOption>();

function option<Field extends z.ZodType>(field: Field, initial: string, spec: FlagSpec) {
  const schema = field.prefault(initial as z.input<Field>);
  specs.add(schema, { ...spec, initial });
  return schema;
}

const DETECT_LOCAL_MODES = ['ClusterCIDR', 'NodeCIDR', 'BridgeInterface', 'InterfaceNamePrefix'] as const;
const HEALTHZ_PORT = 10_256;
const WHOLE = Number.MAX_SAFE_INTEGER;

export const flagsSchema = z.object({
  kubeconfig: option(fields.text(), '', {
    flag: 'kubeconfig',
    value: '<path>',
    group: 'Cluster',
    text: "kubeconfig file for the API server; without it and --master, the pod's own service account",
  }),
  master: option(fields.text(), '', {
    flag: 'master',
    value: '<url>',
    group: 'Cluster',
    text: 'address of the API server; wins over the one in the kubeconfig',
  }),
  manifests: option(fields.text(), '', {
    flag: 'manifests',
    value: '<path>',
    group: 'Cluster',
    text: 'take objects from this YAML or JSON file or directory, or - for standard input, instead of an API server',
  }),
  hostnameOverride: option(fields.text(), '', {
    flag: 'hostname-override',
    alias: 'node-name',
    value: '<name>',
    group: 'Node',
    text: 'name of the Node this runs for (default: the host name)',
  }),
  bindAddress: option(fields.ip(), '0.0.0.0', {
    flag: 'bind-address',
    value: '<ip>',
    group: 'Node',
    text: "the node's primary address of its family, in place of the Node object's; nothing is bound to it",
  }),
  detectLocalMode: option(fields.oneOf(DETECT_LOCAL_MODES), 'ClusterCIDR', {
    flag: 'detect-local-mode',
    value: '<mode>',
    group: 'Node',
    text: `how traffic of this node's pods is told from other traffic: ${DETECT_LOCAL_MODES.join(', ')}`,
  }),
  clusterCidr: option(fields.list(), '', {
    flag: 'cluster-cidr',
    value: '<cidr,...>',
    group: 'Node',
    text: "addresses of the cluster's pods, for ClusterCIDR: one CIDR, or one of each IP family",
  }),
  podBridgeInterface: option(fields.text(), '', {
    flag: 'pod-bridge-interface',
    value: '<name>',
    group: 'Node',
    text: "bridge of this node's pods, for BridgeInterface",
  }),
  podInterfaceNamePrefix: option(fields.text(), '', {
    flag: 'pod-interface-name-prefix',
    value: '<prefix>',
    group: 'Node',
    text: "how the names of this node's pod interfaces begin, for InterfaceNamePrefix",
  }),
  nodeportAddresses: option(fields.list(), '', {
    flag: 'nodeport-addresses',
    value: '<cidr,...>',
    repeatable: true,
    group: 'Node',
    text: "where node ports answer: CIDRs that pick among the node's addresses, or the word primary (default: primary in nftables mode, else all addresses)",
  }),
  proxyMode: option(fields.oneOf(MODES), '', {
    flag: 'proxy-mode',
    alias: 'mode',
    value: '<mode>',
    group: 'Rules',
    text: `what carries the rules: ${MODES.join(', ')} (default: ${MODES[0]})`,
  }),
  masqueradeAll: option(fields.bool(), 'false', {
    flag: 'masquerade-all',
    group: 'Rules',
    text: 'masquerade all traffic to cluster IPs',
  }),
  masqueradeBit: option(fields.integer(0, 31), '14', {
    flag: 'iptables-masquerade-bit',
    alias: 'masquerade-bit',
    value: '<bit>',
    group: 'Rules',
    text: 'bit of the packet mark that asks for masquerading, 0 to 31',
  }),
  syncPeriod: option(fields.duration('positive'), '30s', {
    flag: 'iptables-sync-period',
    value: '<duration>',
    group: 'Syncing',
    text: 'how often the rules are checked, and at the latest when a failed sync is tried again; in every mode',
  }),
  minSyncPeriod: option(fields.duration('zero or more'), '1s', {
    flag: 'iptables-min-sync-period',
    value: '<duration>',
    group: 'Syncing',
    text: 'shortest time between two syncs; in every mode',
  }),
  configSyncPeriod: option(fields.duration('positive'), '15m', {
    flag: 'config-sync-period',
    value: '<duration>',
    group: 'Syncing',
    text: "accepted from kube-proxy's command lines; has no effect, as a watch that breaks off is resumed without loss",
  }),
  dryRun: option(fields.bool(), 'false', {
    flag: 'dry-run',
    group: 'Syncing',
    text: 'print what would be given to the tools, and change nothing',
  }),
  healthzBindAddress: option(fields.hostPort(), '0.0.0.0', {
    flag: 'healthz-bind-address',
    value: '<ip:port>',
    group: 'Servers',
    text: 'where /healthz and /livez answer; empty for nowhere (default: port 10256 of every address)',
  }),
  healthzPort: option(fields.integer(0, 65_535), `${HEALTHZ_PORT}`, {
    flag: 'healthz-port',
    value: '<port>',
    group: 'Servers',
    text: 'the port when --healthz-bind-address names none; 0 for no server',
  }),
  metricsBindAddress: option(fields.hostPort(), '127.0.0.1', {
    flag: 'metrics-bind-address',
    value: '<ip:port>',
    group: 'Servers',
    text: "accepted from kube-proxy's command lines; this version serves no metrics (default: 127.0.0.1:10249)",
  }),
  bindAddressHardFail: option(fields.bool(), 'false', {
    flag: 'bind-address-hard-fail',
    group: 'Servers',
    text: 'end when a server cannot listen, instead of trying again every 5 seconds',
  }),
  oomScoreAdj: option(fields.integer(-1000, 1000), '-999', {
    flag: 'oom-score-adj',
    value: '<score>',
    group: 'System',
    text: 'oom_score_adj of this process, -1000 to 1000',
  }),
  conntrackMaxPerCore: option(fields.integer(0, WHOLE), '32768', {
    flag: 'conntrack-max-per-core',
    value: '<number>',
    group: 'System',
    text: "connections to track per CPU core; 0 leaves the kernel's limit alone",
  }),
  conntrackMin: option(fields.integer(0, WHOLE), '131072', {
    flag: 'conntrack-min',
    value: '<number>',
    group: 'System',
    text: 'connections to track at least, unless --conntrack-max-per-core is 0',
  }),
  conntrackTcpTimeoutEstablished: option(fields.duration('zero or more'), '24h', {
    flag: 'conntrack-tcp-timeout-established',
    value: '<duration>',
    group: 'System',
    text: 'idle time of established TCP connections; 0 leaves it alone',
  }),
  conntrackTcpTimeoutCloseWait: option(fields.duration('zero or more'), '1h', {
    flag: 'conntrack-tcp-timeout-close-wait',
    value: '<duration>',
    group: 'System',
    text: 'idle time of TCP connections in CLOSE_WAIT; 0 leaves it alone',
  }),
  conntrackTcpBeLiberal: option(fields.bool(), 'false', {
    flag: 'conntrack-tcp-be-liberal',
    group: 'System',
    text: 'set nf_conntrack_tcp_be_liberal: packets outside the TCP window are not invalid',
  }),
  conntrackUdpTimeout: option(fields.duration('zero or more'), '0s', {
    flag: 'conntrack-udp-timeout',
    value: '<duration>',
    group: 'System',
    text: 'idle time of UDP flows without a reply; 0 leaves it alone',
  }),
  conntrackUdpTimeoutStream: option(fields.duration('zero or more'), '0s', {
    flag: 'conntrack-udp-timeout-stream',
    value: '<duration>',
    group: 'System',
    text: 'idle time of UDP flows with replies; 0 leaves it alone',
  }),
  verbosity: option(fields.integer(0, WHOLE), '0', {
    flag: 'v',
    short: 'v',
    value: '<level>',
    group: 'Output',
    text: 'log verbosity: 0 to 3 for information, from 4 debugging, from 6 everything',
  }),
  loggingFormat: option(fields.oneOf(['', 'text', 'json']), '', {
    flag: 'logging-format',
    value: '<format>',
    group: 'Output',
    text: 'text or json (default: text on a terminal, else json)',
  }),
});

/** Every flag's value, each checked by itself. */
export type FlagValues = z.output<typeof flagsSchema>;

export type OptionName = keyof FlagValues;

/** The flag of each option, in the order of help. */
export const FLAGS: ReadonlyMap<OptionName, FlagSpecOfOption> = new Map(
  Object.entries(flagsSchema.shape).flatMap(([name, schema]) => {
    const spec = specs.get(schema);
    return spec ? [[name as OptionName, spec]] : [];
  }),
);
