/** What the flags of one mode make of its rules, from the command line to what the tools would be given. */
import { describe, expect, test, vi } from 'vitest';
import { cli } from './cli.ts';

// Each start of the program takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const OBJECTS = `apiVersion: v1
kind: Node
metadata: {name: node1}
status: {addresses: [{type: InternalIP, address: 172.30.0.11}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: NodePort, clusterIP: 10.96.0.10, ports: [{port: 80, nodePort: 30080}]}
---
apiVersion: v1
kind: Service
metadata: {name: other, namespace: shop}
spec: {clusterIP: 10.97.0.10, ports: [{port: 80}]}
`;

async function dump(...flags: string[]): Promise<string[]> {
  const { code, stdout } = await cli(['dump', '--manifests=-', '--node-name=node1', ...flags], {
    input: OBJECTS,
  });
  expect(code).toBe(0);
  return stdout.split('\n');
}

describe('--mode=ipvs', () => {
  const SYSCTL =
    'sysctl -q -w net.ipv4.vs.conntrack=1 net.ipv4.vs.expire_nodest_conn=1 net.ipv4.vs.expire_quiescent_template=1 net.ipv4.ip_forward=1';

  test('by default', async () => {
    const lines = await dump('--mode=ipvs');
    expect(lines).toContain(SYSCTL);
    expect(lines.filter((line) => line.startsWith('ipvsadm --set'))).toEqual([]);
    expect(lines.filter((line) => line.startsWith('-A -t 10.'))).toEqual([
      '-A -t 10.97.0.10:80 -s rr',
      '-A -t 10.96.0.10:80 -s rr',
    ]);
  });

  test('with what there is to say', async () => {
    const lines = await dump(
      '--mode=ipvs',
      '--ipvs-strict-arp',
      '--ipvs-exclude-cidrs=10.97.0.0/16',
      '--ipvs-scheduler=wlc',
      '--ipvs-tcp-timeout=15m',
      '--ipvs-tcpfin-timeout=2m',
      '--ipvs-udp-timeout=5m',
    );
    expect(lines).toContain(`${SYSCTL} net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2`);
    expect(lines).toContain('ipvsadm --set 900 120 300');
    expect(lines.filter((line) => line.startsWith('-A -t 10.'))).toEqual(['-A -t 10.96.0.10:80 -s wlc']);
  });
});

test('--mode=iptables: node ports on 127.0.0.1, and none', async () => {
  const SETTING = 'sysctl -w net.ipv4.conf.all.route_localnet=1';
  const jumps = (lines: readonly string[]) =>
    lines.filter((line) => /^-A KUBE-SERVICES .* -j KUBE-NODEPORTS$/.test(line));
  const COMMENT =
    '-m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS';
  const on = await dump('--mode=iptables');
  expect(on).toContain(SETTING);
  expect(jumps(on)[0]).toBe(`-A KUBE-SERVICES ${COMMENT}`);
  const off = await dump('--mode=iptables', '--iptables-localhost-nodeports=false');
  expect(off).not.toContain(SETTING);
  expect(jumps(off)[0]).toBe(`-A KUBE-SERVICES ! -d 127.0.0.0/8 ${COMMENT}`);
});
