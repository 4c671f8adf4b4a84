/**
 * The main job on this machine alone: a node, pods and clients in network namespaces, Services from manifests,
 * real connections, and what became of them. Ends with 1 when something was not as it should be, 130 when it was
 * interrupted; cleans up in any case.
 *
 *     node demo/demo.ts [--mode nftables]
 */
import { parseArgs } from 'node:util';
import { MODES, type Mode } from '../backends/registry.ts';
import { networkSupported } from '../test/support/network/supported.ts';
import { cleanUp } from './curtain.ts';
import { dryRun } from './dry-run.ts';
import { Report } from './report.ts';
import { openStage, type Stage } from './stage.ts';
import { SCENES } from './tour.ts';

const INTERRUPTED = 130;

/** The exit code. */
async function main(): Promise<number> {
  const mode = readMode();
  const report = new Report();
  const startedAt = performance.now();
  report.title(`kube-rulesync demo: Services become ${mode} rules, and connections arrive`);
  const supported = networkSupported();
  if (supported.ok) {
    const interrupted = await withPackets(report, mode);
    if (interrupted) return INTERRUPTED;
  } else {
    await dryRun(report, mode, [supported.reason]);
  }
  const { checks, failed } = report;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  report.line();
  report.title(
    failed === 0
      ? `All ${checks} checks passed, in ${seconds} s.`
      : `${failed} of ${checks} checks failed, in ${seconds} s.`,
  );
  if (!supported.ok) report.line(`To see packets: as root, npm run demo (here: ${supported.reason}).`);
  return failed === 0 ? 0 : 1;
}

function readMode(): Mode {
  const { values } = parseArgs({ options: { mode: { type: 'string', default: MODES[0] } } });
  const mode = MODES.find((one) => one === values.mode);
  if (mode === undefined)
    throw new Error(`--mode ${JSON.stringify(values.mode)}: must be ${MODES.join(' or ')}`);
  return mode;
}

/** Whether it was interrupted. */
async function withPackets(report: Report, mode: Mode): Promise<boolean> {
  const { promise: interruption, resolve: interrupt } = Promise.withResolvers<void>();
  let interrupted = false;
  const onSignal = (): void => {
    interrupted = true;
    interrupt();
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.on(name, onSignal);
  // Whoever reads stdout may stop reading (`| head`).
  process.stdout.on('error', onSignal);
  let stage: Stage | undefined;
  try {
    stage = await report.during('building the network', openStage(mode));
    const missing = await unusable(stage);
    if (missing.length > 0) {
      await dryRun(report, mode, missing);
      return false;
    }
    for (const scene of SCENES) {
      if (!interrupted) await Promise.race([interruption, scene(report, stage, mode)]);
    }
    if (interrupted) {
      await stage.close();
      report.line();
      report.line('Interrupted; the namespaces and all that was in them are deleted.');
      return true;
    }
    await cleanUp(report, stage);
    return false;
  } finally {
    await stage?.close();
    for (const name of signals) process.off(name, onSignal);
  }
}

/** What the tools or the kernel lack for this mode. */
async function unusable(stage: Stage): Promise<string[]> {
  const probes = await Promise.all(stage.backends.map((backend) => backend.probe()));
  return [...new Set(probes.flatMap(({ missing }) => missing))];
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
