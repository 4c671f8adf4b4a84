import { describe, expect, test } from 'vitest';
import { configMapData } from '../../../test/support/config-map.ts';
import { describeProblem, type Options, parseOptions } from '../options.ts';
import { readConfiguration } from './read.ts';
import { configurationYaml } from './write.ts';

const HEAD = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n';

interface Loaded {
  readonly options: Options | undefined;
  readonly notices: readonly string[];
  readonly problems: readonly string[];
}

async function load(text: string): Promise<Loaded> {
  try {
    const { given, notices } = await readConfiguration(text, 'file');
    const result = parseOptions(given, (option) => option);
    return result.ok
      ? { options: result.options, notices, problems: [] }
      : { options: undefined, notices, problems: result.problems.map(describeProblem) };
  } catch (error) {
    return { options: undefined, notices: [], problems: (error as Error).message.split('\n') };
  }
}

async function options(text: string): Promise<Options> {
  const loaded = await load(text);
  if (!loaded.options) throw new Error(loaded.problems.join('\n'));
  return loaded.options;
}

/** What kube-proxy 1.36 writes for an empty file, in the order of names. */
const DEFAULTED = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection:
  acceptContentTypes: ""
  burst: 10
  contentType: application/vnd.kubernetes.protobuf
  kubeconfig: ""
  qps: 5
clusterCIDR: ""
configSyncPeriod: 15m0s
conntrack:
  maxPerCore: 32768
  min: 131072
  tcpBeLiberal: false
  tcpCloseWaitTimeout: 1h0m0s
  tcpEstablishedTimeout: 24h0m0s
  udpStreamTimeout: 0s
  udpTimeout: 0s
detectLocal:
  bridgeInterface: ""
  interfaceNamePrefix: ""
detectLocalMode: ClusterCIDR
enableProfiling: false
healthzBindAddress: 0.0.0.0:10256
hostnameOverride: ""
iptables:
  localhostNodePorts: true
  masqueradeAll: false
  masqueradeBit: 14
  minSyncPeriod: 1s
  syncPeriod: 30s
ipvs:
  excludeCIDRs: null
  minSyncPeriod: 0s
  scheduler: ""
  strictARP: false
  syncPeriod: 30s
  tcpFinTimeout: 0s
  tcpTimeout: 0s
  udpTimeout: 0s
kind: KubeProxyConfiguration
logging:
  flushFrequency: 5s
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
metricsBindAddress: 127.0.0.1:10249
mode: iptables
nftables:
  masqueradeAll: false
  masqueradeBit: 14
  minSyncPeriod: 1s
  syncPeriod: 30s
nodePortAddresses: null
oomScoreAdj: -999
portRange: ""
showHiddenMetricsForVersion: ""
winkernel:
  enableDSR: false
  forwardHealthCheckVip: false
  networkName: ""
  rootHnsEndpointName: ""
  sourceVip: ""
