import { expect, test, vi } from 'vitest';
import { cli } from './cli.ts';

// Each start of the program takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const CLUSTER = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    ...[11, 12].map((host) => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `node${host}` },
      status: { addresses: [{ type: 'InternalIP', address: `172.30.0.${host}` }] },
    })),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'shop' },
      spec: {
        clusterIP: '10.96.0.10',
        clusterIPs: ['10.96.0.10'],
        externalIPs: ['172.30.0.12', '203.0.113.9'],
        ports: [{ port: 80, protocol: 'TCP' }],
      },
    },
  ],
};

/** What each tool would read, in the order of the calls; IPv4 only. */
function inputsOf(stdout: string): Record<string, string[]> {
  const inputs: Record<string, string[]> = {};
  let command = '';
  for (const line of stdout.trimEnd().split('\n')) {
    if (/^# |^(ip link|sysctl) /.test(line)) command = line.replace(/^# /, '');
    else inputs[command] = [...(inputs[command] ?? []), line];
    inputs[command] ??= [];
  }
  return inputs;
}

test('each batch is headed by the tool that takes it, and no address of another Node is put on the link', async () => {
  const { code, stdout, stderr } = await cli(
    ['dump', '--mode=ipvs', '--manifests', '-', '--node-name', 'node11'],
    { input: JSON.stringify(CLUSTER) },
  );
  expect(code).toBe(0);
  const inputs = inputsOf(stdout);
  expect(Object.keys(inputs).filter((command) => !/^(sysctl|ip6)/.test(command))).toEqual([
    'ipset -exist restore',
    'iptables-restore -w 5 --noflush',
    'ip link add kube-ipvs0 type dummy',
    'ip -batch -',
    'ipvsadm -R',
  ]);
  expect(inputs['ip -batch -']).toEqual([
    'address replace 10.96.0.10/32 dev kube-ipvs0',
    'address replace 203.0.113.9/32 dev kube-ipvs0',
  ]);
  expect(inputs['ipvsadm -R']).toEqual([
    '-A -t 10.96.0.10:80 -s rr',
    '-A -t 172.30.0.12:80 -s rr',
    '-A -t 203.0.113.9:80 -s rr',
  ]);
  expect(stderr).toContain('Service shop/web: spec.externalIPs: 172.30.0.12 is an address of another Node');
});
