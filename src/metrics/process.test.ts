import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { networkOctets, registerProcessMetrics, softLimit, virtualMemory } from './process.ts';
import { Registry } from './registry.ts';

test('the size is found behind any name', () => {
  const stat = `4242 (a) b ) c) S 1 4242 4242 0 -1 4194560 7 0 1 0 5 3 0 0 20 0 11 0 99 1234567 890 18446744073709551615`;
  expect(virtualMemory(stat)).toBe(1_234_567);
});

const LIMITS = `Limit                     Soft Limit           Hard Limit           Units
Max address space         unlimited            unlimited            bytes
Max open files            1024                 524288               files
`;

test('soft limits', () => {
  expect(softLimit(LIMITS, 'Max open files')).toBe(1024);
  expect(softLimit(LIMITS, 'Max address space')).toBe(2 ** 64);
  expect(() => softLimit(LIMITS, 'Max cats')).toThrow('no limit called Max cats');
});

test('octets are found by their names', () => {
  const netstat = `TcpExt: SyncookiesSent InOctets
TcpExt: 1 2
IpExt: InNoRoutes InOctets OutOctets InCsumErrors
IpExt: 0 3401099865 614022797 7
MPTcpExt: MPCapableSYNRX
MPTcpExt: 0
`;
  expect(networkOctets(netstat)).toEqual({ received: 3_401_099_865, sent: 614_022_797 });
  expect(() => networkOctets('TcpExt: InOctets\nTcpExt: 1\n')).toThrow('no counter called InOctets');
});

test('this process is told of', async () => {
  const registry = new Registry();
  const before = Date.now();
  registerProcessMetrics(registry);
  const values = new Map(
    (await registry.read()).flatMap(({ name, samples }) =>
      samples.map(({ labels, value }) => [[name, ...labels.flat()].join(' '), value]),
    ),
  );
  expect([...values.keys()]).toEqual([
    'kube_rulesync_memory_bytes area external',
    'kube_rulesync_memory_bytes area heap_total',
    'kube_rulesync_memory_bytes area heap_used',
    'process_cpu_seconds_total',
    'process_max_fds',
    'process_network_receive_bytes_total',
    'process_network_transmit_bytes_total',
    'process_open_fds',
    'process_resident_memory_bytes',
    'process_start_time_seconds',
    'process_virtual_memory_bytes',
    'process_virtual_memory_max_bytes',
  ]);
  const value = (name: string) => values.get(name) ?? Number.NaN;
  const resident = value('process_resident_memory_bytes');
  expect(resident).toBeGreaterThan(10_000_000);
  expect(value('process_virtual_memory_bytes')).toBeGreaterThan(resident);
  expect(value('process_cpu_seconds_total')).toBeGreaterThan(0);
  expect(Math.abs(value('process_open_fds') - readdirSync('/proc/self/fd').length)).toBeLessThan(20);
  expect(value('process_network_receive_bytes_total')).toBeGreaterThanOrEqual(0);
  expect(value('process_network_transmit_bytes_total')).toBeGreaterThanOrEqual(0);
  expect(value('process_max_fds')).toBeGreaterThan(value('process_open_fds'));
  expect(value('process_start_time_seconds') * 1000).toBeLessThan(before);
  expect(value('process_start_time_seconds') * 1000).toBeGreaterThan(before - process.uptime() * 1000 - 1000);
});
