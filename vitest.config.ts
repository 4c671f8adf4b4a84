import { defineConfig } from 'vitest/config';

// Two projects: `unit` needs nothing but Node; `packets` makes network namespaces, needs root and the
// kernel tools, and runs its files one after another because they share the machine's CPU and conntrack.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'backends/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['test/packets/**', 'node_modules/**'],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'packets',
          include: ['test/packets/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
