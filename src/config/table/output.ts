/** Options about the log. Its flags count together with `--config` too. */
import * as fields from '../fields.ts';
import { option } from '../option.ts';

const UNBUFFERED = 'lines are written to stderr at once';

/** klog's: the largest `int32`. */
const VERBOSITY_MAX = fields.INT32_MAX;

interface ModuleVerbosity {
  readonly filePattern: string;
  readonly verbosity: number;
}

/** `pattern=level,...` in a flag, a list of mappings in a file. */
function vmodule() {
  return fields.field<readonly ModuleVerbosity[]>({
    allowed: 'must be file patterns and levels, such as proxier=4,config*=6',
    inFile: 'mappings',
    read(input) {
      if (typeof input !== 'string') return Array.isArray(input) ? checked(input) : undefined;
      const pairs = input.split(',').filter((pair) => pair.trim() !== '');
      return checked(
        pairs.map((pair) => {
          const [filePattern = '', level = ''] = pair.split('=', 2).map((part) => part.trim());
          return { filePattern, verbosity: /^\d+$/.test(level) ? Number(level) : undefined };
        }),
      );
    },
  });
}

function checked(items: readonly unknown[]): ModuleVerbosity[] | undefined {
  const modules = items.filter((item): item is ModuleVerbosity => {
    const { filePattern, verbosity } = (item ?? {}) as Record<string, unknown>;
    return typeof filePattern === 'string' && filePattern !== '' && Number.isSafeInteger(verbosity);
  });
  return modules.length === items.length ? modules : undefined;
}

/** Options of one format's stream, as klog has them. */
function stream(format: 'text' | 'json') {
  return {
    split: option(fields.bool(), 'false', {
      flag: `log-${format}-split-stream`,
      field: `logging.options.${format}.splitStream`,
      group: 'Without effect',
      besideFile: true,
      text: `in ${format} format, write errors to stderr and the rest to stdout`,
      differs: 'the log is on stderr; stdout is for data',
    }),
    buffer: option(fields.bytes(), '0', {
      flag: `log-${format}-info-buffer-size`,
      value: '<bytes>',
      field: `logging.options.${format}.infoBufferSize`,
      group: 'Without effect',
      besideFile: true,
      text: `in ${format} format, buffer for what goes to stdout`,
      differs: UNBUFFERED,
    }),
  };
}

const textStream = stream('text');
const jsonStream = stream('json');

export const outputOptions = {
  verbosity: option(fields.decimalInteger(0, VERBOSITY_MAX), '0', {
    flag: 'v',
    short: 'v',
    value: '<level>',
    field: 'logging.verbosity',
    group: 'Output',
    besideFile: true,
    text: 'log verbosity: 0 to 3 for information, from 4 debugging, from 6 everything',
  }),
  loggingFormat: option(fields.oneOf(['', 'text', 'json']), '', {
    flag: 'logging-format',
    value: '<format>',
    field: 'logging.format',
    group: 'Output',
    besideFile: true,
    text: 'text or json (default: text on a terminal, else json)',
    differs: 'JSON by default where there is no terminal; text is not in the form of klog',
  }),
  vmodule: option(vmodule(), '', {
    flag: 'vmodule',
    value: '<pattern=level,...>',
    field: 'logging.vmodule',
    group: 'Without effect',
    besideFile: true,
    text: 'log verbosity by source file',
    differs: 'the source files are others',
  }),
  logFlushFrequency: option(fields.durationOrNanoseconds(), '5s', {
    flag: 'log-flush-frequency',
    value: '<duration>',
    field: 'logging.flushFrequency',
    group: 'Without effect',
    besideFile: true,
    text: 'how often the log is written out',
    differs: UNBUFFERED,
  }),
  logTextSplitStream: textStream.split,
  logTextInfoBufferSize: textStream.buffer,
  logJsonSplitStream: jsonStream.split,
  logJsonInfoBufferSize: jsonStream.buffer,
};
