import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalCidr, canonicalIP } from '../../net/ip.ts';
import { projectEndpointSlice } from './endpointslice.ts';
import { projectNode } from './node.ts';
import { projectService } from './service.ts';
import { projectServiceCidr } from './servicecidr.ts';

const FIELDS = [
  'metadata',
  'name',
  'namespace',
  'labels',
  'annotations',
  'spec',
  'status',
  'clusterIP',
  'clusterIPs',
  'type',
  'ports',
  'port',
  'protocol',
  'nodePort',
  'externalIPs',
  'loadBalancerSourceRanges',
  'loadBalancer',
  'ingress',
  'ip',
  'ipMode',
  'sessionAffinity',
  'sessionAffinityConfig',
  'clientIP',
  'timeoutSeconds',
  'addressType',
  'endpoints',
  'addresses',
  'conditions',
  'ready',
  'hints',
  'forZones',
  'cidrs',
  'podCIDRs',
  'taints',
  'key',
  'kubernetes.io/service-name',
];

const WORDS = [
  'web',
  'default',
  'None',
  'ClientIP',
  'IPv4',
  'IPv6',
  'FQDN',
  'TCP',
  'UDP',
  'LoadBalancer',
  'Local',
  '10.0.0.1',
  '::1',
  'fd00::1',
  '10.0.0.0/8',
  ' fd00::/8',
  '',
  '%',
  'InternalIP',
];

/** Any tree, with the fields and words the projections look for more likely than chance has them. */
const anything: fc.Arbitrary<unknown> = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6 },
    { arbitrary: fc.constantFrom(...WORDS), weight: 3 },
    { arbitrary: fc.oneof(fc.integer(), fc.double(), fc.boolean(), fc.constant(null)), weight: 2 },
    { arbitrary: fc.array(tie('tree'), { maxLength: 4 }), weight: 2 },
    {
      arbitrary: fc.dictionary(fc.oneof(fc.constantFrom(...FIELDS), fc.string()), tie('tree'), {
        maxKeys: 8,
      }),
      weight: 4,
    },
  ),
})).tree;

const metadata = fc.constant({
  name: 'web',
  namespace: 'default',
  labels: { 'kubernetes.io/service-name': 'web' },
});
const object = fc.oneof(
  anything,
  fc.record({ metadata, spec: anything, status: anything }),
  fc.record({
    metadata,
    spec: fc.record({
      clusterIP: fc.constant('10.96.0.1'),
      ports: anything,
      externalIPs: anything,
      loadBalancerSourceRanges: anything,
      sessionAffinityConfig: anything,
    }),
  }),
  fc.record({ metadata, addressType: fc.constant('IPv4'), endpoints: anything, ports: anything }),
);

describe('projections', () => {
  it('survive anything, and what they keep is usable', () => {
    fc.assert(
      fc.property(object, (given) => {
        const service = projectService(given).value;
        if (service !== undefined) {
          for (const ip of [...service.clusterIPs, ...service.externalIPs, ...service.loadBalancerIPs])
            expect(canonicalIP(ip)).toBe(ip);
          for (const cidr of service.sourceRanges) expect(canonicalCidr(cidr)).toBe(cidr);
          for (const port of service.ports) {
            expect(port.port >= 1 && port.port <= 65535).toBe(true);
            expect(port.nodePort >= 0 && port.nodePort <= 65535).toBe(true);
          }
        }
        const slice = projectEndpointSlice(given).value;
        for (const endpoint of slice?.endpoints ?? [])
          expect(canonicalIP(endpoint.address)).toBe(endpoint.address);
        for (const port of slice?.ports ?? []) expect(port.port >= 1 && port.port <= 65535).toBe(true);
        for (const ip of projectNode(given).value?.addresses ?? []) expect(canonicalIP(ip)).toBe(ip);
        for (const cidr of projectServiceCidr(given).value?.cidrs ?? [])
          expect(canonicalCidr(cidr)).toBe(cidr);
      }),
      { numRuns: 2000 },
    );
  });

  it('give a value or say why not, for everything with a name that asks to be served', () => {
    fc.assert(
      fc.property(anything, anything, (clusterIP, ports) => {
        const asked = { metadata: { name: 'web' }, spec: { clusterIP, ports } };
        const { value, problems } = projectService(asked);
        const silent =
          clusterIP === undefined || clusterIP === null || clusterIP === '' || clusterIP === 'None';
        expect(value !== undefined || problems.length > 0 || silent).toBe(true);
      }),
    );
  });
});
