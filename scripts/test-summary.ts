/** What a test run came to, counted from vitest's own results. */
import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';

export interface Summary {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** One line for each reason in each file. */
  readonly skips: readonly string[];
}

/** `3 passed, 1 failed`, with `, 2 skipped` when some were. */
export function summaryLine({ passed, failed, skipped }: Omit<Summary, 'skips'>): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/** Gathers the results of one run. */
export class SummaryReporter implements Reporter {
  #summary: Summary = { passed: 0, failed: 0, skipped: 0, skips: [] };

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    const skips = new Map<string, number>();
    let broken = unhandledErrors.length;
    for (const module of modules) {
      broken += brokenSuites(module);
      for (const test of module.children.allTests()) {
        count[test.result().state] += 1;
        if (test.result().state !== 'skipped') continue;
        const place = `${relative(process.cwd(), module.moduleId)}: ${skipReason(test)}`;
        skips.set(place, (skips.get(place) ?? 0) + 1);
      }
    }
    this.#summary = {
      passed: count.passed,
      // A test that was never ended has not passed.
      failed: count.failed + count.pending + broken,
      skipped: count.skipped,
      skips: [...skips].map(([place, tests]) => `skipped ${tests} of ${place}`),
    };
  }

  summary(): Summary {
    return this.#summary;
  }
}

/** Files that do not load, and suites whose hooks fail, hold tests that count as skipped: each is a failure. */
function brokenSuites(module: TestModule): number {
  const suites: (TestModule | TestSuite)[] = [module, ...module.children.allSuites()];
  return suites.filter((suite) => suite.errors().length > 0).length;
}

/** What the test said when it skipped itself, or the name under which it is skipped. */
function skipReason(test: TestCase): string {
  const result = test.result();
  if (result.state === 'skipped' && result.note) return result.note;
  let reason = test.name;
  for (let parent = test.parent; parent.type === 'suite'; parent = parent.parent) {
    if (parent.options.mode === 'skip') reason = parent.name;
  }
  return reason;
}
