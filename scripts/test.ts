/**
 * What `npm test` runs: vitest with the arguments given, and then, as the last line, what it came to.
 * Ends with 1 when anything failed or nothing ran.
 */
import { parseCLI, startVitest } from 'vitest/node';
import { SummaryReporter, summaryLine } from './test-summary.ts';

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)]);
const reporter = new SummaryReporter();
const vitest = await startVitest('test', filter, {
  ...options,
  watch: false,
  reporters: ['default', reporter],
});
await vitest.close();

let { passed, failed, skipped, skips } = reporter.summary();
// What a name filter leaves out was meant to be.
if (!options.testNamePattern) for (const line of skips) console.log(line);
// Vitest also fails for what is no test's fault, such as a filter that matches no file.
if (failed === 0 && passed + skipped > 0 && process.exitCode) {
  console.log(`vitest ended with ${process.exitCode} although no test failed`);
  failed = 1;
}
if (passed + failed === 0) console.log('no test ran');
console.log(summaryLine({ passed, failed, skipped }));
process.exit(failed > 0 || passed === 0 ? 1 : 0);
