/**
 * Runs a command in user-mode Linux: a Linux kernel as a plain process, with the machine's own files as its
 * root. It has what the machine's kernel may lack: IPVS with all its schedulers, dummy links, ipset.
 *
 *     const result = await runInUml({ argv: ['node', 'suite.js'], timeoutMs: 300_000 });
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findTool, TOOL_DIRECTORIES, type UmlKernel, umlKernel } from './requirements.ts';

export interface UmlOptions {
  /** Run as root, found by PATH: the calling Node is `node`, and `iptables` and its kin are the legacy ones. */
  readonly argv: readonly [string, ...string[]];
  /** Default: the current directory. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Boot and shutdown included: when it is over, the machine is switched off. */
  readonly timeoutMs: number;
  /** As the kernel takes it; default `1G`. */
  readonly memory?: string;
  /** Loaded before the command; default: IPVS, dummy, veth, ipset and iptables-legacy. */
  readonly modules?: readonly string[];
  /** What the command writes (stdout and stderr in one), as it comes. */
  readonly onOutput?: (text: string) => void;
}

export interface UmlResult {
  readonly exitCode: number;
  /** stdout and stderr in one. */
  readonly output: string;
  /** What the kernel said, as `dmesg` prints it. */
  readonly kernelLog: string;
}

/** The machine did not get as far as the command's end. The message has the last it said. */
export class UmlError extends Error {
  override readonly name = 'UmlError';
}

/** What the IPVS back end and the packet tests use. Debian's ip_tables there is the legacy one. */
export const IPVS_MODULES: readonly string[] = [
  ...['ip_vs', 'ip_vs_rr', 'nf_conntrack', 'dummy', 'veth', 'bridge'],
  ...['ip_set', 'ip_set_hash_ip', 'ip_set_hash_ipport', 'ip_set_hash_ipportip', 'ip_set_hash_ipportnet'],
  ...['ip_set_bitmap_port', 'xt_set'],
  ...['ip_tables', 'iptable_filter', 'iptable_nat', 'iptable_mangle'],
  ...['ip6_tables', 'ip6table_filter', 'ip6table_nat', 'ip6table_mangle'],
];

const IPTABLES = ['iptables', 'iptables-restore', 'iptables-save'].flatMap((name) => [
  name,
  name.replace('ip', 'ip6'),
]);

/** Lines between which the console has the command's output. */
const BEGIN = '---- command ----';
const END = '---- end of command ----';

/**
 * Boots, runs the command to its end, and shuts down. Rejects with a `UmlError` when the machine could not be
 * started, crashed, or overran its time; a command that fails is a result like any other.
 */
