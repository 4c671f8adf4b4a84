/**
 * The servers of the daemon in a process of their own, for tests that look at what it takes. Prints where they listen,
 * as JSON, and serves until its standard input ends.
 */
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { createRunner } from '../../src/node/runner.ts';
import type { HealthState } from '../../src/serve/health-tracker.ts';
import { createHealthzServer } from '../../src/serve/healthz.ts';
import { Listener } from '../../src/serve/http.ts';

const log = pino({ level: 'silent' });
const where = { host: '127.0.0.1', port: 0, log };
const state: HealthState = {
  families: { IPv4: { lastUpdated: Date.now(), oldestPending: 0 } },
  nodeEligible: true,
  syncPeriod: 30_000,
};
const runner = createRunner();

const healthz = createHealthzServer({ ...where, state: () => state });
/** Starts a process for each request, as syncs do. */
const tools = new Listener({
  ...where,
  name: 'tools',
  async answer() {
    const { stdout } = await runner.run({ argv: ['cat'], stdin: ['it runs'] });
    return { status: 200, headers: {}, body: stdout };
  },
});
await healthz.start();
await tools.start();
process.stdout.write(
  `${JSON.stringify({ healthz: healthz.address?.port, tools: tools.address?.port, pid: process.pid })}\n`,
);
await text(process.stdin);
await Promise.all([healthz.close(), tools.close()]);
