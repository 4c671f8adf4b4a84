import { describe, expect, test } from 'vitest';
import { MODES } from '../../backends/registry.ts';
import { FIELDS, FLAGS, OPTIONS, type OptionName } from './flags.ts';
import { describeProblem, flagTypeProblems, type Options, parseOptions } from './options.ts';

function options(given: Partial<Record<OptionName, unknown>> = {}): Options {
  const result = parseOptions(given);
  if (!result.ok) throw new Error(result.problems.map(describeProblem).join('\n'));
  return result.options;
}

function problems(given: Partial<Record<OptionName, unknown>>): string[] {
  const result = parseOptions(given);
  return result.ok ? [] : result.problems.map(describeProblem);
}

test('without any flag, everything has kube-proxy’s default', () => {
  const { configuration, ...rest } = options();
  expect(rest).toEqual({
    kubeconfig: '',
    master: '',
    manifests: '',
    featureGates: {
      AllowServiceExternalIPs: true,
      ComponentFlagz: true,
      ComponentStatusz: true,
      ContextualLogging: true,
      LoggingAlphaOptions: false,
      LoggingBetaOptions: true,
      MultiCIDRServiceAllocator: true,
      NFTablesProxyMode: true,
      NativeHistograms: false,
      PreferSameTrafficDistribution: true,
      WinDSR: true,
      WinOverlay: true,
    },
    acceptContentTypes: '',
    kubeApiContentType: 'application/vnd.kubernetes.protobuf',
    kubeApiQps: 5,
    kubeApiBurst: 10,
    configSyncPeriod: 900_000,
    hostnameOverride: '',
    bindAddress: '0.0.0.0',
    detectLocalMode: 'ClusterCIDR',
    clusterCidr: [],
    podBridgeInterface: '',
    podInterfaceNamePrefix: '',
    nodeportAddresses: undefined,
    proxyMode: MODES[0],
    masqueradeAll: false,
    masqueradeBit: 14,
    localhostNodePorts: true,
    iptablesVariant: '',
    iptablesDispatch: 'auto',
    ipvsScheduler: '',
    ipvsExcludeCidrs: [],
    ipvsStrictArp: false,
    ipvsTcpTimeout: 0,
    ipvsTcpFinTimeout: 0,
    ipvsUdpTimeout: 0,
    ipvsParity: false,
    syncPeriod: 30_000,
    minSyncPeriod: 1000,
    dryRun: false,
    healthzBindAddress: { host: '0.0.0.0', port: 10256 },
    metricsBindAddress: { host: '127.0.0.1', port: 10249 },
    bindAddressHardFail: false,
    profiling: false,
    showHiddenMetricsForVersion: '',
    oomScoreAdj: -999,
    conntrackMaxPerCore: 32768,
    conntrackMin: 131072,
    conntrackTcpTimeoutEstablished: 86_400_000,
    conntrackTcpTimeoutCloseWait: 3_600_000,
    conntrackTcpBeLiberal: false,
    conntrackUdpTimeout: 0,
    conntrackUdpTimeoutStream: 0,
    verbosity: 0,
    loggingFormat: '',
    vmodule: [],
    logFlushFrequency: 5000,
    logTextSplitStream: false,
    logTextInfoBufferSize: '0',
    logJsonSplitStream: false,
    logJsonInfoBufferSize: '0',
    bootIdFile: '',
    machineIdFile: '',
    portRange: '',
    windowsRunAsService: false,
    winkernelNetworkName: '',
    winkernelSourceVip: '',
    winkernelEnableDsr: false,
    winkernelRootHnsEndpointName: '',
    winkernelForwardHealthCheckVip: false,
  });
  expect(configuration.kind).toBe('KubeProxyConfiguration');
});

