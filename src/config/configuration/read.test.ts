import { describe, expect, test } from 'vitest';
import { HEAD, load, optionsOfFile } from '../../../test/support/load-configuration.ts';
import type { Options } from '../options.ts';

describe('zero, and what YAML 1.1 makes of values', () => {
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
    ['iptables: {masqueradeAll: yes, masqueradeBit: 016}', { masqueradeAll: true, masqueradeBit: 14 }],
    ['iptables: {masqueradeAll: on, masqueradeBit: 0xe}', { masqueradeAll: true, masqueradeBit: 14 }],
    ['conntrack: {tcpBeLiberal: On, min: 131_072}', { conntrackTcpBeLiberal: true, conntrackMin: 131_072 }],
    [
      'mode: ipvs\niptables: {masqueradeAll: true}\nnftables: {masqueradeAll: false}',
      { masqueradeAll: true },
    ],
    ['mode: nftables\niptables: {masqueradeBit: 3}\nnftables: {masqueradeBit: 4}', { masqueradeBit: 4 }],
  ])('%s', async ([text, expected]) => {
    expect(await optionsOfFile(`${HEAD}${text}\n`)).toMatchObject(expected);
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
    expect((await optionsOfFile(`${HEAD}mode: iptables\nmode: ipvs\n`)).proxyMode).toBe('ipvs');
  });

  test('JSON does too', async () => {
    const text = JSON.stringify({
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      mode: 'ipvs',
    });
    expect((await optionsOfFile(text)).proxyMode).toBe('ipvs');
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
    ['mode: on', 'file: mode true: must be text, in quotes'],
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
      'nodePortAddresses: [""]',
      'nodeportAddresses [""]: must be CIDRs separated by commas, or the word primary alone',
    ],
    [
      'nodePortAddresses: ["10.0.0.0/8,11.0.0.0/8"]',
      'nodeportAddresses ["10.0.0.0/8,11.0.0.0/8"]: must be CIDRs separated by commas, or the word primary alone',
    ],
    [
      'nodePortAddresses: ["10.0.0.0/8,"]',
      'nodeportAddresses ["10.0.0.0/8,"]: must be CIDRs separated by commas, or the word primary alone',
    ],
    [
      'nodePortAddresses: ["10.0.0.0/8", ""]',
      'nodeportAddresses ["10.0.0.0/8",""]: must be CIDRs separated by commas, or the word primary alone',
    ],
    [
      'clusterCIDR: ","',
      'clusterCidr ",": must be one CIDR, or an IPv4 and an IPv6 CIDR separated by a comma, such as 10.244.0.0/16,fd00:10:244::/56',
    ],
    ['mode: ipvs\nipvs: {excludeCIDRs: [""]}', 'ipvsExcludeCidrs [""]: must be CIDRs'],
    ['iptables: {syncPeriod: ""}', 'syncPeriod "": must be a duration such as 30s, 1m30s, 1h or 100ms'],
    ['ipvs: {tcpTimeout: ""}', 'ipvsTcpTimeout "": must be a duration such as 30s, 1m30s, 1h or 100ms'],
    ['iptables: {syncPeriod: 1ns}', 'minSyncPeriod "1s": must not be longer than syncPeriod'],
    [
      'featureGates: ComponentFlagz=true',
      'file: featureGates "ComponentFlagz=true": must be a mapping of names to true or false',
    ],
    [
      'featureGates: [ComponentFlagz=true]',
      'file: featureGates ["ComponentFlagz=true"]: must be a mapping of names to true or false',
    ],
    ['logging: {vmodule: "a=1"}', 'file: logging.vmodule "a=1": must be a list of mappings'],
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
    [
      'hostnameOverride: "  "',
      'hostnameOverride "  ": must be the name of a Node: parts of letters, digits and -, separated by dots, each with a letter or digit at both ends; at most 253 characters',
    ],
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
