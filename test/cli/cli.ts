/** Runs the real program, as a user would. */
import { resolve } from 'node:path';
import { execa } from 'execa';

const ROOT = resolve(import.meta.dirname, '../..');
const MAIN = resolve(ROOT, 'src/cli/main.ts');

export interface CliResult {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Put in front of the command: `['ip', 'netns', 'exec', 'n1']`. */
  readonly prefix?: readonly string[];
}

function optionsOf({ input = '', env = {} }: CliOptions) {
  return {
    cwd: ROOT,
    // Nothing of this process's own: what a terminal or a CI system sets changes output.
    env: { PATH: process.env.PATH ?? '', ...env },
    extendEnv: false,
    reject: false,
    stripFinalNewline: false,
    input,
    timeout: 100_000,
  } as const;
}

/** The command and its arguments, for those who start it themselves. */
export function cliCommand(args: readonly string[], prefix: readonly string[] = []): [string, ...string[]] {
  return [...prefix, process.execPath, MAIN, ...args] as [string, ...string[]];
}

/** Runs it to its end. */
export async function cli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const [file, ...rest] = cliCommand(args, options.prefix);
  const { exitCode, stdout, stderr } = await execa(file, rest, optionsOf(options));
  return { code: exitCode, stdout, stderr };
}

/** Starts it and leaves it running; end it with `kill`. */
export function startCli(args: readonly string[], options: CliOptions = {}) {
  const [file, ...rest] = cliCommand(args, options.prefix);
  return execa(file, rest, optionsOf(options));
}
