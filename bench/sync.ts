/**
 * What a change costs, from the API server to the kernel: the first sync, one endpoint replaced, one Service added
 * and removed, 300 Services at once. Beside it, in the same run, kube-proxy's recorded commands.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type ApiServer, startApiServer } from '../test/support/apiserver/apiserver.ts';
import { kubeconfigText } from '../test/support/apiserver/kubeconfig.ts';
import { jsonOf } from '../test/support/apiserver/objects.ts';
import { benchObjects, benchService, benchSlice, type Size, sizeText } from './cluster.ts';
import { type Daemon, startDaemon } from './daemon.ts';
import { type KubeProxyTimes, recordedMode, replayKubeProxy } from './kube-proxy.ts';
import { median, printTable, ratio } from './report.ts';

interface Times extends KubeProxyTimes {
  /** Of `first`, what the sync itself took: planning, comparing, and the tools. Seconds. */
  readonly sync: number;
  readonly burst: number;
  /** Bytes. */
  readonly memory: number;
  readonly peak: number;
}

interface Result {
  readonly size: Size;
  readonly ours: Times;
  readonly theirs: KubeProxyTimes | undefined;
}

const BURST = 300;
const ROUNDS = 7;

const { values } = parseArgs({
  options: {
    mode: { type: 'string', default: 'nftables' },
    sizes: { type: 'string', default: '1000x3,10000x3,5000x50,44000x3' },
    'without-kube-proxy': { type: 'boolean', default: false },
  },
});
const mode = recordedMode(values.mode);

async function measure(size: Size): Promise<Times> {
  const server = await startApiServer();
  const folder = await mkdtemp(join(tmpdir(), 'rulesync-bench-'));
  try {
    for (const object of benchObjects(size)) server.apply(object);
    // The server's own work is no part of what is measured: it has every object's text at hand.
    for (const kind of ['Service', 'EndpointSlice']) server.list(kind).forEach(jsonOf);
    const kubeconfig = join(folder, 'kubeconfig');
    await writeFile(kubeconfig, kubeconfigText(server.url, {}, { 'insecure-skip-tls-verify': true }));
    const daemon = startDaemon(daemonArguments(kubeconfig));
    try {
      return await measureDaemon(daemon, server, size);
    } finally {
      await daemon.stop();
    }
  } finally {
    await server.close();
    await rm(folder, { recursive: true });
  }
}

function daemonArguments(kubeconfig: string): string[] {
  return [
    join(import.meta.dirname, '../dist/kube-rulesync.js'),
    ...['run', '--mode', mode, '--kubeconfig', kubeconfig, '--hostname-override', 'node1'],
    ...['--cluster-cidr', '10.244.0.0/16', '--iptables-min-sync-period', '1ms'],
    // What is set for the machine is no part of what is measured.
    ...['--conntrack-max-per-core', '0', '--conntrack-tcp-timeout-established', '0s'],
    ...['--conntrack-tcp-timeout-close-wait', '0s', '--healthz-port', '0'],
    ...['--logging-format', 'json', '-v', '4'],
  ];
}

async function measureDaemon(daemon: Daemon, server: ApiServer, size: Size): Promise<Times> {
  const first = await daemon.until(({ full, services }) => full && services === size.services);
  const timed = async (act: () => void, services = 1): Promise<number> => {
    let left = services;
    const synced = daemon.until((sync) => {
      left -= sync.services;
      return left <= 0;
    });
    const started = performance.now();
    act();
    await synced;
    return (performance.now() - started) / 1000;
  };
  const changes: number[] = [];
  const adds: number[] = [];
  const removes: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const index = (round * 7919) % size.services;
    changes.push(await timed(() => server.apply(benchSlice(index, size.endpoints, round))));
    adds.push(await timed(() => addServices(server, size, round, 1)));
    const name = `svc-${size.services + round}`;
    removes.push(await timed(() => server.delete({ kind: 'Service', namespace: 'default', name })));
  }
  const { now } = daemon.memory();
  const burst = await timed(() => addServices(server, size, 1000, BURST), BURST);
  return {
    first: first.at,
    sync: first.seconds,
    change: median(changes),
    add: median(adds),
    remove: median(removes),
    burst,
    memory: now,
    peak: daemon.memory().peak,
  };
}

/** Slices first: then each Service is one change. */
function addServices(server: ApiServer, size: Size, from: number, count: number): void {
  for (let number = from; number < from + count; number++) {
    server.apply(benchSlice(size.services + number, size.endpoints));
    server.apply(benchService(size.services + number));
  }
}

function print(results: readonly Result[]): void {
  const seconds = (value: number): string => `${value.toFixed(2)} s`;
  const milliseconds = (value: number): string => `${(value * 1000).toFixed(0)} ms`;
  const megabytes = (value: number): string => `${(value / 1e6).toFixed(0)} MB`;
  printTable(
    [
      'Services × endpoints',
      ...['start to first sync', 'of it the sync', 'one endpoint', 'add', 'remove'],
      ...[`${BURST} at once`, 'memory', 'peak'],
    ],
    results.map(({ size, ours }) => [
      sizeText(size),
      seconds(ours.first),
      seconds(ours.sync),
      milliseconds(ours.change),
      milliseconds(ours.add),
      milliseconds(ours.remove),
      milliseconds(ours.burst),
      megabytes(ours.memory),
      megabytes(ours.peak),
    ]),
  );
  const compared = results.filter(({ theirs }) => theirs !== undefined);
  if (compared.length > 0) {
    console.log('\nkube-proxy 1.36.1, its own commands alone, and how many times quicker this is');
    printTable(
      [
        'Services × endpoints',
        'first sync',
        'by start',
        'by sync',
        'one endpoint',
        '',
        'add',
        '',
        'remove',
        '',
      ],
      compared.map(({ size, ours, theirs }) => [
        sizeText(size),
        seconds(theirs?.first ?? 0),
        ratio(theirs?.first ?? 0, ours.first),
        ratio(theirs?.first ?? 0, ours.sync),
        ...(['change', 'add', 'remove'] as const).flatMap((phase) => [
          seconds(theirs?.[phase] ?? 0),
          ratio(theirs?.[phase] ?? 0, ours[phase]),
        ]),
      ]),
    );
  }
  const small = results.find(({ size }) => size.services === 1000);
  const large = results.find(({ size }) => size.services === 44_000);
  if (small && large) {
    const factor = (large.ours.change / small.ours.change).toFixed(2);
    console.log(
      `\nOne endpoint among ${sizeText(large.size)} costs ${factor} times what it costs among ${sizeText(small.size)}.`,
    );
  }
}

const results: Result[] = [];
for (const text of values.sizes.split(',')) {
  const [services, endpoints] = text.split('x').map(Number);
  if (!services || !endpoints) throw new Error(`--sizes ${text}: must be like 1000x3`);
  const size = { services, endpoints };
  console.error(`${sizeText(size)} …`);
  const ours = await measure(size);
  const theirs = values['without-kube-proxy'] ? undefined : await replayKubeProxy(mode, size);
  results.push({ size, ours, theirs });
}
print(results);
