/** How the program ends: with 0, or with 1 and one line on stderr that says what went wrong. */
import { CommanderError } from 'commander';
import { textWithoutUserinfo } from './userinfo.ts';

export const OK = 0;
export const FAILED = 1;

/** Something the user can mend. The message is what they see. */
export class CliError extends Error {
  override readonly name = 'CliError';
}

/**
 * The text for stderr, empty where the error has been told already. A stack trace is for whoever asked for detail.
 */
export function errorText(error: unknown, withStack: boolean): string {
  if (error instanceof CommanderError) return '';
  if (!(error instanceof Error)) return `error: ${printable(String(error))}\n`;
  const stack = withStack && !(error instanceof CliError) ? error.stack : undefined;
  return `${printable(error.message)
    .split('\n')
    .map((line) => `error: ${line}`)
    .join('\n')}\n${stack === undefined ? '' : `${printable(stack)}\n`}`;
}

/**
 * The names of files and what stands in them are others' words: a terminal takes control characters for commands.
 * Passwords in URLs are for nobody's log.
 */
function printable(text: string): string {
  return textWithoutUserinfo(text).replaceAll(/[^\P{Cc}\n\t]/gu, '\uFFFD');
}

/**
 * Whoever reads stdout may stop reading (`| head`): that ends the program quietly. What cannot be written, to a
 * full disk say, must not pass for written. Nobody listening to stderr ends nothing.
 */
export function toleratePipes(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(OK);
    process.stderr.write(`error: standard output: ${error.message}\n`);
    process.exit(FAILED);
  });
  process.stderr.on('error', () => undefined);
}