describe('a value that is right', () => {
  test.for<[OptionName, unknown, keyof Options, unknown]>([
    ['proxyMode', 'nftables', 'proxyMode', 'nftables'],
    ['proxyMode', '', 'proxyMode', MODES[0]],
    ['hostnameOverride', ' Node-A ', 'hostnameOverride', 'node-a'],
    ['hostnameOverride', 'ip-10-0-0-1.eu.internal', 'hostnameOverride', 'ip-10-0-0-1.eu.internal'],
    ['hostnameOverride', '1', 'hostnameOverride', '1'],
    ['hostnameOverride', 'a'.repeat(253), 'hostnameOverride', 'a'.repeat(253)],
    ['hostnameOverride', '', 'hostnameOverride', ''],
    ['clusterCidr', '10.244.0.0/16', 'clusterCidr', ['10.244.0.0/16']],
    ['clusterCidr', ' 10.244.1.2/16 , FD00:0::/56 ', 'clusterCidr', ['10.244.0.0/16', 'fd00::/56']],
    ['clusterCidr', 'fd00::/56,10.244.0.0/16', 'clusterCidr', ['fd00::/56', '10.244.0.0/16']],
    ['detectLocalMode', '', 'detectLocalMode', 'ClusterCIDR'],
    ['detectLocalMode', 'NodeCIDR', 'detectLocalMode', 'NodeCIDR'],
    ['masqueradeAll', 'T', 'masqueradeAll', true],
    ['masqueradeAll', '0', 'masqueradeAll', false],
    ['masqueradeAll', true, 'masqueradeAll', true],
    ['masqueradeBit', '31', 'masqueradeBit', 31],
    ['masqueradeBit', 0, 'masqueradeBit', 0],
    ['syncPeriod', '1m30s', 'syncPeriod', 90_000],
    ['minSyncPeriod', '0', 'minSyncPeriod', 0],
    ['nodeportAddresses', '', 'nodeportAddresses', undefined],
    ['nodeportAddresses', 'primary', 'nodeportAddresses', 'primary'],
    ['nodeportAddresses', ['192.0.2.0/24', 'fd00::/8'], 'nodeportAddresses', ['192.0.2.0/24', 'fd00::/8']],
    ['nodeportAddresses', '0.0.0.0/0,::/0', 'nodeportAddresses', ['0.0.0.0/0', '::/0']],
    ['nodeportAddresses', [], 'nodeportAddresses', undefined],
    ['bindAddress', '', 'bindAddress', '0.0.0.0'],
    ['masqueradeBit', '016', 'masqueradeBit', 14],
    ['masqueradeBit', '0x4', 'masqueradeBit', 4],
    ['verbosity', '016', 'verbosity', 16],
    ['bindAddress', '192.000.002.001', 'bindAddress', '192.0.2.1'],
    ['healthzBindAddress', '', 'healthzBindAddress', undefined],
    ['healthzBindAddress', '127.0.0.1', 'healthzBindAddress', { host: '127.0.0.1', port: 10256 }],
    ['healthzBindAddress', '[::1]:80', 'healthzBindAddress', { host: '::1', port: 80 }],
    ['healthzBindAddress', '[::]', 'healthzBindAddress', { host: '::', port: 10256 }],
    ['healthzBindAddress', '::', 'healthzBindAddress', { host: '::', port: 10256 }],
    ['healthzBindAddress', '0.0.0.0:0', 'healthzBindAddress', undefined],
    ['healthzPort', '1234', 'healthzBindAddress', { host: '0.0.0.0', port: 1234 }],
    ['healthzPort', '0', 'healthzBindAddress', undefined],
    ['bindAddress', '2001:db8::1', 'healthzBindAddress', { host: '::', port: 10256 }],
    ['metricsBindAddress', '', 'metricsBindAddress', undefined],
    ['metricsPort', '1234', 'metricsBindAddress', { host: '127.0.0.1', port: 1234 }],
    ['metricsPort', '0', 'metricsBindAddress', undefined],
    ['localhostNodePorts', 'false', 'localhostNodePorts', false],
    ['ipvsExcludeCidrs', '10.0.0.1/8', 'ipvsExcludeCidrs', ['10.0.0.0/8']],
    ['kubeApiQps', '0.5', 'kubeApiQps', 0.5],
    ['showHiddenMetricsForVersion', '1.35', 'showHiddenMetricsForVersion', '1.35'],
    [
      'vmodule',
      'proxier=4,a*=6',
      'vmodule',
      [
        { filePattern: 'proxier', verbosity: 4 },
        { filePattern: 'a*', verbosity: 6 },
      ],
    ],
    ['logFlushFrequency', '1m', 'logFlushFrequency', 60_000],
    ['logJsonInfoBufferSize', '64Ki', 'logJsonInfoBufferSize', '64Ki'],
    ['bindAddress', '2001:db8::1', 'metricsBindAddress', { host: '::1', port: 10249 }],
    ['oomScoreAdj', '-1000', 'oomScoreAdj', -1000],
    ['verbosity', '4', 'verbosity', 4],
    ['loggingFormat', 'json', 'loggingFormat', 'json'],
  ])('%s %o: %s is %o', ([option, value, result, expected]) => {
    expect(options({ [option]: value })[result]).toEqual(expected);
  });

  test('a port in --healthz-bind-address wins over --healthz-port', () => {
    expect(options({ healthzBindAddress: '127.0.0.1:80', healthzPort: '81' }).healthzBindAddress).toEqual({
      host: '127.0.0.1',
      port: 80,
    });
  });

  test('a cluster CIDR is not looked at where nothing uses it', () => {
    expect(options({ detectLocalMode: 'NodeCIDR', clusterCidr: 'nonsense' }).clusterCidr).toEqual([]);
  });
});

