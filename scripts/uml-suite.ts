/**
 * Runs the IPVS suites (test/uml) in one user-mode Linux, with vitest's arguments passed on. The last line is
 * what it came to, as `npm test` has it. Ends with 1 when anything failed; where user-mode Linux cannot run, it
 * says why and ends with 0. With `--bench` it runs the measurements (test/uml/bench.ts) instead.
 */
import { join } from 'node:path';
import { installRequirements, umlUnsupported } from '../test/support/uml/requirements.ts';
import { runInUml, UmlError } from '../test/support/uml/uml.ts';

const root = join(import.meta.dirname, '..');

/** Ten times what it takes on an idle machine. */
const TIME_LIMIT_MS = 40 * 60_000;

async function main(args: readonly string[]): Promise<number> {
  installRequirements();
  const reason = umlUnsupported();
  if (reason !== undefined) {
    console.log(`skipped: the IPVS suites run in user-mode Linux, and ${reason}`);
    console.log('0 passed, 0 failed, 1 skipped');
    return 0;
  }
  try {
    const result = await runInUml({
      argv: args.includes('--bench')
        ? ['node', 'test/uml/bench.ts']
        : ['node', 'scripts/test.ts', '--config', 'test/uml/vitest.config.ts', ...args],
      cwd: root,
      env: { CI: 'true', NO_COLOR: '1' },
      timeoutMs: TIME_LIMIT_MS,
      onOutput: (text) => process.stdout.write(text),
    });
    if (result.exitCode !== 0)
      process.stderr.write(`kernel log, its end:\n${result.kernelLog.slice(-4000)}\n`);
    return result.exitCode;
  } catch (error) {
    if (!(error instanceof UmlError)) throw error;
    console.log(`user-mode Linux: ${error.message}`);
    console.log('0 passed, 1 failed');
    return 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
