/**
 * Logs go to stderr, so that stdout is data alone: readable on a terminal, one JSON object a line elsewhere.
 * Lines are written at once, in this process: what was logged before an exit has been written.
 */
import pino from 'pino';

export type Logger = pino.Logger;

export interface LogSettings {
  /** kube-proxy's `-v`: 0 to 3 information, from 4 debugging, from 6 everything. */
  readonly verbosity: number;
  /** Empty: text on a terminal, JSON elsewhere. */
  readonly format: '' | 'text' | 'json';
}

/** Where lines go: stderr, or what a test puts in its place. */
export interface LogTarget {
  readonly fd: number;
  readonly isTTY: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const STDERR: LogTarget = { fd: 2, isTTY: process.stderr.isTTY === true, env: process.env };

/** pino's level for a verbosity. */
export function levelOf(verbosity: number): 'info' | 'debug' | 'trace' {
  if (verbosity >= 6) return 'trace';
  return verbosity >= 4 ? 'debug' : 'info';
}

export async function createLogger(settings: LogSettings, target: LogTarget = STDERR): Promise<Logger> {
  const level = levelOf(settings.verbosity);
  const readable = settings.format === 'text' || (settings.format === '' && target.isTTY);
  const file = pino.destination({ fd: target.fd, sync: true });
  // Nobody reading the log any more is no reason to stop.
  file.on('error', () => undefined);
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: level === 'info' ? messageOf : pino.stdSerializers.err },
    },
    readable ? await prettified(file, target) : file,
  );
}

/** Below debugging an error is its message: stack traces are for whoever asked for detail. */
function messageOf(error: unknown): unknown {
  return error instanceof Error ? error.message : error;
}

async function prettified(file: pino.DestinationStream, target: LogTarget): Promise<pino.DestinationStream> {
  const { prettyFactory } = await import('pino-pretty');
  const pretty = prettyFactory({
    colorize: target.isTTY && !target.env.NO_COLOR && target.env.TERM !== 'dumb',
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
  });
  return {
    write(line) {
      const text: unknown = pretty(line);
      if (typeof text === 'string') file.write(text);
    },
  };
}
