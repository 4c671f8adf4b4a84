/** This process: the names that Prometheus' client libraries give, from the same files of procfs. */
import { readdirSync, readFileSync } from 'node:fs';
import { Counter, Gauge } from './metric.ts';
import type { Registry } from './registry.ts';

/** What an unlimited resource is told as: Go's libraries give the largest 64-bit number. */
const UNLIMITED = 2 ** 64;

/** Registers them, to be looked up at each reading. What a machine does not tell is left out. */
export function registerProcessMetrics(registry: Registry): void {
  const cpu = new Counter('process_cpu_seconds_total', 'User and system CPU time spent', []);
  const openFds = new Gauge('process_open_fds', 'Open file descriptors', []);
  const maxFds = new Gauge('process_max_fds', 'File descriptors that may be open', []);
  const virtual = new Gauge('process_virtual_memory_bytes', 'Virtual memory size', []);
  const maxVirtual = new Gauge('process_virtual_memory_max_bytes', 'Virtual memory that may be had', []);
  const resident = new Gauge('process_resident_memory_bytes', 'Resident memory size', []);
  const received = new Counter(
    'process_network_receive_bytes_total',
    "Bytes received in this process's network: with host networking, all of the node's",
    [],
  );
  const sent = new Counter(
    'process_network_transmit_bytes_total',
    "Bytes sent in this process's network: with host networking, all of the node's",
    [],
  );
  const started = new Gauge('process_start_time_seconds', 'When the process started', []);
  const memory = new Gauge(
    'kube_rulesync_memory_bytes',
    'What Node.js has taken: the heap and what is used of it, and buffers outside of it',
    ['area'],
  );
  registry.register(cpu, openFds, maxFds, virtual, maxVirtual, resident, received, sent, started, memory);
  started.set({}, Math.round(Date.now() / 10 - process.uptime() * 100) / 100);
  // Nothing of procfs is on a disk: reading it takes microseconds, less than coming back for it would.
  registry.beforeReading(() => {
    const { user, system } = process.cpuUsage();
    cpu.set({}, (user + system) / 1e6);
    const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
    resident.set({}, rss);
    memory.set({ area: 'heap_total' }, heapTotal);
    memory.set({ area: 'heap_used' }, heapUsed);
    memory.set({ area: 'external' }, external);
    attempt(() => openFds.set({}, readdirSync('/proc/self/fd').length));
    attempt(() => virtual.set({}, virtualMemory(readFileSync('/proc/self/stat', 'latin1'))));
    attempt(() => {
      const limits = readFileSync('/proc/self/limits', 'latin1');
      maxFds.set({}, softLimit(limits, 'Max open files'));
      maxVirtual.set({}, softLimit(limits, 'Max address space'));
    });
    attempt(() => {
      const octets = networkOctets(readFileSync('/proc/self/net/netstat', 'latin1'));
      received.set({}, octets.received);
      sent.set({}, octets.sent);
    });
  });
}

function attempt(read: () => void): void {
  try {
    read();
  } catch {
    // Without procfs there is no such value.
  }
}

/** `vsize` of proc_pid_stat(5), bytes. The name before it may hold anything. */
export function virtualMemory(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[20]);
}

/**
 * `InOctets` and `OutOctets` of the kernel's `IpExt` counters, two lines of proc_pid_net(5): names, then values.
 * Throws when they are not there.
 */
export function networkOctets(netstat: string): { readonly received: number; readonly sent: number } {
  const [names = [], values = []] = netstat
    .split('\n')
    .filter((line) => line.startsWith('IpExt:'))
    .map((line) => line.split(' '));
  const octets = (name: string) => {
    const value = values[names.indexOf(name)];
    if (value === undefined) throw new Error(`no counter called ${name}`);
    return Number(value);
  };
  return { received: octets('InOctets'), sent: octets('OutOctets') };
}

/** The soft limit of one line of proc_pid_limits(5). Throws when there is no such line. */
export function softLimit(limits: string, name: string): number {
  const value = limits
    .split('\n')
    .find((line) => line.startsWith(name))
    ?.slice(name.length)
    .trim()
    .split(/\s+/)[0];
  if (value === undefined) throw new Error(`no limit called ${name}`);
  return value === 'unlimited' ? UNLIMITED : Number(value);
}
