import { describe, expect, it, test } from 'vitest';
import type { EndpointValue, SliceValue } from '../values.ts';
import { projectEndpointSlice } from './endpointslice.ts';

/** A slice of Service `web` with one endpoint and one port, and these fields on top. */
function slice(fields: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}): unknown {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace: 'default',
      name: 'web-a',
      labels: { 'kubernetes.io/service-name': 'web' },
      ...metadata,
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: [{ addresses: ['10.244.1.2'] }],
    ...fields,
  };
}

function projected(object: unknown): SliceValue {
  const { value } = projectEndpointSlice(object);
  if (value === undefined) throw new Error('expected a value');
  return value;
}

function saidOf(object: unknown): string[] {
  return projectEndpointSlice(object).problems.map((problem) => `${problem.field}: ${problem.message}`);
}

/** An endpoint as the API's defaults have it, with these fields on top. */
function endpoint(fields: Partial<EndpointValue>): EndpointValue {
  return {
    address: '10.244.1.2',
    nodeName: '',
    ready: true,
    serving: true,
    terminating: false,
    zoneHints: [],
    nodeHints: [],
    ...fields,
  };
}

describe('projectEndpointSlice', () => {
  it('keeps what a proxy reads and nothing else', () => {
    const object = slice(
      {
        endpoints: [
          {
            addresses: ['10.244.1.2'],
            conditions: { ready: false, serving: true, terminating: true },
            hostname: 'web-0',
            nodeName: 'node1',
            zone: 'z1',
            targetRef: { kind: 'Pod', name: 'web-0' },
            hints: { forZones: [{ name: 'z1' }, { name: 'z2' }], forNodes: [{ name: 'node1' }] },
          },
        ],
        ports: [{ name: 'http', port: 8080, protocol: 'SCTP', appProtocol: 'h2c' }],
      },
      {
        annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-11-30T12:05:02.250000000Z' },
      },
    );
    expect(projectEndpointSlice(object)).toEqual({
      value: {
        kind: 'EndpointSlice',
        namespace: 'default',
        name: 'web-a',
        serviceName: 'web',
        family: 'IPv4',
        ports: [{ name: 'http', protocol: 'SCTP', port: 8080 }],
        endpoints: [
          {
            address: '10.244.1.2',
            nodeName: 'node1',
            ready: false,
            serving: true,
            terminating: true,
            zoneHints: ['z1', 'z2'],
            nodeHints: ['node1'],
          },
        ],
        lastChangeAt: 1796040302250,
      },
      problems: [],
    });
  });

  it('gives missing fields the defaults of the API', () => {
    const object = {
      metadata: { name: 'web-a', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv6',
      ports: [{ port: 8080 }],
      endpoints: [
        { addresses: ['FD00:244::2'] },
        { addresses: ['fd00:244::3'], conditions: { ready: null } },
      ],
    };
    expect(projectEndpointSlice(object)).toEqual({
      value: {
        kind: 'EndpointSlice',
        namespace: 'default',
        name: 'web-a',
        serviceName: 'web',
        family: 'IPv6',
        ports: [{ name: '', protocol: 'TCP', port: 8080 }],
        endpoints: [endpoint({ address: 'fd00:244::2' }), endpoint({ address: 'fd00:244::3' })],
        lastChangeAt: 0,
      },
      problems: [],
    });
  });

  it('leaves slices of headless Services alone without a word', () => {
    const labels = { 'kubernetes.io/service-name': 'web', 'service.kubernetes.io/headless': '' };
    expect(projectEndpointSlice(slice({}, { labels }))).toEqual({ value: undefined, problems: [] });
  });

  test.for([
    [
      slice({}, { labels: {} }),
      'metadata.labels[kubernetes.io/service-name]: is missing, so the slice belongs to no Service; slice ignored',
    ],
    [
      slice({}, { labels: 'x' }),
      'metadata.labels[kubernetes.io/service-name]: is missing, so the slice belongs to no Service; slice ignored',
    ],
    [
      slice({}, { labels: { 'kubernetes.io/service-name': 'a/b' } }),
      'metadata.labels[kubernetes.io/service-name]: "a/b" is no valid Service name; slice ignored',
    ],
    [slice({ addressType: 'FQDN' }), 'addressType: is "FQDN", not IPv4 or IPv6; slice ignored'],
    [slice({ addressType: undefined }), 'addressType: is missing, not IPv4 or IPv6; slice ignored'],
    [slice({}, { name: '' }), 'metadata.name: is "", which is no valid name'],
    [7, ': is 7, not an object'],
  ] as const)('gives no value but a problem for %j', ([object, problem]) => {
    expect(projectEndpointSlice(object).value).toBeUndefined();
    expect(saidOf(object)).toEqual([problem]);
  });

  describe('ports', () => {
    // kubernetes/kube-state-metrics#3063: a port without a number is legal in the API and must not end the process.
    test.for([
      [
        { name: 'a' },
        'ports[1].port: is missing, and "all ports" is nothing a Service proxy can serve; port ignored',
      ],
      [
        { name: 'a', port: null },
        'ports[1].port: is missing, and "all ports" is nothing a Service proxy can serve; port ignored',
      ],
      [
        { name: 'a', port: 0 },
        'ports[1].port: is missing, and "all ports" is nothing a Service proxy can serve; port ignored',
      ],
      [{ name: 'a', port: 65536 }, 'ports[1].port: is 65536, not a port number; port ignored'],
      [
        { name: 'a', port: 1, protocol: 'ICMP' },
        'ports[1].protocol: is "ICMP", not TCP, UDP or SCTP; port ignored',
      ],
      ['http', 'ports[1]: is "http", not an object; ignored'],
    ] as const)('leaves out and names %j', ([port, problem]) => {
      const object = slice({ ports: [{ name: 'http', port: 8080 }, port, { port: 9090, protocol: 'UDP' }] });
      expect(projected(object).ports).toEqual([
        { name: 'http', protocol: 'TCP', port: 8080 },
        { name: '', protocol: 'UDP', port: 9090 },
      ]);
      expect(saidOf(object)).toEqual([problem]);
    });

    it('may be none', () => {
      expect(projected(slice({ ports: null })).ports).toEqual([]);
    });
  });

  describe('endpoints', () => {
    test.for([
      [{}, 'endpoints[1].addresses: has no address; endpoint ignored'],
      [{ addresses: [] }, 'endpoints[1].addresses: has no address; endpoint ignored'],
      [{ addresses: ['web'] }, 'endpoints[1].addresses[0]: "web" is not an IP address; ignored'],
      [{ addresses: [7] }, 'endpoints[1].addresses[0]: 7 is not an IP address; ignored'],
      [{ addresses: ['0.0.0.0'] }, 'endpoints[1].addresses[0]: 0.0.0.0 is the unspecified address; ignored'],
      [{ addresses: ['127.0.0.1'] }, 'endpoints[1].addresses[0]: 127.0.0.1 is a loopback address; ignored'],
      [
        { addresses: ['169.254.0.1'] },
        'endpoints[1].addresses[0]: 169.254.0.1 is a link-local address; ignored',
      ],
      [{ addresses: ['239.1.1.1'] }, 'endpoints[1].addresses[0]: 239.1.1.1 is a multicast address; ignored'],
      [{ addresses: ['fd00::1'] }, 'endpoints[1].addresses[0]: fd00::1 is no IPv4 address; endpoint ignored'],
      [
        { addresses: ['10.244.1.9'], conditions: { ready: 'false' } },
        'endpoints[1].conditions: {"ready":"false"} are not true or false; endpoint ignored',
      ],
      [null, 'endpoints[1]: is null, not an object; ignored'],
    ] as const)('leaves out and names %j', ([entry, problem]) => {
      const object = slice({
        endpoints: [{ addresses: ['10.244.1.2'] }, entry, { addresses: ['10.244.1.3'] }],
      });
      expect(projected(object).endpoints).toEqual([endpoint({}), endpoint({ address: '10.244.1.3' })]);
      expect(saidOf(object)).toEqual([problem]);
    });

    it('uses only the first address of one, and says which ones are not used', () => {
      const object = slice({ endpoints: [{ addresses: ['10.244.1.5', '10.244.2.9', '10.244.2.10'] }] });
      expect(projected(object).endpoints).toEqual([endpoint({ address: '10.244.1.5' })]);
      expect(saidOf(object)).toEqual([
        'endpoints[0].addresses: only the first is used, not 10.244.2.9, 10.244.2.10; give each its own endpoint',
      ]);
    });

    it('makes IPv4-mapped and zero-padded addresses plain', () => {
      const endpoints = [{ addresses: ['::ffff:10.244.1.7'] }, { addresses: ['010.244.001.008'] }];
      expect(projected(slice({ endpoints })).endpoints).toEqual([
        endpoint({ address: '10.244.1.7' }),
        endpoint({ address: '10.244.1.8' }),
      ]);
    });

    it('skips hints that name nothing', () => {
      const object = slice({
        endpoints: [
          { addresses: ['10.244.1.2'], hints: { forZones: [{ name: '' }, { name: 'z1' }], forNodes: 'n' } },
        ],
      });
      expect(projected(object).endpoints).toEqual([endpoint({ zoneHints: ['z1'] })]);
      expect(saidOf(object)).toEqual([
        'endpoints[0].hints.forZones: {"name":""} names nothing; hint ignored',
        'endpoints[0].hints.forNodes: is "n", not a list; ignored',
      ]);
    });
  });

  it('shares what repeats among endpoints', () => {
    const hints = { forZones: [{ name: 'zone-shared-by-many' }] };
    const [first, second] = projected(
      slice({
        endpoints: [
          { addresses: ['10.244.1.2'], hints },
          { addresses: ['10.244.1.3'], hints },
        ],
      }),
    ).endpoints;
    expect(first?.zoneHints).toBe(second?.zoneHints);
    expect(first?.nodeHints).toBe(second?.nodeHints);
  });
});