describe('a value that is wrong names its flag, itself and what is allowed', () => {
  const CIDRS =
    'must be one CIDR, or an IPv4 and an IPv6 CIDR separated by a comma, such as 10.244.0.0/16,fd00:10:244::/56';
  const LISTEN =
    'must be an IP address and a port, such as 0.0.0.0:10256 or [::]:10256; port 0 switches it off';
  const NODEPORTS = 'must be CIDRs separated by commas, or the word primary alone';

  test.for<[OptionName, unknown, string]>([
    ['proxyMode', 'userspace', `--proxy-mode "userspace": must be ${MODES.join(' or ')}`],
    ['proxyMode', 'NFTables', `--proxy-mode "NFTables": must be ${MODES.join(' or ')}`],
    [
      'detectLocalMode',
      'Bridge',
      '--detect-local-mode "Bridge": must be ClusterCIDR or NodeCIDR or BridgeInterface or InterfaceNamePrefix',
    ],
    ['clusterCidr', '10.244.0.0', `--cluster-cidr "10.244.0.0": ${CIDRS}`],
    ['clusterCidr', '10.244.0.0/33', `--cluster-cidr "10.244.0.0/33": ${CIDRS}`],
    ['clusterCidr', '10.0.0.0/16,10.1.0.0/16', `--cluster-cidr "10.0.0.0/16,10.1.0.0/16": ${CIDRS}`],
    [
      'clusterCidr',
      '10.0.0.0/16,fd00::/56,10.1.0.0/16',
      `--cluster-cidr "10.0.0.0/16,fd00::/56,10.1.0.0/16": ${CIDRS}`,
    ],
    ['masqueradeAll', 'yes', '--masquerade-all "yes": must be true or false'],
    ['masqueradeAll', '', '--masquerade-all "": must be true or false'],
    ['masqueradeBit', '32', '--iptables-masquerade-bit "32": must be a whole number from 0 to 31'],
    ['masqueradeBit', '-1', '--iptables-masquerade-bit "-1": must be a whole number from 0 to 31'],
    ['masqueradeBit', '0x40', '--iptables-masquerade-bit "0x40": must be a whole number from 0 to 31'],
    ['masqueradeBit', '08', '--iptables-masquerade-bit "08": must be a whole number from 0 to 31'],
    ['masqueradeBit', '1.0', '--iptables-masquerade-bit "1.0": must be a whole number from 0 to 31'],
    ['masqueradeBit', '', '--iptables-masquerade-bit "": must be a whole number from 0 to 31'],
    ['syncPeriod', '30', '--iptables-sync-period "30": must be a duration such as 30s, 1m30s, 1h or 100ms'],
    [
      'syncPeriod',
      '0s',
      '--iptables-sync-period "0s": must be a duration such as 30s, 1m30s, 1h or 100ms, greater than 0',
    ],
    [
      'minSyncPeriod',
      '-1s',
      '--iptables-min-sync-period "-1s": must be a duration such as 30s, 1m30s, 1h or 100ms, 0 or more',
    ],
    [
      'minSyncPeriod',
      '31s',
      '--iptables-min-sync-period "31s": must not be longer than --iptables-sync-period',
    ],
    [
      'nodeportAddresses',
      ['primary', '10.0.0.0/8'],
      '--nodeport-addresses "primary,10.0.0.0/8": must be CIDRs separated by commas, or the word primary alone',
    ],
    [
      'nodeportAddresses',
      '192.0.2.1',
      '--nodeport-addresses "192.0.2.1": must be CIDRs separated by commas, or the word primary alone',
    ],
    ['nodeportAddresses', '10.0.0.0/8,', `--nodeport-addresses "10.0.0.0/8,": ${NODEPORTS}`],
    ['nodeportAddresses', ',', `--nodeport-addresses ",": ${NODEPORTS}`],
    ['nodeportAddresses', ' ', `--nodeport-addresses " ": ${NODEPORTS}`],
    ['nodeportAddresses', [''], `--nodeport-addresses "": ${NODEPORTS}`],
    ['clusterCidr', ',', `--cluster-cidr ",": ${CIDRS}`],
    ['clusterCidr', '10.244.0.0/16,', `--cluster-cidr "10.244.0.0/16,": ${CIDRS}`],
    ['clusterCidr', ' ', `--cluster-cidr " ": ${CIDRS}`],
    ['bindAddress', 'localhost', '--bind-address "localhost": must be an IP address'],
    ['bindAddress', '127.1', '--bind-address "127.1": must be an IP address'],
    ['healthzBindAddress', 'localhost:80', `--healthz-bind-address "localhost:80": ${LISTEN}`],
    ['healthzBindAddress', '0.0.0.0:65536', `--healthz-bind-address "0.0.0.0:65536": ${LISTEN}`],
    ['healthzBindAddress', ':10256', `--healthz-bind-address ":10256": ${LISTEN}`],
    ['metricsBindAddress', '[::1', `--metrics-bind-address "[::1": ${LISTEN}`],
    ['healthzPort', '70000', '--healthz-port "70000": must be a whole number from 0 to 65535'],
    ['oomScoreAdj', '1001', '--oom-score-adj "1001": must be a whole number from -1000 to 1000'],
    ['conntrackMin', '-5', '--conntrack-min "-5": must be a whole number from 0 to 2147483647'],
    [
      'conntrackMin',
      '2147483648',
      '--conntrack-min "2147483648": must be a whole number from 0 to 2147483647',
    ],
    ['kubeApiQps', 'many', '--kube-api-qps "many": must be a number'],
    [
      'showHiddenMetricsForVersion',
      '1.34',
      '--show-hidden-metrics-for-version "1.34": must be 1.35, the version before, or empty',
    ],
    [
      'vmodule',
      'proxier',
      '--vmodule "proxier": must be file patterns and levels, such as proxier=4,config*=6',
    ],
    [
      'logTextInfoBufferSize',
      'much',
      '--log-text-info-buffer-size "much": must be a number of bytes, such as 0, 4096 or 64Ki',
    ],
    ...[
      '  ',
      'N 1',
      'a_b',
      '-a',
      'a-',
      'a..b',
      'a.-b',
      '.a',
      'node/1',
      '$(NODE_NAME)',
      'größe',
      'a'.repeat(254),
    ].map((name): [OptionName, unknown, string] => [
      'hostnameOverride',
      name,
      `--hostname-override ${JSON.stringify(name)}: must be the name of a Node: parts of letters, digits and -, separated by dots, each with a letter or digit at both ends; at most 253 characters`,
    ]),
    ['verbosity', 'high', '-v "high": must be a whole number from 0 to 2147483647'],
    ['loggingFormat', 'xml', '--logging-format "xml": must be text or json'],
  ])('%s %o', ([option, value, message]) => {
    expect(problems({ [option]: value })).toEqual([message]);
  });

  test('several are all told', () => {
    expect(problems({ masqueradeBit: '99', verbosity: 'x', manifests: 'd', kubeconfig: 'k' })).toEqual([
      '--iptables-masquerade-bit "99": must be a whole number from 0 to 31',
      '-v "x": must be a whole number from 0 to 2147483647',
    ]);
  });

  test('objects come from one place', () => {
    expect(problems({ manifests: 'd', kubeconfig: 'k' })).toEqual([
      '--manifests "d": must not be given together with --kubeconfig or --master',
    ]);
  });

  test.for(['', 'a/b', 'a b', 'has"quote', 'sixteen-letters-', 'veth+'])('pod interface %o', (name) => {
    const rule = 'must be 1 to 15 letters, digits or . _ @ -';
    expect(problems({ detectLocalMode: 'BridgeInterface', podBridgeInterface: name })).toEqual([
      `--pod-bridge-interface ${JSON.stringify(name)}: ${rule}, as --detect-local-mode BridgeInterface needs one`,
    ]);
    expect(problems({ detectLocalMode: 'InterfaceNamePrefix', podInterfaceNamePrefix: name })).toEqual([
      `--pod-interface-name-prefix ${JSON.stringify(name)}: ${rule}, as --detect-local-mode InterfaceNamePrefix needs one`,
    ]);
  });
});