`;

describe('ConfigMaps as installers write them', () => {
  const CLUSTER = {
    'kubeconfig: ""': 'kubeconfig: /var/lib/kube-proxy/kubeconfig.conf',
    'clusterCIDR: ""': 'clusterCIDR: 10.244.0.0/16',
  };
  const KIND = { ...CLUSTER, 'maxPerCore: 32768': 'maxPerCore: 0' };

  test.for<[string, Readonly<Record<string, string>>, string[]]>([
    ['kubeadm', CLUSTER, []],
    ['kind', KIND, []],
    [
      'kind-rootless',
      {
        ...KIND,
        'tcpCloseWaitTimeout: 1h0m0s': 'tcpCloseWaitTimeout: 0s',
        'tcpEstablishedTimeout: 24h0m0s': 'tcpEstablishedTimeout: 0s',
      },
      [],
    ],
    [
      'kind-nftables',
      {
        ...KIND,
        'clusterCIDR: ""': 'clusterCIDR: 10.244.0.0/16,fd00:10:244::/56',
        'tcpBeLiberal: false': 'tcpBeLiberal: true',
        'mode: iptables': 'mode: nftables',
        'nodePortAddresses: null': 'nodePortAddresses:\n  - primary',
      },
      [
        'file: featureGates: left out, as they are no feature gates of a Service proxy: DynamicResourceAllocation',
      ],
    ],
  ])('%s', async ([name, differences, notices]) => {
    const text = (await configMapData(name))['config.conf'] ?? '';
    let expected = DEFAULTED;
    for (const [before, after] of Object.entries(differences)) expected = expected.replace(before, after);
    const loaded = await load(text);
    expect(loaded).toMatchObject({ problems: [], notices });
    expect(await configurationYaml(loaded.options?.configuration ?? {})).toBe(expected);
  });
});

test('what is written can be read, and says the same', async () => {
  const { configuration } = await options(HEAD);
  const text = await configurationYaml(configuration);
  expect(text).toBe(DEFAULTED);
  expect(await load(text)).toMatchObject({ notices: [], problems: [] });
  expect((await options(text)).configuration).toEqual(configuration);
});

test('every field arrives, and comes back', async () => {
  const text = `${HEAD}bindAddress: 2001:db8::1
bindAddressHardFail: true
clientConnection: {acceptContentTypes: a/b, burst: 20, contentType: application/json, kubeconfig: /k, qps: 0.5}
clusterCIDR: 10.1.0.0/16
configSyncPeriod: 1m
conntrack: {maxPerCore: 1, min: 2, tcpBeLiberal: true, tcpCloseWaitTimeout: 3s, tcpEstablishedTimeout: 4s, udpStreamTimeout: 5s, udpTimeout: 6s}
detectLocal: {bridgeInterface: br0, interfaceNamePrefix: veth}
detectLocalMode: BridgeInterface
enableProfiling: true
featureGates: {ComponentFlagz: false}
healthzBindAddress: 192.0.2.1:1
hostnameOverride: Node-1
iptables: {localhostNodePorts: false, masqueradeAll: true, masqueradeBit: 0, minSyncPeriod: 7s, syncPeriod: 8s}
ipvs: {excludeCIDRs: [10.2.0.0/16], minSyncPeriod: 9s, scheduler: wlc, strictARP: true, syncPeriod: 10s, tcpFinTimeout: 11s, tcpTimeout: 12s, udpTimeout: 13s}
logging: {flushFrequency: 7000000000, format: json, verbosity: 4, vmodule: [{filePattern: proxier, verbosity: 6}], options: {json: {infoBufferSize: 64Ki, splitStream: true}, text: {infoBufferSize: 1024, splitStream: true}}}
metricsBindAddress: '[::]:2'
mode: ipvs
nftables: {masqueradeAll: true, masqueradeBit: 31, minSyncPeriod: 14s, syncPeriod: 15s}
nodePortAddresses: [192.0.2.0/24]
oomScoreAdj: 0
portRange: 1-2
showHiddenMetricsForVersion: '1.35'
windowsRunAsService: true
winkernel: {enableDSR: true, forwardHealthCheckVip: true, networkName: n, rootHnsEndpointName: r, sourceVip: s}
`;
  const loaded = await load(text);
  expect(loaded).toMatchObject({ notices: [], problems: [] });
  expect(loaded.options).toMatchObject({ kubeconfig: '/k', syncPeriod: 10_000, masqueradeBit: 0 });
  expect(await configurationYaml(loaded.options?.configuration ?? {})).toBe(
    `apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 2001:db8::1
bindAddressHardFail: true
clientConnection:
  acceptContentTypes: a/b
  burst: 20
  contentType: application/json
  kubeconfig: /k
  qps: 0.5
clusterCIDR: 10.1.0.0/16
configSyncPeriod: 1m0s
conntrack:
  maxPerCore: 1
  min: 2
  tcpBeLiberal: true
  tcpCloseWaitTimeout: 3s
  tcpEstablishedTimeout: 4s
  udpStreamTimeout: 5s
  udpTimeout: 6s
