/**
 * The one place where child processes are started: no shell, a deadline, and the tool's own words in the error.
 */
import { execa } from 'execa';

export interface Command {
  readonly argv: readonly [string, ...string[]];
  /** Pieces of standard input; streamed, never joined. */
  readonly stdin?: Iterable<string>;
  /** Milliseconds; default 60,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /**
   * Takes standard output as it comes, piece by piece; the result then has none. For listings too long to keep.
   * Must not throw.
   */
  readonly onStdout?: (chunk: string) => void;
}

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandRunner {
  /** Runs a command to its end. Rejects with a `ToolError` when it cannot start, fails, or overruns. */
  run(command: Command): Promise<CommandResult>;
}

export type ToolErrorReason = 'missing' | 'unstartable' | 'timeout' | 'cancelled' | 'signal' | 'exit';

/** A tool that did not do what it was told. The reason is a field, so that nobody parses the text. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly argv: readonly string[];
  readonly reason: ToolErrorReason;
  readonly exitCode: number | undefined;
  readonly stderr: string;

  constructor(
    argv: readonly string[],
    reason: ToolErrorReason,
    exitCode: number | undefined,
    stderr: string,
  ) {
    const said = firstLines(stderr);
    super(`${argv.join(' ')}: ${describe(reason, exitCode)}${said ? `: ${said}` : ''}`);
    this.argv = argv;
    this.reason = reason;
    this.exitCode = exitCode;
    this.stderr = stderr;
  }
}

function describe(reason: ToolErrorReason, exitCode: number | undefined): string {
  switch (reason) {
    case 'missing':
      return 'no such program; is its package installed?';
    case 'unstartable':
      return 'could not be started';
    case 'timeout':
      return 'did not finish in time and was ended';
    case 'cancelled':
      return 'was cancelled';
    case 'signal':
      return 'was ended by a signal';
    case 'exit':
      return `exit code ${exitCode}`;
  }
}

function firstLines(text: string): string {
  const trimmed = text.trim();
  return trimmed.length > 2000 ? `${trimmed.slice(0, 2000)} …` : trimmed;
}

/** 256 MiB of text: a listing of a very large table. */
const MAX_OUTPUT = 256 * 1024 * 1024;

/** Small pieces cost a system call each: joins them up to this many characters. */
const CHUNK = 256 * 1024;

/** The tools live in sbin, which is not on everyone's PATH. LC_ALL=C keeps their messages parseable. */
const SEARCH_PATH = [process.env.PATH, '/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin']
  .filter(Boolean)
  .join(':');

/**
 * A tool that reads a large input spends half of its time on page faults of a heap that grows in small steps. With
 * steps of 16 MiB in huge pages nft reads 10,000 Services in 0.45 s in place of 0.77 s; a call with one line takes
 * what it took. Other C libraries, and a glibc before 2.35, take no notice (glibc manual, "Memory Allocation
 * Tunables").
 */
const MALLOC = 'glibc.malloc.hugetlb=1:glibc.malloc.top_pad=16777216';

function* chunked(pieces: Iterable<string>): Generator<string> {
  let chunk = '';
  for (const piece of pieces) {
    chunk += piece;
    if (chunk.length >= CHUNK) {
      yield chunk;
      chunk = '';
    }
  }
  if (chunk) yield chunk;
}

export interface RunnerOptions {
  /** Put in front of every argv, e.g. `['ip', 'netns', 'exec', 'node1']`. */
  readonly prefix?: readonly string[];
}

export function createRunner(options: RunnerOptions = {}): CommandRunner {
  const prefix = options.prefix ?? [];
  return {
    async run(command) {
      const [file, ...args] = [...prefix, ...command.argv] as [string, ...string[]];
      const child = execa(file, args, {
        reject: false,
        ...(command.stdin ? { stdin: chunked(command.stdin) } : { stdin: 'ignore' }),
        timeout: command.timeoutMs ?? 60_000,
        ...(command.signal ? { cancelSignal: command.signal } : {}),
        maxBuffer: MAX_OUTPUT,
        extendEnv: false,
        env: { PATH: SEARCH_PATH, LC_ALL: 'C', GLIBC_TUNABLES: MALLOC },
        stripFinalNewline: false,
        buffer: { stdout: command.onStdout === undefined },
      });
      if (command.onStdout) child.stdout.setEncoding('utf8').on('data', command.onStdout);
      const result = await child;
      if (!result.failed) return { stdout: result.stdout ?? '', stderr: result.stderr };
      throw new ToolError(
        command.argv,
        reasonOf(result),
        result.exitCode,
        result.stderr || startError(result),
      );
    },
  };
}

/** What kept the program from starting: `spawn nft EACCES`. Empty when it started. */
function startError(result: {
  readonly exitCode?: number | undefined;
  readonly originalMessage?: string | undefined;
}): string {
  return result.exitCode === undefined ? (result.originalMessage ?? '') : '';
}

function reasonOf(result: {
  readonly code?: string | undefined;
  readonly exitCode?: number | undefined;
  readonly timedOut: boolean;
  readonly isCanceled: boolean;
  readonly isTerminated: boolean;
}): ToolErrorReason {
  if (result.code === 'ENOENT') return 'missing';
  if (result.timedOut) return 'timeout';
  if (result.isCanceled) return 'cancelled';
  if (result.isTerminated) return 'signal';
  if (result.exitCode === undefined) return 'unstartable';
  return 'exit';
}