describe('what one mode alone uses', () => {
  test.for<[string, Partial<Record<OptionName, unknown>>]>([
    ['--ipvs-scheduler', { ipvsScheduler: 'no such' }],
    ['--ipvs-exclude-cidrs', { ipvsExcludeCidrs: '10.0.0.0' }],
    ['--ipvs-exclude-cidrs', { ipvsExcludeCidrs: '10.0.0.0/8,' }],
    ['--ipvs-tcp-timeout', { ipvsTcpTimeout: '-1s' }],
    ['--ipvs-sync-period', { ipvsSyncPeriod: '0s' }],
  ])('%s is checked in IPVS mode alone', ([flag, given]) => {
    expect(problems({ ...given, proxyMode: 'iptables' })).toEqual([]);
    const [problem, ...others] = problems({ ...given, proxyMode: 'ipvs' });
    expect(problem).toMatch(new RegExp(`^${flag} `));
    expect(others).toEqual([]);
  });

  const GIVEN = {
    syncPeriod: '10s',
    minSyncPeriod: '2s',
    masqueradeAll: 'true',
    masqueradeBit: '10',
    ipvsSyncPeriod: '20s',
    ipvsMinSyncPeriod: '3s',
    nftablesSyncPeriod: '40s',
    nftablesMinSyncPeriod: '4s',
    nftablesMasqueradeAll: 'false',
    nftablesMasqueradeBit: '20',
  };

  test.for([
    ['iptables', GIVEN, { syncPeriod: 10_000, minSyncPeriod: 2000, masqueradeAll: true, masqueradeBit: 10 }],
    ['ipvs', GIVEN, { syncPeriod: 20_000, minSyncPeriod: 3000, masqueradeAll: true, masqueradeBit: 10 }],
    ['nftables', GIVEN, { syncPeriod: 40_000, minSyncPeriod: 4000, masqueradeAll: false, masqueradeBit: 20 }],
    [
      'ipvs',
      { syncPeriod: '10s', minSyncPeriod: '2s' },
      { syncPeriod: 10_000, minSyncPeriod: 2000, masqueradeAll: false, masqueradeBit: 14 },
    ],
    [
      'nftables',
      { syncPeriod: '10s', masqueradeAll: 'true', masqueradeBit: '0' },
      { syncPeriod: 10_000, minSyncPeriod: 1000, masqueradeAll: true, masqueradeBit: 0 },
    ],
  ] as const)('%s mode takes its own of %o', ([proxyMode, given, expected]) => {
    expect(options({ ...given, proxyMode })).toMatchObject(expected);
  });

  test('what is to stay stays in every mode, whatever else is in the list', () => {
    const ipvsExcludeCidrs = ['10.0.0.1/8', '', 'nonsense', 'fd00::/8'];
    expect(options({ proxyMode: 'iptables', ipvsExcludeCidrs }).ipvsExcludeCidrs).toEqual([
      '10.0.0.0/8',
      'fd00::/8',
    ]);
  });

  test('a default that does not go with what is given is shown as it is', () => {
    expect(problems({ proxyMode: 'iptables', syncPeriod: '1ns' })).toEqual([
      '--iptables-min-sync-period "1s": must not be longer than --iptables-sync-period',
    ]);
  });

  test('a minimum that is too long names the mode’s own options', () => {
    expect(problems({ proxyMode: 'ipvs', ipvsSyncPeriod: '1s', ipvsMinSyncPeriod: '2s' })).toEqual([
      '--ipvs-min-sync-period "2s": must not be longer than --ipvs-sync-period',
    ]);
  });
});

