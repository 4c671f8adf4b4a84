import { describe, expect, it, test } from 'vitest';
import type { ServiceValue } from '../values.ts';
import { projectService } from './service.ts';

/** A Service whose `spec`, `status` and `metadata` get these fields on top of a cluster IP and a port. */
function service(
  spec: Record<string, unknown> = {},
  more: { metadata?: Record<string, unknown>; status?: unknown } = {},
): unknown {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'default', name: 'web', ...more.metadata },
    spec: { clusterIP: '10.96.0.1', ports: [{ name: 'http', port: 80 }], ...spec },
    status: more.status,
  };
}

function projected(object: unknown): ServiceValue {
  const { value } = projectService(object);
  if (value === undefined) throw new Error('expected a value');
  return value;
}

function saidOf(object: unknown): string[] {
  return projectService(object).problems.map((problem) => `${problem.field}: ${problem.message}`);
}

describe('projectService', () => {
  it('keeps what a proxy reads and nothing else', () => {
    const object = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        namespace: 'shop',
        name: 'web',
        uid: '9b49014e-56e2-4f10-82ab-33f5f37b372c',
        creationTimestamp: '2026-11-30T12:05:02Z',
        labels: { app: 'web' },
      },
      spec: {
        type: 'LoadBalancer',
        clusterIP: '10.96.0.1',
        clusterIPs: ['10.96.0.1', 'FD00:10:96:0::1'],
        ipFamilies: ['IPv4', 'IPv6'],
        externalIPs: ['198.51.100.7', '2001:DB8::7'],
        loadBalancerSourceRanges: ['203.0.113.5/24', '2001:db8:1::/48'],
        externalTrafficPolicy: 'Local',
        internalTrafficPolicy: 'Cluster',
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
        healthCheckNodePort: 32000,
        selector: { app: 'web' },
        ports: [
          { name: 'http', protocol: 'TCP', port: 80, targetPort: 8080, nodePort: 30080, appProtocol: 'h2c' },
          { name: 'dns', protocol: 'UDP', port: 53 },
        ],
      },
      status: { loadBalancer: { ingress: [{ ip: '203.0.113.10', ports: [] }, { hostname: 'lb.example' }] } },
    };
    expect(projectService(object)).toEqual({
      value: {
        kind: 'Service',
        namespace: 'shop',
        name: 'web',
        createdAt: 1796040302000,
        type: 'LoadBalancer',
        clusterIPs: ['10.96.0.1', 'fd00:10:96::1'],
        externalIPs: ['198.51.100.7', '2001:db8::7'],
        loadBalancerIPs: ['203.0.113.10'],
        sourceRanges: ['203.0.113.0/24', '2001:db8:1::/48'],
        restrictedFamilies: ['IPv4', 'IPv6'],
        externalTrafficPolicy: 'Local',
        internalTrafficPolicy: 'Cluster',
        affinitySeconds: 60,
        healthCheckNodePort: 32000,
        ports: [
          { name: 'http', protocol: 'TCP', port: 80, nodePort: 30080 },
          { name: 'dns', protocol: 'UDP', port: 53, nodePort: 0 },
        ],
      },
      problems: [],
    });
  });

  it('takes the annotation for an IPVS scheduler as it is written', () => {
    const projected = (annotations: object) =>
      projectService({
        metadata: { name: 'web', annotations },
        spec: { clusterIP: '10.96.0.1', ports: [{ port: 80 }] },
      }).value;
    expect(projected({ 'kube-rulesync.io/ipvs-scheduler': 'lc' })?.ipvsScheduler).toBe('lc');
    expect(projected({ 'kube-rulesync.io/ipvs-scheduler': '' })).not.toHaveProperty('ipvsScheduler');
    expect(projected({ 'kube-rulesync.io/ipvs-scheduler': 5 })).not.toHaveProperty('ipvsScheduler');
    expect(projected({})).not.toHaveProperty('ipvsScheduler');
  });

  it('gives missing fields the defaults of the API', () => {
    const object = { metadata: { name: 'web' }, spec: { clusterIP: '10.96.0.1', ports: [{ port: 80 }] } };
    expect(projectService(object)).toEqual({
      value: {
        kind: 'Service',
        namespace: 'default',
        name: 'web',
        createdAt: 0,
        type: 'ClusterIP',
        clusterIPs: ['10.96.0.1'],
        externalIPs: [],
        loadBalancerIPs: [],
        sourceRanges: [],
        restrictedFamilies: [],
        externalTrafficPolicy: 'Cluster',
        internalTrafficPolicy: 'Cluster',
        affinitySeconds: 0,
        healthCheckNodePort: 0,
        ports: [{ name: '', protocol: 'TCP', port: 80, nodePort: 0 }],
      },
      problems: [],
    });
  });

  test.for([
    ['headless', service({ clusterIP: 'None' })],
    ['headless, as a list', service({ clusterIP: undefined, clusterIPs: ['None'] })],
    ['no cluster IP', service({ clusterIP: '' })],
    ['no cluster IP at all', service({ clusterIP: undefined })],
    ['no spec', { metadata: { name: 'web' } }],
    ['ExternalName, even with a cluster IP', service({ type: 'ExternalName' })],
    [
      'the label of another proxy',
      service({}, { metadata: { labels: { 'service.kubernetes.io/service-proxy-name': 'other' } } }),
    ],
    [
      'the label without a value',
      service({}, { metadata: { labels: { 'service.kubernetes.io/service-proxy-name': '' } } }),
    ],
  ] as const)('leaves alone without a word: %s', ([, object]) => {
    expect(projectService(object)).toEqual({ value: undefined, problems: [] });
  });

  test.for([
    [undefined, 'Service', '', 'is undefined, not an object'],
    [null, 'Service', '', 'is null, not an object'],
    [['a'], 'Service', '', 'is ["a"], not an object'],
    [{}, 'Service', 'metadata.name', 'is missing'],
    [{ metadata: 'web' }, 'Service', 'metadata.name', 'is missing'],
    [{ metadata: { name: 'We"b\n' } }, 'Service', 'metadata.name', 'is "We\\"b\\n", which is no valid name'],
    [
      { metadata: { name: 'a', namespace: 5 } },
      'Service',
      'metadata.namespace',
      'is 5, which is no valid name',
    ],
    [
      service({ clusterIP: 'ten' }),
      'Service default/web',
      'spec.clusterIP',
      '"ten" is not an IP address; ignored',
    ],
    [
      service({ clusterIP: '0.0.0.0' }),
      'Service default/web',
      'spec.clusterIP',
      '0.0.0.0 is the unspecified address; ignored',
    ],
    [
      { metadata: { name: 'web' }, spec: 'x' },
      'Service default/web',
      'spec',
      'is "x", not an object; ignored',
    ],
  ] as const)('gives no value but a problem for %j', ([object, named, field, message]) => {
    expect(projectService(object)).toEqual({
      value: undefined,
      problems: [{ object: named, field, message }],
    });
  });

  describe('cluster IPs', () => {
    test.for([
      [{ clusterIP: '10.96.0.1', clusterIPs: ['fd00::1', '10.96.0.1'] }, ['fd00::1', '10.96.0.1'], []],
      [{ clusterIPs: ['::ffff:10.96.0.9'] }, ['10.96.0.9'], []],
      [{ clusterIPs: ['010.096.000.009'] }, ['10.96.0.9'], []],
      [{ clusterIPs: ['fd00::1', 'FD00:0::1'] }, ['fd00::1'], []],
      [
        { clusterIPs: ['10.96.0.1', '10.96.0.2'] },
        ['10.96.0.1'],
        ['spec.clusterIPs[1]: 10.96.0.2 is a second IPv4 address; ignored'],
      ],
      [
        { clusterIPs: ['10.96.0.1', 'fe80::1%eth0'] },
        ['10.96.0.1'],
        ['spec.clusterIPs[1]: "fe80::1%eth0" is not an IP address; ignored'],
      ],
    ] as const)('%j', ([spec, addresses, problems]) => {
      expect(projected(service(spec)).clusterIPs).toEqual(addresses);
      expect(saidOf(service(spec))).toEqual(problems);
    });
  });

  describe('external and load-balancer addresses', () => {
    it('skips what is no address, or none of anyone outside, and keeps both families', () => {
      const object = service({
        externalIPs: ['198.51.100.7', '', '127.0.0.1', 'fe80::1', '224.0.0.1', '2001:db8::7', '198.51.100.7'],
      });
      expect(projected(object).externalIPs).toEqual(['198.51.100.7', '2001:db8::7']);
      expect(saidOf(object)).toEqual([
        'spec.externalIPs[1]: "" is not an IP address; ignored',
        'spec.externalIPs[2]: 127.0.0.1 is a loopback address; ignored',
        'spec.externalIPs[3]: fe80::1 is a link-local address; ignored',
        'spec.externalIPs[4]: 224.0.0.1 is a multicast address; ignored',
      ]);
    });

    it('takes the ingress addresses that traffic arrives with', () => {
      const ingress = [
        { ip: '203.0.113.1' },
        { ip: '203.0.113.2', ipMode: 'VIP' },
        { ip: '203.0.113.3', ipMode: 'Proxy' },
        { hostname: 'lb.example' },
        { ip: '203.0.113' },
        { ip: '203.0.113.1' },
        'lb',
      ];
      const object = service({ type: 'LoadBalancer' }, { status: { loadBalancer: { ingress } } });
      expect(projected(object).loadBalancerIPs).toEqual(['203.0.113.1', '203.0.113.2']);
      expect(saidOf(object)).toEqual([
        'status.loadBalancer.ingress[4].ip: "203.0.113" is not an IP address; ignored',
        'status.loadBalancer.ingress[6]: is "lb", not an object; ignored',
      ]);
    });
  });

  describe('source ranges', () => {
    test.for([
      [[], [], [], []],
      // kubernetes/kubernetes#94107: the API server trims when it validates, and stores the blanks.
      [[' 203.0.113.0/24', '198.51.100.0/24 '], ['203.0.113.0/24', '198.51.100.0/24'], ['IPv4'], []],
      [['0.0.0.0/0', '203.0.113.0/24'], ['0.0.0.0/0', '203.0.113.0/24'], ['IPv4'], []],
      [['2001:DB8::1/32'], ['2001:db8::/32'], ['IPv6'], []],
      [
        ['203.0.113.0/24', '198.51.100.1'],
        ['203.0.113.0/24'],
        ['IPv4'],
        ['spec.loadBalancerSourceRanges[1]: "198.51.100.1" is not a CIDR; ignored'],
      ],
      [
        ['203.0.113.0/33'],
        [],
        ['IPv4'],
        ['spec.loadBalancerSourceRanges[0]: "203.0.113.0/33" is not a CIDR; ignored'],
      ],
      [
        ['203.0.113.0/24', '2001:db8::/129'],
        ['203.0.113.0/24'],
        ['IPv4', 'IPv6'],
        ['spec.loadBalancerSourceRanges[1]: "2001:db8::/129" is not a CIDR; ignored'],
      ],
      [
        ['office'],
        [],
        ['IPv4', 'IPv6'],
        ['spec.loadBalancerSourceRanges[0]: "office" is not a CIDR; ignored'],
      ],
    ] as const)('%j', ([given, ranges, families, problems]) => {
      const object = service({ type: 'LoadBalancer', loadBalancerSourceRanges: given });
      expect(projected(object).sourceRanges).toEqual(ranges);
      expect(projected(object).restrictedFamilies).toEqual(families);
      expect(saidOf(object)).toEqual(problems);
    });
  });

  describe('session affinity', () => {
    const timeout = (timeoutSeconds: unknown) => ({
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds } },
    });
    test.for([
      [{}, 0, []],
      [{ sessionAffinity: 'None', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } }, 0, []],
      // kubernetes/kubernetes#35677: three hours, not three minutes.
      [{ sessionAffinity: 'ClientIP' }, 10800, []],
      [{ sessionAffinity: 'ClientIP', sessionAffinityConfig: null }, 10800, []],
      [timeout(1), 1, []],
      [timeout(86400), 86400, []],
      [
        timeout(0),
        10800,
        [
          'spec.sessionAffinityConfig.clientIP.timeoutSeconds: is 0, not a number of seconds from 1 to 86400; taken as 10800',
        ],
      ],
      [
        timeout('60'),
        10800,
        [
          'spec.sessionAffinityConfig.clientIP.timeoutSeconds: is "60", not a number of seconds from 1 to 86400; taken as 10800',
        ],
      ],
      [
        { sessionAffinity: 'Cookie' },
        0,
        ['spec.sessionAffinity: is "Cookie", not None or ClientIP; taken as None'],
      ],
    ] as const)('%j gives %i seconds', ([spec, seconds, problems]) => {
      expect(projected(service(spec)).affinitySeconds).toBe(seconds);
      expect(saidOf(service(spec))).toEqual(problems);
    });
  });

  describe('health check node port', () => {
    test.for([
      [{ type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 32000 }, 32000],
      [{ type: 'LoadBalancer', externalTrafficPolicy: 'Cluster', healthCheckNodePort: 32000 }, 0],
      [{ type: 'NodePort', externalTrafficPolicy: 'Local', healthCheckNodePort: 32000 }, 0],
      [{ type: 'LoadBalancer', externalTrafficPolicy: 'Local' }, 0],
    ] as const)('%j gives %i', ([spec, port]) => {
      expect(projected(service(spec)).healthCheckNodePort).toBe(port);
    });

    it('names one that is no port', () => {
      const object = service({
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 70000,
      });
      expect(saidOf(object)).toEqual(['spec.healthCheckNodePort: is 70000, not a port number; ignored']);
    });
  });

  it('takes unknown words as the default, and says so', () => {
    const object = service({ type: 'Fancy', internalTrafficPolicy: 'local', externalTrafficPolicy: '' });
    expect(projected(object).type).toBe('ClusterIP');
    expect(projected(object).internalTrafficPolicy).toBe('Cluster');
    expect(saidOf(object)).toEqual([
      'spec.type: is "Fancy", not ClusterIP or NodePort or LoadBalancer or ExternalName; taken as ClusterIP',
      'spec.internalTrafficPolicy: is "local", not Cluster or Local; taken as Cluster',
    ]);
  });

  describe('ports', () => {
    test.for([
      [{ name: 'a', port: 0 }, 'spec.ports[1].port: is 0, not a port number; port ignored'],
      [{ name: 'a' }, 'spec.ports[1].port: is missing, not a port number; port ignored'],
      [{ name: 'a', port: 65536 }, 'spec.ports[1].port: is 65536, not a port number; port ignored'],
      [{ name: 'a', port: 80.5 }, 'spec.ports[1].port: is 80.5, not a port number; port ignored'],
      [{ name: 'a', port: '81' }, 'spec.ports[1].port: is "81", not a port number; port ignored'],
      [
        { name: 'a', port: 81, protocol: 'tcp' },
        'spec.ports[1].protocol: is "tcp", not TCP, UDP or SCTP; port ignored',
      ],
      [{ name: 'a"', port: 81 }, 'spec.ports[1].name: "a\\"" is no valid port name; port ignored'],
      [{ name: 7, port: 81 }, 'spec.ports[1].name: 7 is no valid port name; port ignored'],
      [{ name: 'http', port: 81 }, 'spec.ports[1]: repeats the name or number of another TCP port; ignored'],
      [{ name: 'a', port: 80 }, 'spec.ports[1]: repeats the name or number of another TCP port; ignored'],
      [null, 'spec.ports[1]: is null, not an object; ignored'],
    ] as const)('leaves out and names %j', ([port, problem]) => {
      const object = service({ ports: [{ name: 'http', port: 80 }, port, { name: 'z', port: 90 }] });
      expect(projected(object).ports).toEqual([
        { name: 'http', protocol: 'TCP', port: 80, nodePort: 0 },
        { name: 'z', protocol: 'TCP', port: 90, nodePort: 0 },
      ]);
      expect(saidOf(object)).toEqual([problem]);
    });

    it('keeps one name and number for two protocols', () => {
      const ports = [
        { name: 'dns', port: 53, protocol: 'TCP', nodePort: 30053 },
        { name: 'dns', port: 53, protocol: 'UDP', nodePort: 30053 },
        { name: 'dns', port: 53, protocol: 'SCTP' },
      ];
      expect(projected(service({ ports })).ports).toEqual([
        { name: 'dns', protocol: 'TCP', port: 53, nodePort: 30053 },
        { name: 'dns', protocol: 'UDP', port: 53, nodePort: 30053 },
        { name: 'dns', protocol: 'SCTP', port: 53, nodePort: 0 },
      ]);
    });

    it('keeps a port whose node port cannot be used', () => {
      const ports = [
        { name: 'a', port: 80, nodePort: 30080 },
        { name: 'b', port: 81, nodePort: 30080 },
        { name: 'c', port: 82, nodePort: -1 },
      ];
      expect(projected(service({ ports })).ports).toEqual([
        { name: 'a', protocol: 'TCP', port: 80, nodePort: 30080 },
        { name: 'b', protocol: 'TCP', port: 81, nodePort: 0 },
        { name: 'c', protocol: 'TCP', port: 82, nodePort: 0 },
      ]);
      expect(saidOf(service({ ports }))).toEqual([
        "spec.ports[1].nodePort: 30080 is another port's; ignored",
        'spec.ports[2].nodePort: is -1, not a port number; ignored',
      ]);
    });

    it('survives a list that is none', () => {
      expect(projected(service({ ports: { port: 80 } })).ports).toEqual([]);
      expect(saidOf(service({ ports: { port: 80 } }))).toEqual([
        'spec.ports: is {"port":80}, not a list; ignored',
      ]);
    });
  });

  test.for([
    ['2026-11-30T12:05:02Z', 1796040302000],
    [new Date(1796040302000), 1796040302000],
    ['yesterday', 0],
    [null, 0],
  ] as const)('reads the creation time %s', ([creationTimestamp, time]) => {
    expect(projected(service({}, { metadata: { creationTimestamp } })).createdAt).toBe(time);
  });
});
