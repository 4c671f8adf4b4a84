import { defineConfig } from 'vitest/config';

// What runs inside user-mode Linux (scripts/uml-suite.ts boots it): one processor and slow system calls, so one
// thread, one file after another, and generous deadlines.
// biome-ignore lint/style/noDefaultExport: that is where vitest looks for it
export default defineConfig({
  test: {
    name: 'uml',
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/uml/**/*.uml.ts'],
    pool: 'threads',
    maxWorkers: 1,
    isolate: false,
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 300_000,
  },
});