describe('feature gates', () => {
  test.for<[unknown, string]>([
    ['Nonsense=true', 'Nonsense is no feature gate of a Service proxy in Kubernetes 1.36'],
    ['TopologyAwareHints=true', 'TopologyAwareHints is gone, what it guarded is always on; leave it out'],
    ['NFTablesProxyMode=false', 'NFTablesProxyMode is locked to true'],
    ['ComponentFlagz', 'must be feature gates, such as ComponentFlagz=true,NativeHistograms=false'],
    ['ComponentFlagz=perhaps', 'must be feature gates, such as ComponentFlagz=true,NativeHistograms=false'],
  ])('%o cannot be', ([featureGates, allowed]) => {
    expect(problems({ featureGates })).toEqual([
      `--feature-gates ${JSON.stringify(featureGates)}: ${allowed}`,
    ]);
  });

  test.for<[unknown, Partial<Options['featureGates']>]>([
    ['ComponentFlagz=false,NFTablesProxyMode=true', { ComponentFlagz: false, ComponentStatusz: true }],
    [['ComponentFlagz=false', 'ComponentFlagz=true'], { ComponentFlagz: true }],
    ['AllAlpha=true,LoggingAlphaOptions=false', { NativeHistograms: true, LoggingAlphaOptions: false }],
    ['AllBeta=false', { ComponentFlagz: false, ContextualLogging: false, AllowServiceExternalIPs: true }],
    [{ AllowServiceExternalIPs: false }, { AllowServiceExternalIPs: false }],
  ])('%o', ([featureGates, expected]) => {
    expect(options({ featureGates }).featureGates).toMatchObject(expected);
  });
});

