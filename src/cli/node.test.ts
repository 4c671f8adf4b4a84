import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { kernelFamilies, nodeNameOf, ownAddresses } from './node.ts';

test('the Node has the name it is given, else the host’s', () => {
  expect(nodeNameOf({ hostnameOverride: 'worker-1' })).toBe('worker-1');
  expect(nodeNameOf({ hostnameOverride: '' })).toBe(hostname().toLowerCase());
});

test('own addresses are canonical, each once, in order', () => {
  const address = (text: string, family: 'IPv4' | 'IPv6') => ({
    address: text,
    family,
    netmask: '',
    mac: '',
    internal: false,
    cidr: null,
    ...(family === 'IPv6' ? { scopeid: 0 } : {}),
  });
  const interfaces = {
    lo: [address('127.0.0.1', 'IPv4'), address('::1', 'IPv6')],
    eth0: [address('192.0.2.11', 'IPv4'), address('2001:DB8:0::11', 'IPv6')],
    eth1: [address('192.0.2.11', 'IPv4')],
    none: undefined,
  };
  expect(ownAddresses(interfaces as Parameters<typeof ownAddresses>[0])).toEqual([
    '127.0.0.1',
    '192.0.2.11',
    '2001:db8::11',
    '::1',
  ]);
});

const IF_INET6 = '/proc/net/if_inet6';
const DISABLED = '/proc/sys/net/ipv6/conf/all/disable_ipv6';

test.for<[string, Record<string, string>, string[]]>([
  ['both', { [IF_INET6]: '', [DISABLED]: '0\n' }, ['IPv4', 'IPv6']],
  ['both where the switch cannot be read', { [IF_INET6]: '' }, ['IPv4', 'IPv6']],
  ['IPv4 where IPv6 is switched off', { [IF_INET6]: '', [DISABLED]: '1\n' }, ['IPv4']],
  ['IPv4 where the kernel has no IPv6', {}, ['IPv4']],
])('the kernel speaks %s', async ([, files, families]) => {
  const read = async (path: string) => {
    const text = files[path];
    if (text === undefined) throw new Error(`ENOENT: ${path}`);
    return text;
  };
  expect(await kernelFamilies(read)).toEqual(families);
});
