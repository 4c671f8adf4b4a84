import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MountedConfigMap } from '../../test/support/config-map.ts';
import type { FlagGroup } from '../config/flags.ts';
import type { Given, Options } from '../config/options.ts';
import { addFlags } from './flags.ts';
import { normalizeArguments } from './normalize.ts';
import { readSettings, type Settings } from './settings.ts';
import { configOption } from './start.ts';

const GROUPS: readonly FlagGroup[] = [
  'Cluster',
  'Node',
  'Rules',
  'Syncing',
  'Servers',
  'System',
  'Output',
  'Without effect',
];

const CONFIG = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: /from/file}
hostnameOverride: from-file
iptables: {masqueradeBit: 5, masqueradeAll: true}
logging: {verbosity: 1}
`;

let map: MountedConfigMap;
beforeEach(async () => {
  map = await MountedConfigMap.create({ 'config.conf': CONFIG });
});
afterEach(() => map.remove());

async function settings(args: readonly string[], defaults?: Given): Promise<Settings> {
  const command = new Command().exitOverride().addOption(configOption());
  addFlags(command, GROUPS);
  await command.action(() => undefined).parseAsync(args, { from: 'user' });
  return readSettings(command, defaults);
}

const FILE = () => `--config=${map.path('config.conf')}`;

describe('beside --config', () => {
  const FROM_FILE: Partial<Options> = {
    kubeconfig: '/from/file',
    hostnameOverride: 'from-file',
    masqueradeBit: 5,
    masqueradeAll: true,
    verbosity: 1,
    proxyMode: 'iptables',
  };

  test.for<[string[], Partial<Options>]>([
    [[], FROM_FILE],
    [['--hostname-override= Flag '], { ...FROM_FILE, hostnameOverride: 'flag' }],
    [['--hostname-override='], FROM_FILE],
    [['--nodeport-addresses=', '--cluster-cidr=', '--bind-address='], FROM_FILE],
    [['--node-name=flag'], { ...FROM_FILE, hostnameOverride: 'flag' }],
    [['-v', '5', '--logging-format=json'], { ...FROM_FILE, verbosity: 5, loggingFormat: 'json' }],
    [['--vmodule=a=1'], { ...FROM_FILE, vmodule: [{ filePattern: 'a', verbosity: 1 }] }],
    [['--master=https://192.0.2.1'], { ...FROM_FILE, master: 'https://192.0.2.1' }],
    [['--dry-run'], { ...FROM_FILE, dryRun: true }],
    [['--manifests=/m'], { ...FROM_FILE, manifests: '/m', kubeconfig: '' }],
  ])('%o counts', async ([args, expected]) => {
    const { options, notices, file } = await settings([FILE(), ...args]);
    expect(options).toMatchObject(expected);
    expect(notices).toEqual([]);
    expect(file).toEqual({ path: map.path('config.conf'), text: CONFIG });
  });

  test('nothing else does, and is told', async () => {
    const { options, notices } = await settings([
      FILE(),
      '--mode=ipvs',
      '--masquerade-all=false',
      '--kubeconfig=/from/flag',
      '--healthz-port=1',
    ]);
    expect(options).toMatchObject({
      ...FROM_FILE,
      healthzBindAddress: { host: '0.0.0.0', port: 10256 },
    });
    expect(notices).toEqual([
      '--healthz-port is deprecated; use --healthz-bind-address',
      '--config is given, so these flags do not count: --kubeconfig, --mode, --masquerade-all, --healthz-port',
    ]);
  });

  test.for<[string, string]>([
    ['--masquerade-all=maybe', '--masquerade-all "maybe": must be true or false'],
    ['--masquerade-all=', '--masquerade-all "": must be true or false'],
    [
      '--iptables-sync-period=abc',
      '--iptables-sync-period "abc": must be a duration such as 30s, 1m30s, 1h or 100ms',
    ],
    ['--bind-address=x', '--bind-address "x": must be an IP address'],
    ['--conntrack-min=a', '--conntrack-min "a": must be a whole number from 0 to 2147483647'],
    ['--metrics-port=99999999999', '--metrics-port "99999999999": must be a whole number from 0 to 65535'],
    ['-v=', '-v "": must be a whole number from 0 to 2147483647'],
  ])('%s is an error all the same', async ([flag, message]) => {
    await expect(settings(normalizeArguments([FILE(), flag], []))).rejects.toThrow(message);
  });

  test('what is of its type is not looked at further', async () => {
    const flags = [
      '--oom-score-adj=2000',
      '--proxy-mode=bogus',
      '--nodeport-addresses=x,',
      '--conntrack-min=-5',
    ];
    expect((await settings([FILE(), ...flags])).notices).toEqual([
      '--config is given, so these flags do not count: --nodeport-addresses, --proxy-mode, --oom-score-adj, --conntrack-min',
    ]);
  });

  test('an error names the file or the flag, whichever has the value', async () => {
    await map.update({ 'config.conf': `${CONFIG}oomScoreAdj: 2000\n` });
    const path = map.path('config.conf');
    await expect(settings([FILE(), '-vhigh'])).rejects.toThrow(
      `${path}: oomScoreAdj 2000: must be a whole number from -1000 to 1000\n-v "high": must be a whole number from 0 to 2147483647`,
    );
    await expect(settings([FILE(), '--hostname-override=  '])).rejects.toThrow('oomScoreAdj 2000');
    await map.update({ 'config.conf': CONFIG });
    await expect(settings([FILE(), '--hostname-override=  '])).rejects.toThrow(
      '--hostname-override "  ": must be the name of a Node: parts of letters, digits and -, separated by dots, each with a letter or digit at both ends; at most 253 characters',
    );
    await map.update({ 'config.conf': 'mode: ipvs\n' });
    await expect(settings([FILE()])).rejects.toThrow(`${path}: apiVersion (missing): must be`);
  });
});

test('without --config, a default of the command holds where no flag is given', async () => {
  expect((await settings([])).options.proxyMode).toBe('nftables');
  expect((await settings([], { proxyMode: 'iptables' })).options.proxyMode).toBe('iptables');
  expect((await settings(['--mode=ipvs'], { proxyMode: 'iptables' })).options.proxyMode).toBe('ipvs');
  expect((await settings([FILE()], { proxyMode: 'ipvs' })).options.proxyMode).toBe('iptables');
});

test('deprecated flags are told', async () => {
  expect((await settings(['--metrics-port=0'])).notices).toEqual([
    '--metrics-port is deprecated; use --metrics-bind-address',
  ]);
});
