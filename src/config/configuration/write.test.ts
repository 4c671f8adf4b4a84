import { describe, expect, test } from 'vitest';
import { configMapData } from '../../../test/support/config-map.ts';
import { HEAD, load, optionsOfFile } from '../../../test/support/load-configuration.ts';
import type { OptionName } from '../flags.ts';
import { describeProblem, parseOptions } from '../options.ts';
import { configurationYaml } from './write.ts';

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
  const { configuration } = await optionsOfFile(HEAD);
  const text = await configurationYaml(configuration);
  expect(text).toBe(DEFAULTED);
  expect(await load(text)).toMatchObject({ notices: [], problems: [] });
  expect((await optionsOfFile(text)).configuration).toEqual(configuration);
});

test.for<[string, Readonly<Partial<Record<OptionName, unknown>>>]>([
  ['healthzBindAddress', { healthzPort: '0' }],
  ['healthzBindAddress', { healthzBindAddress: '' }],
  ['healthzBindAddress', { healthzBindAddress: '127.0.0.1:0' }],
  ['metricsBindAddress', { metricsPort: '0' }],
  ['metricsBindAddress', { metricsBindAddress: '' }],
] as const)('%s of a server that is off for %o is off for who reads it', async ([field, given]) => {
  const result = parseOptions(given);
  if (!result.ok) throw new Error(result.problems.map(describeProblem).join('\n'));
  const text = await configurationYaml(result.options.configuration);
  expect(text).toContain(`\n${field}: 0.0.0.0:0\n`);
  expect(await optionsOfFile(text)).toMatchObject({ [field]: undefined });
});

test('texts that are something else in YAML 1.1 are written in quotes', async () => {
  const { configuration } = await optionsOfFile(
    `${HEAD}hostnameOverride: "016"\nwinkernel: {networkName: "on", sourceVip: "12:30:00", rootHnsEndpointName: "2015-01-01"}\n`,
  );
  const text = await configurationYaml(configuration);
  for (const line of [
    'hostnameOverride: "016"',
    '  networkName: "on"',
    '  rootHnsEndpointName: "2015-01-01"',
    '  sourceVip: "12:30:00"',
  ]) {
    expect(text).toContain(`\n${line}\n`);
  }
  expect((await optionsOfFile(text)).configuration).toEqual(configuration);
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
winkernel: {enableDSR: true, forwardHealthCheckVip: true, networkName: net, rootHnsEndpointName: r, sourceVip: s}
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
  networkName: net
  rootHnsEndpointName: r
  sourceVip: s
`,
  );
});
