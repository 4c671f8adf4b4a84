import { Command } from 'commander';
import { expect, test } from 'vitest';
import { configure } from './commands/kube-proxy.ts';
import { flagTexts } from './flag-texts.ts';
import { addFlags, switchOption } from './flags.ts';

function parsed(...args: string[]): Readonly<Record<string, string>> {
  const command = new Command().addOption(switchOption('init-only', 'prepares', 'Starting'));
  addFlags(command, ['Node', 'Rules']);
  command.parse(args, { from: 'user' });
  return flagTexts(command);
}

test('what was given, and the defaults of the rest', () => {
  const texts = parsed(
    '--masquerade-all',
    '--cluster-cidr=10.244.0.0/16',
    '--nodeport-addresses=192.0.2.0/24',
    '--nodeport-addresses=198.51.100.0/24',
  );
  expect(texts).toMatchObject({
    'masquerade-all': 'true',
    'cluster-cidr': '10.244.0.0/16',
    'nodeport-addresses': '[192.0.2.0/24,198.51.100.0/24]',
    'iptables-masquerade-bit': '14',
    'hostname-override': '',
    'init-only': 'false',
  });
  expect(parsed('--init-only', '--masquerade-all=false')).toMatchObject({
    'init-only': 'true',
    'masquerade-all': 'false',
    'cluster-cidr': '',
  });
});

/** Every flag of kube-proxy's command that has a default, as Go prints it. */
const DEFAULTS = {
  'bind-address': '0.0.0.0',
  'bind-address-hard-fail': 'false',
  cleanup: 'false',
  'cluster-cidr': '',
  config: '',
  'config-sync-period': '15m0s',
  'conntrack-max-per-core': '32768',
  'conntrack-min': '131072',
  'conntrack-tcp-be-liberal': 'false',
  'conntrack-tcp-timeout-close-wait': '1h0m0s',
  'conntrack-tcp-timeout-established': '24h0m0s',
  'conntrack-udp-timeout': '0s',
  'conntrack-udp-timeout-stream': '0s',
  'detect-local-mode': 'ClusterCIDR',
  'feature-gates': '',
  'healthz-bind-address': '0.0.0.0:10256',
  'healthz-port': '10256',
  'hostname-override': '',
  'init-only': 'false',
  'iptables-localhost-nodeports': 'true',
  'iptables-masquerade-bit': '14',
  'iptables-min-sync-period': '1s',
  'iptables-sync-period': '30s',
  'ipvs-exclude-cidrs': '[]',
  'ipvs-min-sync-period': '1s',
  'ipvs-scheduler': '',
  'ipvs-strict-arp': 'false',
  'ipvs-sync-period': '30s',
  'ipvs-tcp-timeout': '0s',
  'ipvs-tcpfin-timeout': '0s',
  'ipvs-udp-timeout': '0s',
  'kube-api-burst': '10',
  'kube-api-content-type': 'application/vnd.kubernetes.protobuf',
  'kube-api-qps': '5',
  kubeconfig: '',
  'log-flush-frequency': '5s',
  'log-json-info-buffer-size': '0',
  'log-json-split-stream': 'false',
  'log-text-info-buffer-size': '0',
  'log-text-split-stream': 'false',
  'logging-format': '',
  'masquerade-all': 'false',
  master: '',
  'metrics-bind-address': '127.0.0.1:10249',
  'metrics-port': '10249',
  'nodeport-addresses': '[]',
  'oom-score-adj': '-999',
  'pod-bridge-interface': '',
  'pod-interface-name-prefix': '',
  profiling: 'false',
  'proxy-mode': 'iptables',
  'show-hidden-metrics-for-version': '',
  v: '0',
  version: 'false',
  vmodule: '',
  'write-config-to': '',
  'boot-id-file': '',
  'machine-id-file': '',
};

function kubeProxyFlags(...args: string[]): Readonly<Record<string, string>> {
  const command = new Command();
  configure(command);
  command.action(() => undefined).parse(args, { from: 'user' });
  return flagTexts(command, { proxyMode: 'iptables' });
}

test('defaults', () => {
  expect(kubeProxyFlags()).toEqual(DEFAULTS);
});

test('a default of the command itself', () => {
  const command = new Command();
  addFlags(command, ['Rules']);
  command.parse([], { from: 'user' });
  expect(flagTexts(command, { proxyMode: 'nftables' })['proxy-mode']).toBe('nftables');
});

test('lists, gates and a password', () => {
  expect(
    kubeProxyFlags(
      '--nodeport-addresses=192.0.2.0/24,198.51.100.0/24',
      '--feature-gates=ComponentFlagz=true,ComponentStatusz=false',
      '--feature-gates=AllBeta=true',
      '--master=http://user:secret@192.0.2.1:6443/',
      '--ipvs-exclude-cidrs=',
    ),
  ).toEqual({
    ...DEFAULTS,
    'nodeport-addresses': '[192.0.2.0/24,198.51.100.0/24]',
    'feature-gates': 'ComponentFlagz=true,ComponentStatusz=false,AllBeta=true',
    master: 'http://192.0.2.1:6443/',
    'ipvs-exclude-cidrs': '[]',
  });
});
