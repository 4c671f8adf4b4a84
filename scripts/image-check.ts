/**
 * Runs the image as its manifests say: `scripts/image-check.ts ROOT POD`, with the image's root directory. Called by
 * image-check.sh in a network namespace of its own, as root. There it sets up an API server and two endpoints, starts
 * the pod's containers with runc, and connects to a Service. The last line adds up; ends with 1 when a check failed.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { V1Container } from '@kubernetes/client-node';
import { parse, stringify } from 'yaml';
import { startApiServer } from '../test/support/apiserver/apiserver.ts';
import { makeCertificate } from '../test/support/apiserver/certificate.ts';
import { endpointSlice, node, service, serviceCidr } from '../test/support/apiserver/samples.ts';
import { until } from '../test/support/until.ts';
import { bundleConfig } from './image-bundle.ts';
import { triedPod } from './image-pods.ts';

const NODE = '172.30.0.11';
const ENDPOINTS = ['172.30.0.21', '172.30.0.22'] as const;
const CLUSTER_IP = '10.96.0.10';
const TOKEN = 'a-token-of-the-check';

const [root, name] = process.argv.slice(2);
if (!root || !name) throw new Error('usage: image-check.ts ROOT POD');

const work = mkdtempSync(join(tmpdir(), 'image-check-'));
const pod = triedPod(name);
const { mode, init, main } = pod;

let passed = 0;
let failed = 0;

/** Tells how a check went; one that throws has failed, and the others go on. */
async function check(what: string, body: () => unknown): Promise<void> {
  try {
    await body();
    passed += 1;
    console.log(`ok      ${what}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${what}\n${String(error instanceof Error ? (error.cause ?? error) : error)}`);
  }
}

function ip(...args: string[]): void {
  const { status, stderr } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
}

/** Endpoints that answer with their address, on addresses of this namespace. */
async function startEndpoints(): Promise<void> {
  ip('link', 'set', 'lo', 'up');
  for (const address of [NODE, ...ENDPOINTS]) ip('address', 'add', `${address}/32`, 'dev', 'lo');
  // Packets to Services need a way to go before they are translated.
  ip('route', 'add', '10.96.0.0/12', 'dev', 'lo', 'src', NODE);
  for (const address of ENDPOINTS) {
    const server = createServer((_, response) => response.end(address));
    await new Promise<void>((resolve) => server.listen(8080, address, resolve));
  }
}

/** The ConfigMap's files, with this server, and without settings that are the whole machine's. */
function writeConfig(server: string): string {
  const directory = join(work, 'config');
  mkdirSync(directory);
  const config = parse(pod.files['config.conf'] ?? '') as Record<string, unknown>;
  writeFileSync(join(directory, 'config.conf'), stringify({ ...config, conntrack: { maxPerCore: 0 } }));
  const kubeconfig = (pod.files['kubeconfig.conf'] ?? '').replace(/server: .*/, `server: ${server}`);
  writeFileSync(join(directory, 'kubeconfig.conf'), kubeconfig);
  return directory;
}

interface Files {
  readonly config: string;
  readonly serviceAccount: string;
}

let containers = 0;

/** Starts a container of the pod; SIGTERM to the process goes to it. */
function start(container: V1Container, files: Files, command?: readonly string[]): ChildProcess {
  containers += 1;
  const bundle = join(work, `bundle-${containers}`);
  mkdirSync(bundle);
  const config = bundleConfig(pod.spec, container, {
    root: root as string,
    volumes: {
      [pod.configVolume]: files.config,
      'xtables-lock': join(work, 'xtables.lock'),
      'lib-modules': '/lib/modules',
    },
    serviceAccount: files.serviceAccount,
    env: { NODE_NAME: 'node1' },
    ...(command ? { command } : {}),
  });
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(config));
  const args = ['--root', join(work, 'runc'), 'run', '--bundle', bundle, `krs-${process.pid}-${containers}`];
  return spawn('runc', args, { stdio: ['ignore', 'pipe', 'pipe'] });
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function ended(child: ChildProcess): Promise<Ended> {
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    child.stderr ? text(child.stderr) : '',
  ]);
  return { code: await code, stdout, stderr };
}

/** Runs a command in a container to its end, within a minute. Rejects with what it said if it fails. */
async function output(container: V1Container, files: Files, ...command: string[]): Promise<string> {
  const child = start(container, files, command.length > 0 ? command : undefined);
  const timer = setTimeout(() => child.kill(), 60_000);
  const { code, stdout, stderr } = await ended(child);
  clearTimeout(timer);
  if (code !== 0) throw new Error(`${command.join(' ')}: exit code ${code}\n${stderr}`);
  return stdout;
}

function match(text: string, pattern: RegExp): void {
  if (!pattern.test(text)) throw new Error(`${JSON.stringify(text)} is not ${pattern}`);
}

/** Who answers at the Service, over a connection of its own. */
async function answer(): Promise<string> {
  const response = await fetch(`http://${CLUSTER_IP}/`, {
    headers: { connection: 'close' },
    signal: AbortSignal.timeout(1000),
  });
  return response.text();
}

async function answersWith(address: string): Promise<void> {
  await until(async () => (await answer()) === address);
}