describe('of what type a flag is', () => {
  test.for<[OptionName, unknown, string]>([
    ['masqueradeAll', 'maybe', '--masquerade-all "maybe": must be true or false'],
    ['masqueradeAll', '', '--masquerade-all "": must be true or false'],
    ['syncPeriod', 'abc', '--iptables-sync-period "abc": must be a duration such as 30s, 1m30s, 1h or 100ms'],
    [
      'logFlushFrequency',
      'x',
      '--log-flush-frequency "x": must be a duration such as 30s, 1m30s, 1h or 100ms, or a whole number of nanoseconds',
    ],
    ['bindAddress', 'x', '--bind-address "x": must be an IP address'],
    [
      'healthzBindAddress',
      'x',
      '--healthz-bind-address "x": must be an IP address and a port, such as 0.0.0.0:10256 or [::]:10256; port 0 switches it off',
    ],
    ['conntrackMin', 'a', '--conntrack-min "a": must be a whole number from 0 to 2147483647'],
    ['conntrackMin', '', '--conntrack-min "": must be a whole number from 0 to 2147483647'],
    ['metricsPort', '99999999999', '--metrics-port "99999999999": must be a whole number from 0 to 65535'],
    ['kubeApiQps', 'x', '--kube-api-qps "x": must be a number'],
    [
      'featureGates',
      ['A'],
      '--feature-gates "A": must be feature gates, such as ComponentFlagz=true,NativeHistograms=false',
    ],
  ])('%s is not %o', ([option, value, message]) => {
    expect(flagTypeProblems({ [option]: value }).map(describeProblem)).toEqual([message]);
  });

  test('nothing but the type is asked for', () => {
    const given = {
      proxyMode: 'bogus',
      detectLocalMode: 'bogus',
      masqueradeBit: '99',
      oomScoreAdj: '2000',
      conntrackMin: '-5',
      conntrackUdpTimeout: '-5s',
      syncPeriod: '0s',
      configSyncPeriod: '0s',
      nodeportAddresses: ['bogus', ''],
      clusterCidr: ',',
      bindAddress: '',
      healthzBindAddress: '',
      metricsPort: '70000',
      showHiddenMetricsForVersion: 'bogus',
      featureGates: ['NoSuchGate=true'],
    };
    expect(flagTypeProblems(given)).toEqual([]);
  });
});

test('every flag and every field is one option’s alone', () => {
  const names = [...FLAGS.values()].flatMap((info) => [info.flag, ...(info.alias ? [info.alias] : [])]);
  expect(names.length).toBe(new Set(names).size);
  const fields = Array.from(FIELDS.values(), ({ field }) => field);
  expect(fields.length).toBe(new Set(fields).size);
  expect([...OPTIONS].filter(([, { flag, field }]) => flag === undefined && field === undefined)).toEqual([]);
});
