/** Everything the options can make of a table, loaded by nft and read back as what was written. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createNftablesBackend } from '../../backends/nftables/backend.ts';
import type { IpFamily } from '../../src/cluster/values.ts';
import type { LocalDetector, NodePlan } from '../../src/plan/plan.ts';
import { planService } from '../../src/plan/service-plan.ts';
import type { Change } from '../../src/reconcile/backend.ts';
import {
  buildContext,
  buildEndpoint,
  buildNodePlan,
  buildPort,
  buildService,
  buildSlice,
} from '../support/build.ts';
import { createNamespace, type LoneNamespace } from '../support/namespace.ts';
import { nftablesSupported } from '../support/network/supported.ts';

const supported = nftablesSupported();

const DETECTORS: Record<IpFamily, readonly LocalDetector[]> = {
  IPv4: [
    { kind: 'none' },
    { kind: 'cidr', cidr: '10.244.0.0/16' },
    { kind: 'interface', name: 'cni0' },
    // Neither need exist (kubernetes/kubernetes#134024).
    { kind: 'interface-prefix', prefix: 'veth' },
  ],
  IPv6: [
    { kind: 'none' },
    { kind: 'cidr', cidr: 'fd00:244::/32' },
    { kind: 'interface', name: 'cni0' },
    { kind: 'interface-prefix', prefix: 'veth' },
  ],
};

const OPTIONS: Record<IpFamily, readonly Partial<NodePlan>[]> = {
  IPv4: [
    {},
    { masqueradeAll: true },
    { masqueradeBit: 0 },
    { masqueradeBit: 31 },
    { nodePortAddresses: 'any' },
    { nodePortAddresses: [] },
    { nodePortAddresses: ['192.0.2.2', '192.0.2.1'] },
    { serviceCIDRs: [] },
    { serviceCIDRs: ['10.96.0.0/16', '10.112.0.0/16', '10.96.1.0/24'] },
  ],
  IPv6: [
    {},
    { masqueradeAll: true },
    { masqueradeBit: 31 },
    { nodePortAddresses: 'any' },
    { nodePortAddresses: ['2001:db8::2', '2001:db8::1'] },
    { serviceCIDRs: [] },
    { serviceCIDRs: ['fd00:96::/112', 'fd00:97::/112'] },
  ],
};

function nodeOf(family: IpFamily, fields: Partial<NodePlan> = {}): NodePlan {
  if (family === 'IPv4') return buildNodePlan(fields);
  return buildNodePlan({
    family,
    detector: { kind: 'cidr', cidr: 'fd00:244::/32' },
    nodePortAddresses: ['2001:db8::1'],
    serviceCIDRs: ['fd00:96::/112'],
    ...fields,
  });
}

/** An address of the family by number. */
function address(family: IpFamily, net: number, number: number): string {
  return family === 'IPv4'
    ? `10.${net}.${number >> 8}.${number & 255}`
    : `fd00:${net}::${number.toString(16)}`;
}

function change(family: IpFamily, node: NodePlan, endpoints = 3, name = 'web', key = 'http'): Change {
  const context = buildContext({ family, detector: node.detector, masqueradeAll: node.masqueradeAll });
  const service = buildService({
    name,
    type: 'LoadBalancer',
    clusterIPs: [address(family, 96, 10)],
    loadBalancerIPs: [address(family, 203, 1)],
    externalTrafficPolicy: 'Local',
    sourceRanges: [family === 'IPv4' ? '198.51.100.0/24' : '2001:db8:51::/64'],
    restrictedFamilies: [family],
    ports: [buildPort({ name: key, nodePort: 30080 })],
  });
  const slice = buildSlice(
    Array.from({ length: endpoints }, (_, index) =>
      buildEndpoint(address(family, 244, index + 2), { nodeName: index % 2 === 0 ? 'node1' : 'node2' }),
    ),
    { family, serviceName: name, ports: [{ name: key, protocol: 'TCP', port: 8080 }] },
  );
  return {
    node,
    full: true,
    services: new Map([[`default/${name}`, planService(service, [slice], context)]]),
  };
}

describe.skipIf(!supported.ok)(
  supported.ok ? 'nftables options' : `nftables options (skipped: ${supported.reason})`,
  () => {
    let place: LoneNamespace;
    beforeAll(async () => {
      place = await createNamespace();
    });
    afterAll(() => place.close());

    /** Loads, and then asks a back end that was just started what it would change. */
    async function loadAndReread(family: IpFamily, wanted: Change): Promise<void> {
      const backend = createNftablesBackend({ family, runner: place.runner });
      await backend.observe();
      const diff = backend.diff(wanted);
      for (const step of diff.steps) await backend.apply(step);
      diff.commit();
      expect(await backend.audit()).toEqual([]);
      const restarted = createNftablesBackend({ family, runner: place.runner });
      await restarted.observe();
      expect(restarted.diff(wanted).steps.flatMap((step) => step.stdin)).toEqual([]);
    }

    for (const family of ['IPv4', 'IPv6'] as const) {
      for (const detector of DETECTORS[family]) {
        it.each(OPTIONS[family].map((options) => ({ options, text: JSON.stringify(options) })))(
          `${family}, pods by ${detector.kind}, $text`,
          ({ options }) => loadAndReread(family, change(family, nodeOf(family, { detector, ...options }))),
        );
      }

      it(`${family}, a Service with 1,000 endpoints`, async () => {
        await loadAndReread(family, change(family, nodeOf(family), 1000));
        const { stdout } = await place.runner.run({
          argv: ['nft', 'list', 'chain', family === 'IPv4' ? 'ip' : 'ip6', 'kube-proxy', 'pick-tcp-1000'],
        });
        expect(stdout).toContain('numgen random mod 1000');
      });

      it(`${family}, the longest names there are`, async () => {
        const long = 'n'.repeat(63);
        await loadAndReread(family, change(family, nodeOf(family), 3, long, 'p'.repeat(15)));
      });
    }
  },
);