async function toolsAreThere(files: Files): Promise<void> {
  const tools: Readonly<Record<string, RegExp>> = {
    'nft --version': /^nftables v1\.[1-9]/,
    'iptables-nft --version': /^iptables v1\.8\.\d+ \(nf_tables\)/,
    'iptables-legacy --version': /^iptables v1\.8\.\d+ \(legacy\)/,
    'ip6tables-restore --version': /^ip6tables-restore v1\.8\.\d+ \(nf_tables\)/,
    // ipvsadm itself ends with an error on a kernel without IPVS, whatever it is asked.
    'dpkg-query --show ipvsadm': /\t1:1\.31-/,
    'ipset --version': /^ipset v7\./,
    'conntrack --version': /^conntrack v1\./,
    'modprobe --version': /^kmod version/,
    'nfacct version': /nfacct/,
    'ip -V': /^ip utility/,
    'sysctl --version': /^sysctl from procps/,
    'node --version': /^v24\./,
  };
  for (const [command, pattern] of Object.entries(tools)) {
    await check(`${command}`, async () => match(await output(main, files, ...command.split(' ')), pattern));
  }
}

async function life(files: Files, apply: (endpoint: string) => void): Promise<void> {
  await check('--version says what it is', async () =>
    match(
      await output(main, files, '/usr/local/bin/kube-proxy', '--version'),
      /^kube-rulesync v\d+\.\d+\.\d+ \(kube-proxy 1\.36 compatible\)\n$/,
    ),
  );
  await check('a dry run prints rules for the Service, and loads none', async () => {
    const dry = start(main, files, [
      ...['/usr/local/bin/kube-rulesync', 'run', '--dry-run', '--healthz-bind-address='],
      ...['--config=/var/lib/kube-proxy/config.conf', '--hostname-override=node1'],
    ]);
    let said = '';
    dry.stdout?.on('data', (chunk) => {
      said += String(chunk);
    });
    const over = ended(dry);
    await until(() => said.includes(CLUSTER_IP) && said.includes(ENDPOINTS[0]));
    dry.kill();
    await over;
    const live = await output(
      main,
      files,
      ...(mode === 'iptables' ? ['iptables-save'] : ['nft', 'list', 'ruleset']),
    );
    if (live.includes(CLUSTER_IP)) throw new Error(live);
  });
  if (init) await check('the init container ends well', () => output(init, files));

  const running = start(main, files);
  const over = ended(running);
  await check('the container answers on /livez and /healthz', () =>
    until(async () => {
      const get = async (path: string) => (await fetch(`http://${NODE}:10256${path}`)).status;
      return (await get('/livez')) === 200 && (await get('/healthz')) === 200;
    }),
  );
  await check('it says its mode', async () => {
    // kubeadm leaves metrics on the loopback interface; ours are for a Prometheus of the cluster.
    const host = name === 'kubeadm' ? '127.0.0.1' : NODE;
    const said = await (await fetch(`http://${host}:10249/proxyMode`)).text();
    if (said !== mode) throw new Error(said);
  });
  await check('a connection to the Service meets its endpoint', () => answersWith(ENDPOINTS[0]));
  apply(ENDPOINTS[1]);
  await check('and the next one, once that is another', () => answersWith(ENDPOINTS[1]));
  running.kill('SIGTERM');
  const { code, stderr } = await over;
  await check('SIGTERM ends it with 0', () => {
    if (code !== 0) throw new Error(`exit code ${code}\n${stderr}`);
  });
  await check('the rules stay', () => answersWith(ENDPOINTS[1]));
  await check('nothing it said was an error', () => {
    const errors = stderr.split('\n').filter((line) => /"level":(50|60|"error"|"fatal")/.test(line));
    if (errors.length > 0) throw new Error(errors.join('\n'));
  });
  await check('no token is in what it said', () => {
    if (stderr.includes(TOKEN)) throw new Error(stderr);
  });
  if (process.env.IMAGE_CHECK_LOG) console.log(stderr);
  await check('--cleanup takes the rules away', async () => {
    await output(init ?? main, files, '/usr/local/bin/kube-proxy', '--cleanup');
    const left = await output(main, files, 'nft', 'list', 'ruleset');
    if (/KUBE-SVC|kube-proxy/.test(left)) throw new Error(left);
  });
}

try {
  await startEndpoints();
  const certificate = makeCertificate(['IP:127.0.0.1']);
  const server = await startApiServer({ certificate, token: TOKEN });
  const apply = (endpoint: string) => server.apply(endpointSlice('web-a', 'web', [endpoint]));
  server.apply(node('node1', NODE));
  server.apply(serviceCidr('kubernetes', '10.96.0.0/12'));
  server.apply(service('web', CLUSTER_IP));
  apply(ENDPOINTS[0]);
  const serviceAccount = join(work, 'serviceaccount');
  mkdirSync(serviceAccount);
  writeFileSync(join(serviceAccount, 'ca.crt'), certificate.cert);
  writeFileSync(join(serviceAccount, 'token'), TOKEN);
  writeFileSync(join(work, 'xtables.lock'), '');
  const files = { config: writeConfig(server.url), serviceAccount };
  if (name === 'nftables') await toolsAreThere(files);
  await life(files, apply);
} finally {
  rmSync(work, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
