import { describe, expect, test } from 'vitest';
import { MODES } from '../../backends/registry.ts';
import { FLAGS, type OptionName } from './flags.ts';
import { describeProblem, type Options, parseOptions } from './options.ts';

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
  expect(options()).toEqual({
    kubeconfig: '',
    master: '',
    manifests: '',
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
    syncPeriod: 30_000,
    minSyncPeriod: 1000,
    configSyncPeriod: 900_000,
    dryRun: false,
    healthzBindAddress: { host: '0.0.0.0', port: 10256 },
    metricsBindAddress: { host: '127.0.0.1', port: 10249 },
    bindAddressHardFail: false,
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
  });
});

describe('a value that is right', () => {
  test.for<[OptionName, unknown, keyof Options, unknown]>([
    ['proxyMode', 'nftables', 'proxyMode', 'nftables'],
    ['proxyMode', '', 'proxyMode', MODES[0]],
    ['hostnameOverride', ' Node-A ', 'hostnameOverride', 'node-a'],
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
    ['nodeportAddresses', ['0.0.0.0/0,::/0'], 'nodeportAddresses', ['0.0.0.0/0', '::/0']],
    ['bindAddress', '192.000.002.001', 'bindAddress', '192.0.2.1'],
    ['healthzBindAddress', '', 'healthzBindAddress', undefined],
    ['healthzBindAddress', '127.0.0.1', 'healthzBindAddress', { host: '127.0.0.1', port: 10256 }],
    ['healthzBindAddress', '[::1]:80', 'healthzBindAddress', { host: '::1', port: 80 }],
    ['healthzBindAddress', '[::]', 'healthzBindAddress', { host: '::', port: 10256 }],
    ['healthzBindAddress', '::', 'healthzBindAddress', { host: '::', port: 10256 }],
    ['healthzBindAddress', '0.0.0.0:0', 'healthzBindAddress', undefined],
    ['healthzPort', '1234', 'healthzBindAddress', { host: '0.0.0.0', port: 1234 }],
    ['healthzPort', '0', 'healthzBindAddress', undefined],
    ['metricsBindAddress', '', 'metricsBindAddress', undefined],
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
    'must be an IP address and a port, such as 0.0.0.0:10256 or [::]:10256, or empty to switch it off';

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
    ['masqueradeBit', '0x4', '--iptables-masquerade-bit "0x4": must be a whole number from 0 to 31'],
    ['masqueradeBit', '1.0', '--iptables-masquerade-bit "1.0": must be a whole number from 0 to 31'],
    ['masqueradeBit', '', '--iptables-masquerade-bit "": must be a whole number from 0 to 31'],
    [
      'syncPeriod',
      '30',
      '--iptables-sync-period "30": must be a duration such as 30s, 1m30s, 1h or 100ms, greater than 0',
    ],
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
    ['bindAddress', 'localhost', '--bind-address "localhost": must be an IP address'],
    ['bindAddress', '127.1', '--bind-address "127.1": must be an IP address'],
    ['healthzBindAddress', 'localhost:80', `--healthz-bind-address "localhost:80": ${LISTEN}`],
    ['healthzBindAddress', '0.0.0.0:65536', `--healthz-bind-address "0.0.0.0:65536": ${LISTEN}`],
    ['healthzBindAddress', ':10256', `--healthz-bind-address ":10256": ${LISTEN}`],
    ['metricsBindAddress', '[::1', `--metrics-bind-address "[::1": ${LISTEN}`],
    ['healthzPort', '70000', '--healthz-port "70000": must be a whole number from 0 to 65535'],
    ['oomScoreAdj', '1001', '--oom-score-adj "1001": must be a whole number from -1000 to 1000'],
    ['conntrackMin', '-5', '--conntrack-min "-5": must be a whole number, 0 or more'],
    ['hostnameOverride', '  ', '--hostname-override "  ": must be more than blanks'],
    ['verbosity', 'high', '--v "high": must be a whole number, 0 or more'],
    ['loggingFormat', 'xml', '--logging-format "xml": must be text or json'],
  ])('%s %o', ([option, value, message]) => {
    expect(problems({ [option]: value })).toEqual([message]);
  });

  test('several are all told', () => {
    expect(problems({ masqueradeBit: '99', verbosity: 'x', manifests: 'd', kubeconfig: 'k' })).toEqual([
      '--iptables-masquerade-bit "99": must be a whole number from 0 to 31',
      '--v "x": must be a whole number, 0 or more',
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

test('every option has a flag, and no two share a name', () => {
  const names = [...FLAGS.values()].flatMap((spec) => [spec.flag, ...(spec.alias ? [spec.alias] : [])]);
  expect(names.length).toBe(new Set(names).size);
  expect([...FLAGS.keys()].filter((name) => !(name in options()))).toEqual(['healthzPort']);
});
