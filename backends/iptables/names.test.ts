import { describe, expect, it } from 'vitest';
import type { ServicePlan } from '../../src/plan/plan.ts';
import { planService } from '../../src/plan/service-plan.ts';
import { buildContext, buildPort, buildService } from '../../test/support/build.ts';
import {
  type ChainId,
  endpointChain,
  externalChain,
  firewallChain,
  isOwn,
  isSplitChain,
  poolChain,
  splitChain,
} from './names.ts';

function plan(namespace: string, name: string, port: string, protocol: 'TCP' | 'UDP'): ServicePlan {
  const service = buildService({ namespace, name, ports: [buildPort({ name: port, protocol })] });
  const [first] = planService(service, [], buildContext());
  if (!first) throw new Error('no plan');
  return first;
}

describe("kube-proxy's hashes", () => {
  it.each([
    ['ns1', 'svc1', 'p80', 'TCP', 'XPGD46QRK7WJZT7O'],
    ['default', 'kubernetes', 'https', 'TCP', 'NPX46M4PTMTKRN6Y'],
    ['kube-system', 'kube-dns', 'dns', 'UDP', 'TCOU7JCQXEZGVUNU'],
  ] as const)('names the chains of %s/%s:%s', (namespace, name, port, protocol, hash) => {
    const one = plan(namespace, name, port, protocol);
    expect(poolChain(one, 'cluster')).toBe(`KUBE-SVC-${hash}`);
    expect(poolChain(one, 'local')).toBe(`KUBE-SVL-${hash}`);
    expect(externalChain(one)).toBe(`KUBE-EXT-${hash}`);
    expect(firewallChain(one)).toBe(`KUBE-FW-${hash}`);
  });

  it('names the chains of endpoints', () => {
    const endpoint = { address: '10.180.0.1', port: 80, maybeHere: false };
    expect(endpointChain(plan('ns1', 'svc1', 'p80', 'TCP'), endpoint)).toBe('KUBE-SEP-SXIVWICOYRO3J4NJ');
  });
});

describe('chains that hold a part of the Services', () => {
  it.each([
    ['nat KUBE-SERVICES', '10.96.16.0/20', 'KUBE-SVC-10.96.16.0/20'],
    ['nat KUBE-SERVICES', '255.255.255.255/32', 'KUBE-SVC-255.255.255.255/32'],
    ['nat KUBE-NODEPORTS', 'tcp-28672-32767', 'KUBE-SVC-tcp-28672-32767'],
    ['filter KUBE-EXTERNAL-SERVICES', 'sctp-28672-32767', 'KUBE-EXT-sctp-28672-32767'],
    ['filter KUBE-PROXY-FIREWALL', '203.0.113.0/24', 'KUBE-FW-203.0.113.0/24'],
    ['nat KUBE-SERVICES', 'fd00:10:96::/112', 'KUBE-SVC-fd00:10:96::/112'],
    ['nat KUBE-SERVICES', '2001:db8:1234:5678::/64', 'KUBE-SVC-64-3VSJYAA6LXJFDP34'],
  ] as const)('of %s for %s: %s', (top, part, name) => {
    expect(splitChain(top, part)).toBe(name);
    expect(name.length).toBeLessThanOrEqual(28);
    expect(isSplitChain(name)).toBe(true);
  });

  it.each(['KUBE-SVC-XPGD46QRK7WJZT7O', 'KUBE-SVL-XPGD46QRK7WJZT7O', 'KUBE-SERVICES', 'CNI-10.0.0.0/8'])(
    'are told from %s',
    (name) => {
      expect(isSplitChain(name)).toBe(false);
    },
  );
});

it.each([
  ['nat KUBE-SERVICES', true],
  ['nat KUBE-SEP-SXIVWICOYRO3J4NJ', true],
  ['nat KUBE-SVC-10.96.16.0/20', true],
  ['mangle KUBE-PROXY-CANARY', true],
  ['filter KUBE-FIREWALL', false],
  ['mangle KUBE-IPTABLES-HINT', false],
  ['mangle KUBE-KUBELET-CANARY', false],
  ['nat KUBE-NODE-PORT', false],
  ['nat PREROUTING', false],
  ['nat CNI-HOSTPORT-DNAT', false],
] as const satisfies readonly (readonly [ChainId, boolean])[])('%s is ours: %s', (chain, own) => {
  expect(isOwn(chain)).toBe(own);
});