export async function runInUml(options: UmlOptions): Promise<UmlResult> {
  const uml = umlKernel();
  if (uml === undefined) throw new UmlError('linux.uml: not found; it is in Debian’s user-mode-linux');
  const directory = await mkdtemp(join(tmpdir(), 'krs-uml-'));
  try {
    await prepare(directory, uml, options);
    return await readResult(directory, await boot(uml.kernel, directory, options));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function prepare(directory: string, { modules }: UmlKernel, options: UmlOptions): Promise<void> {
  const bin = join(directory, 'bin');
  await mkdir(bin);
  await symlink(process.execPath, join(bin, 'node'));
  const legacy = findTool('xtables-legacy-multi');
  if (legacy !== undefined) await Promise.all(IPTABLES.map((name) => symlink(legacy, join(bin, name))));
  const settings = {
    krs_modules: modules,
    krs_load: (options.modules ?? IPVS_MODULES).join(' '),
    krs_cwd: options.cwd ?? process.cwd(),
    krs_begin: BEGIN,
    krs_end: END,
  };
  await writeFile(join(directory, 'settings'), assignments(settings).join(''));
  const exports = assignments({ ...options.env }).map((line) => `export ${line}`);
  const command = `#!/bin/sh\n${exports.join('')}exec ${options.argv.map(quoted).join(' ')}\n`;
  await writeFile(join(directory, 'command'), command);
  await chmod(join(directory, 'command'), 0o755);
}

function assignments(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).map(([name, value]) => `${name}=${quoted(value)}\n`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

async function boot(kernel: string, directory: string, options: UmlOptions): Promise<Screen> {
  const init = fileURLToPath(new URL('init.sh', import.meta.url));
  const child = spawn(
    kernel,
    [
      `mem=${options.memory ?? '1G'}`,
      'rootfstype=hostfs',
      'rootflags=/',
      'rw',
      `init=${init}`,
      // The kernel's sockets and memory file go where they are removed with the rest.
      `uml_dir=${directory}`,
      'con=null',
      'con0=null,fd:1',
      'quiet',
      // A virtual server without real servers is worth a line to the kernel, each time.
      'loglevel=1',
      `krs_dir=${directory}`,
    ],
    {
      cwd: dirname(init),
      env: { PATH: TOOL_DIRECTORIES.join(':'), TMPDIR: directory, HOME: directory },
      stdio: ['ignore', 'pipe', 'pipe'],
      // It forks a process for each of its own: they are ended together, as one group.
      detached: true,
    },
  );
  const stopped = stopWithUs(child);
  const screen = new Screen(options.onOutput);
  child.stdout.setEncoding('utf8').on('data', (text: string) => screen.read(text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => screen.note(text));
  let overran = false;
  const timer = setTimeout(() => {
    overran = true;
    endGroup(child);
  }, options.timeoutMs);
  try {
    await once(child, 'close');
  } catch (error) {
    throw new UmlError(`${kernel}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    clearTimeout(timer);
    stopped();
  }
  if (overran) {
    throw new UmlError(
      `not done after ${options.timeoutMs / 1000} s and switched off; it said last:\n${screen.last}`,
    );
  }
  return screen;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Takes the machine down when this process ends, or is told to end, without waiting for it. */
function stopWithUs(child: ChildProcess): () => void {
  const onExit = (): void => endGroup(child);
  const onSignal = (signal: NodeJS.Signals): void => {
    release();
    endGroup(child);
    // Now without us in the way.
    process.kill(process.pid, signal);
  };
  const release = (): void => {
    process.off('exit', onExit);
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  process.once('exit', onExit);
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return release;
}

function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}

/** What the machine writes: boot messages, the command's output between its marks, shutdown messages. */
class Screen {
  readonly #onOutput: (text: string) => void;
  #output = '';
  #last = '';
  #line = '';
  #state: 'boot' | 'command' | 'over' = 'boot';

  constructor(onOutput: (text: string) => void = () => undefined) {
    this.#onOutput = onOutput;
  }

  /** The command's output so far. */
  get output(): string {
    return this.#output;
  }

  /** The last that was said, by whomever. */
  get last(): string {
    return `${this.#last}${this.#line}`;
  }

  /** More from the console, which ends lines as terminals do. */
  read(text: string): void {
    const lines = `${this.#line}${text}`.replaceAll('\r\n', '\n').split('\n');
    this.#line = lines.pop() ?? '';
    for (const line of lines) {
      this.note(`${line}\n`);
      if (line === BEGIN) this.#state = 'command';
      else if (this.#state === 'command') {
        // The command may have left its last line open.
        const last = line.endsWith(END);
        const text = last ? line.slice(0, -END.length) : `${line}\n`;
        if (last) this.#state = 'over';
        this.#output += text;
        if (text !== '') this.#onOutput(text);
      }
    }
  }

  note(text: string): void {
    this.#last = `${this.#last}${text}`.slice(-4000);
  }
}

async function readResult(directory: string, screen: Screen): Promise<UmlResult> {
  const [code, kernelLog, failure] = await Promise.all(
    ['exit-code', 'kernel-log', 'failure'].map((name) =>
      readFile(join(directory, name), 'utf8').catch(() => undefined),
    ),
  );
  if (code === undefined || failure !== undefined) {
    throw new UmlError(`ended before the command did; it said last:\n${failure ?? ''}${screen.last}`);
  }
  return { exitCode: Number(code), output: screen.output, kernelLog: kernelLog ?? '' };
}