detectLocal:
  bridgeInterface: br0
  interfaceNamePrefix: veth
detectLocalMode: BridgeInterface
enableProfiling: true
featureGates:
  ComponentFlagz: false
healthzBindAddress: 192.0.2.1:1
hostnameOverride: node-1
iptables:
  localhostNodePorts: false
  masqueradeAll: true
  masqueradeBit: 0
  minSyncPeriod: 7s
  syncPeriod: 8s
ipvs:
  excludeCIDRs:
    - 10.2.0.0/16
  minSyncPeriod: 9s
  scheduler: wlc
  strictARP: true
  syncPeriod: 10s
  tcpFinTimeout: 11s
  tcpTimeout: 12s
  udpTimeout: 13s
kind: KubeProxyConfiguration
logging:
  flushFrequency: 7s
  format: json
  options:
    json:
      infoBufferSize: 64Ki
      splitStream: true
    text:
      infoBufferSize: "1024"
      splitStream: true
  verbosity: 4
  vmodule:
    - filePattern: proxier
      verbosity: 6
metricsBindAddress: "[::]:2"
mode: ipvs
nftables:
  masqueradeAll: true
  masqueradeBit: 31
  minSyncPeriod: 14s
  syncPeriod: 15s
nodePortAddresses:
  - 192.0.2.0/24
oomScoreAdj: 0
portRange: 1-2
showHiddenMetricsForVersion: "1.35"
windowsRunAsService: true
winkernel:
  enableDSR: true
  forwardHealthCheckVip: true
  networkName: n
  rootHnsEndpointName: r
  sourceVip: s
