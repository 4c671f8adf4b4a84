import { describe, expect, it, test } from 'vitest';
import type { NodeValue } from '../values.ts';
import { projectNode } from './node.ts';

function node(fields: { metadata?: unknown; spec?: unknown; status?: unknown } = {}): unknown {
  const metadata = typeof fields.metadata === 'object' ? fields.metadata : {};
  return { kind: 'Node', ...fields, metadata: { name: 'node1', ...metadata } };
}

function projected(object: unknown): NodeValue {
  const { value } = projectNode(object);
  if (value === undefined) throw new Error('expected a value');
  return value;
}

const address = (type: string, text: unknown) => ({ type, address: text });

describe('projectNode', () => {
  it('keeps addresses, pod networks, zone and whether it is leaving', () => {
    const object = node({
      metadata: { labels: { 'topology.kubernetes.io/zone': 'z1', 'kubernetes.io/hostname': 'node1' } },
      spec: { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24', 'fd00:244:1:0::/64'] },
      status: {
        addresses: [
          address('Hostname', 'node1'),
          address('InternalIP', '172.30.0.11'),
          address('InternalIP', 'FD00:30::11'),
        ],
      },
    });
    expect(projectNode(object)).toEqual({
      value: {
        kind: 'Node',
        name: 'node1',
        addresses: ['172.30.0.11', 'fd00:30::11'],
        allAddresses: ['172.30.0.11', 'fd00:30::11'],
        podCIDRs: ['10.244.1.0/24', 'fd00:244:1::/64'],
        zone: 'z1',
        leaving: false,
      },
      problems: [],
    });
  });

  it('may know nothing yet', () => {
    expect(projectNode(node())).toEqual({
      value: {
        kind: 'Node',
        name: 'node1',
        addresses: [],
        allAddresses: [],
        podCIDRs: [],
        zone: '',
        leaving: false,
      },
      problems: [],
    });
  });

  test.for([
    [[address('ExternalIP', '203.0.113.9'), address('InternalIP', '10.0.0.1')], ['10.0.0.1']],
    [[address('ExternalIP', '203.0.113.9')], ['203.0.113.9']],
    [[address('InternalIP', '10.0.0.1'), address('InternalIP', '10.0.0.2')], ['10.0.0.1']],
    [
      [
        address('InternalIP', 'fd00::1'),
        address('ExternalIP', '203.0.113.9'),
        address('InternalIP', '10.0.0.1'),
      ],
      ['fd00::1', '10.0.0.1'],
    ],
    [
      [address('InternalIP', '10.0.0.1'), address('ExternalIP', '2001:db8::9')],
      ['10.0.0.1', '2001:db8::9'],
    ],
    [[address('Hostname', '10.9.9.9'), null, 'x'], []],
  ] as const)('takes the primary addresses of %j', ([addresses, primary]) => {
    expect(projected(node({ status: { addresses } })).addresses).toEqual(primary);
  });

  it('names addresses and networks that are none', () => {
    const object = node({
      spec: { podCIDRs: ['10.244.1.0', '10.244.2.0/24'] },
      status: { addresses: [address('InternalIP', 'node1'), address('InternalIP', '10.0.0.1')] },
    });
    expect(projectNode(object)).toEqual({
      value: {
        kind: 'Node',
        name: 'node1',
        addresses: ['10.0.0.1'],
        allAddresses: ['10.0.0.1'],
        podCIDRs: ['10.244.2.0/24'],
        zone: '',
        leaving: false,
      },
      problems: [
        {
          object: 'Node node1',
          field: 'status.addresses[0].address',
          message: '"node1" is not an IP address; ignored',
        },
        { object: 'Node node1', field: 'spec.podCIDRs[0]', message: '"10.244.1.0" is not a CIDR; ignored' },
      ],
    });
  });

  it('falls back to podCIDR', () => {
    expect(projected(node({ spec: { podCIDR: '10.244.1.0/24' } })).podCIDRs).toEqual(['10.244.1.0/24']);
  });

  test.for([
    [{ metadata: { deletionTimestamp: '2026-11-30T12:05:02Z' } }, true],
    [{ metadata: { deletionTimestamp: null } }, false],
    [{ spec: { taints: [{ key: 'other' }, { key: 'ToBeDeletedByClusterAutoscaler' }] } }, true],
    [{ spec: { taints: [{ key: 'other' }, 7] } }, false],
  ] as const)('%j: leaving %s', ([fields, leaving]) => {
    expect(projected(node(fields)).leaving).toBe(leaving);
  });

  it('needs a name', () => {
    expect(projectNode({ metadata: {} })).toEqual({
      value: undefined,
      problems: [{ object: 'Node', field: 'metadata.name', message: 'is missing' }],
    });
  });
});
