/**
 * A command runner for slow kernels. In user-mode Linux a process as large as Node takes half a second to start
 * another one; a shell takes a tenth of that. So one shell per place starts the tools, and Node tells it which.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Command, type CommandResult, type CommandRunner, ToolError } from '../../../src/node/runner.ts';

export interface ShellRunner extends CommandRunner, AsyncDisposable {
  /** Commands run so far. */
  readonly count: number;
  /** Ends the shell. */
  close(): Promise<void>;
}

/**
 * Starts the shell behind a prefix such as `ip netns exec NAME`. Commands are run one after another; their
 * environment is the shell's. Deadlines are not kept: the machine's own ends everything.
 */
export function createShellRunner(prefix: readonly string[] = []): ShellRunner {
  const directory = mkdtempSync(join(tmpdir(), 'krs-shell-'));
  const [file, ...args] = [...prefix, 'sh'];
  return new Shell(spawn(file, args, { stdio: 'pipe' }), directory);
}

class Shell implements ShellRunner {
  count = 0;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #directory: string;
  readonly #waiting: ((line: string) => void)[] = [];
  readonly #closed: Promise<void>;

  constructor(child: ChildProcessWithoutNullStreams, directory: string) {
    this.#child = child;
    this.#directory = directory;
    child.stderr.resume();
    child.stdin.on('error', () => undefined);
    createInterface({ input: child.stdout }).on('line', (line) => this.#waiting.shift()?.(line));
    this.#closed = new Promise((resolve) => {
      child.on('error', () => resolve());
      child.on('close', () => resolve());
    });
    void this.#closed.then(() => {
      for (const answer of this.#waiting.splice(0)) answer('gone');
    });
  }

  async run(command: Command): Promise<CommandResult> {
    this.count += 1;
    const name = join(this.#directory, String(this.count));
    if (command.stdin !== undefined) writePieces(`${name}.in`, command.stdin);
    const words = command.argv.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    const input = command.stdin === undefined ? '/dev/null' : `${name}.in`;
    const answer = await this.#tell(`${words} <${input} >${name}.out 2>${name}.err; echo $?\n`);
    if (answer === 'gone') throw new ToolError(command.argv, 'signal', undefined, 'the shell is gone');
    const [stdout, stderr] = [readFileSync(`${name}.out`, 'utf8'), readFileSync(`${name}.err`, 'utf8')];
    for (const ending of ['in', 'out', 'err']) rmSync(`${name}.${ending}`, { force: true });
    const code = Number(answer);
    if (code === 0) return { stdout, stderr };
    const missing = code === 127 && /^sh: .*not found$/m.test(stderr);
    throw new ToolError(command.argv, missing ? 'missing' : 'exit', code, stderr);
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    await this.#closed;
    rmSync(this.#directory, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #tell(line: string): Promise<string> {
    return new Promise((resolve) => {
      if (this.#child.exitCode !== null || this.#child.pid === undefined) {
        resolve('gone');
        return;
      }
      this.#waiting.push(resolve);
      this.#child.stdin.write(line);
    });
  }
}

function writePieces(path: string, pieces: Iterable<string>): void {
  const file = openSync(path, 'w');
  try {
    for (const piece of pieces) writeSync(file, piece);
  } finally {
    closeSync(file);
  }
}