`,
  );
});

describe('zero', () => {
  test.for<[string, Partial<Options>]>([
    ['iptables: {syncPeriod: 0s, minSyncPeriod: 0s}', { syncPeriod: 30_000, minSyncPeriod: 1000 }],
    ['mode: nftables\nnftables: {minSyncPeriod: "0"}', { syncPeriod: 30_000, minSyncPeriod: 1000 }],
    ['mode: ipvs', { syncPeriod: 30_000, minSyncPeriod: 0 }],
    ['healthzBindAddress: ""', { healthzBindAddress: { host: '0.0.0.0', port: 10256 } }],
    ['healthzBindAddress: 127.0.0.1', { healthzBindAddress: { host: '127.0.0.1', port: 10256 } }],
    ['metricsBindAddress: ""', { metricsBindAddress: { host: '127.0.0.1', port: 10249 } }],
    [
      'bindAddress: "::"',
      { healthzBindAddress: { host: '::', port: 10256 }, metricsBindAddress: { host: '::1', port: 10249 } },
    ],
    ['conntrack: {maxPerCore: 0, min: 0}', { conntrackMaxPerCore: 0, conntrackMin: 0 }],
    ['conntrack: {maxPerCore: null, min: ~}', { conntrackMaxPerCore: 32768, conntrackMin: 131072 }],
    ['conntrack: {tcpEstablishedTimeout: 0s}', { conntrackTcpTimeoutEstablished: 0 }],
    ['conntrack: null', { conntrackTcpTimeoutEstablished: 86_400_000 }],
    ['oomScoreAdj: 0', { oomScoreAdj: 0 }],
    [
      'iptables: {localhostNodePorts: false, masqueradeBit: 0}',
      { localhostNodePorts: false, masqueradeBit: 0 },
    ],
    ['clientConnection: {qps: 0, burst: 0}', { kubeApiQps: 5, kubeApiBurst: 10 }],
    ['nodePortAddresses: []', { nodeportAddresses: undefined }],
    ['mode: nftables\niptables: {masqueradeAll: true}', { masqueradeAll: false }],
    [
      'mode: ipvs\niptables: {masqueradeAll: true}\nnftables: {masqueradeAll: false}',
      { masqueradeAll: true },
    ],
    ['mode: nftables\niptables: {masqueradeBit: 3}\nnftables: {masqueradeBit: 4}', { masqueradeBit: 4 }],
  ])('%s', async ([text, expected]) => {
    expect(await options(`${HEAD}${text}\n`)).toMatchObject(expected);
  });
});

describe('what a strict reader refuses is told, and the rest counts', () => {
  const LENIENT = 'file: strict decoding failed, so it is read leniently: ';
  test.for<[string, string[]]>([
    ['udpIdleTimeout: 250ms', [`${LENIENT}unknown field "udpIdleTimeout"`]],
    [
      'ipvs: {ipSet: {hashSize: 1024}}\nMode: ipvs\nmetadata: {name: config}',
      [`${LENIENT}unknown field "ipvs.ipSet", unknown field "Mode", unknown field "metadata"`],
    ],
    ['mode: iptables\nmode: ipvs', [`${LENIENT}key "mode" is set twice`]],
    ['iptables: {syncPeriod: 1s, syncPeriod: 2s}', [`${LENIENT}key "iptables.syncPeriod" is set twice`]],
    ['---\nmode: ipvs', [`${LENIENT}there is more than one document, and the first counts`]],
    [
      'featureGates: {TopologyAwareHints: true, Other: false, ComponentFlagz: true}',
      [
        'file: featureGates: left out, as what they guarded is always on: TopologyAwareHints',
        'file: featureGates: left out, as they are no feature gates of a Service proxy: Other',
      ],
    ],
  ])('%s', async ([text, notices]) => {
    expect(await load(`${HEAD}${text}\n`)).toMatchObject({ problems: [], notices });
  });

  test('the last one of a key counts', async () => {
    expect((await options(`${HEAD}mode: iptables\nmode: ipvs\n`)).proxyMode).toBe('ipvs');
  });

  test('JSON does too', async () => {
    const text = JSON.stringify({
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      mode: 'ipvs',
    });
    expect((await options(text)).proxyMode).toBe('ipvs');
  });
});

describe('what cannot be used names the field, the value and what is allowed', () => {
  const NO_SUCH = 'must be kubeproxy.config.k8s.io/v1alpha1';
  test.for<[string, string[]]>([
    ['', ['file: must be a mapping with apiVersion and kind']],
    ['- a', ['file: must be a mapping with apiVersion and kind']],
    [
      'mode: ipvs',
      [`file: apiVersion (missing): ${NO_SUCH}`, 'file: kind (missing): must be KubeProxyConfiguration'],
    ],
    [
      'apiVersion: kubeproxy.config.k8s.io/v1alpha2\nkind: KubeProxyConfiguration',
      [`file: apiVersion "kubeproxy.config.k8s.io/v1alpha2": ${NO_SUCH}`],
    ],
    [
      'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeletConfiguration',
      ['file: kind "KubeletConfiguration": must be KubeProxyConfiguration'],
    ],
  ])('%o', async ([text, problems]) => {
    expect((await load(text)).problems).toEqual(problems);
  });

  test('text that is no YAML', async () => {
    const [first] = (await load('mode: [a')).problems;
    expect(first).toMatch(/^file: Flow sequence .* at line 1, column 9:$/);
    expect((await load('a: *b')).problems).toEqual([
      'file: Unresolved alias (the anchor must be set before the alias): b',
    ]);
  });

  test.for<[string, string]>([
    ['mode: 5', 'file: mode 5: must be text, in quotes'],
    [
      'iptables: {masqueradeAll: "true"}',
      'file: iptables.masqueradeAll "true": must be true or false, without quotes',
    ],
    ['oomScoreAdj: "5"', 'file: oomScoreAdj "5": must be a number, without quotes'],
    [
      'iptables: {syncPeriod: 30}',
      'file: iptables.syncPeriod 30: must be a duration such as 30s, 1m30s, 1h or 100ms',
    ],
    ['nodePortAddresses: primary', 'file: nodePortAddresses "primary": must be a list of texts'],
    ['nodePortAddresses: [1]', 'file: nodePortAddresses [1]: must be a list of texts'],
    ['conntrack: 5', 'file: conntrack 5: must be a mapping'],
    ['logging: {options: [a]}', 'file: logging.options ["a"]: must be a mapping'],
    ['mode: userspace', 'proxyMode "userspace": must be nftables or iptables or ipvs'],
    ['iptables: {masqueradeBit: 32}', 'masqueradeBit 32: must be a whole number from 0 to 31'],
    ['nftables: {masqueradeBit: -1}', 'nftablesMasqueradeBit -1: must be a whole number from 0 to 31'],
    ['oomScoreAdj: 1001', 'oomScoreAdj 1001: must be a whole number from -1000 to 1000'],
    ['conntrack: {maxPerCore: 1.5}', 'conntrackMaxPerCore 1.5: must be a whole number from 0 to 2147483647'],
    ['clientConnection: {burst: -1}', 'kubeApiBurst -1: must be a whole number from 0 to 2147483647'],
    [
      'iptables: {syncPeriod: -1s}',
      'syncPeriod "-1s": must be a duration such as 30s, 1m30s, 1h or 100ms, greater than 0',
    ],
    ['iptables: {minSyncPeriod: 31s}', 'minSyncPeriod "31s": must not be longer than syncPeriod'],
    [
      'mode: nftables\nnftables: {minSyncPeriod: 31s}',
      'nftablesMinSyncPeriod "31s": must not be longer than nftablesSyncPeriod',
    ],
    ['bindAddress: 10.0.0.1:80', 'bindAddress "10.0.0.1:80": must be an IP address'],
    [
      'clusterCIDR: 10.0.0.0/8,11.0.0.0/8',
      'clusterCidr "10.0.0.0/8,11.0.0.0/8": must be one CIDR, or an IPv4 and an IPv6 CIDR separated by a comma, such as 10.244.0.0/16,fd00:10:244::/56',
    ],
    [
      'nodePortAddresses: [primary, 10.0.0.0/8]',
      'nodeportAddresses ["primary","10.0.0.0/8"]: must be CIDRs separated by commas, or the word primary alone',
    ],
    [
      'detectLocalMode: BridgeInterface',
      'podBridgeInterface "": must be 1 to 15 letters, digits or . _ @ -, as detectLocalMode BridgeInterface needs one',
    ],
    [
      'featureGates: {NFTablesProxyMode: false}',
      'featureGates {"NFTablesProxyMode":false}: NFTablesProxyMode is locked to true',
    ],
    [
      'featureGates: {ComponentFlagz: "true"}',
      'featureGates {"ComponentFlagz":"true"}: must be feature gates, such as ComponentFlagz=true,NativeHistograms=false',
    ],
    ['mode: ipvs\nipvs: {excludeCIDRs: [10.0.0.0]}', 'ipvsExcludeCidrs ["10.0.0.0"]: must be CIDRs'],
    [
      'logging: {vmodule: [{filePattern: a}]}',
      'vmodule [{"filePattern":"a"}]: must be file patterns and levels, such as proxier=4,config*=6',
    ],
    ['hostnameOverride: "  "', 'hostnameOverride "  ": must be more than blanks'],
    [
      'showHiddenMetricsForVersion: "1.30"',
      'showHiddenMetricsForVersion "1.30": must be 1.35, the version before, or empty',
    ],
  ])('%s', async ([text, problem]) => {
    expect((await load(`${HEAD}${text}\n`)).problems).toEqual([problem]);
  });

  test('everything of the wrong type is told at once', async () => {
    expect((await load(`${HEAD}mode: 5\noomScoreAdj: a\nipvs: 1\n`)).problems).toEqual([
      'file: mode 5: must be text, in quotes',
      'file: ipvs 1: must be a mapping',
      'file: oomScoreAdj "a": must be a number, without quotes',
    ]);
  });
});
