/** IPVS mode as its overlay has it: `--init-only` with all rights, then two capabilities and a read-only /proc/sys. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRunner } from '../../src/node/runner.ts';
import { FEW_RIGHTS } from '../support/rights.ts';
import { loadScenario, scenarioObjects } from '../support/scenarios.ts';
import { UmlNode } from './node.ts';
import { buildProgram, PATIENCE_MS, Program, programArgv } from './switching.ts';
import { CLUSTER_IP, ENDPOINTS, WEB } from './switching-cluster.ts';

/** CAP_NET_ADMIN and CAP_NET_RAW, as capabilities(7) numbers them; iptables-legacy opens a raw socket. */
const BOTH = '0000000000003000';
const RIGHTS = FEW_RIGHTS.map((word) => word.replace(/\+net_admin$/, '+net_admin,+net_raw'));

let at: UmlNode;
let directory: string;
beforeEach(async () => {
  at = await UmlNode.create();
  directory = await mkdtemp(join(tmpdir(), 'krs-rights-'));
});
afterEach(async () => {
  await at.close();
  await rm(directory, { recursive: true });
});

it('IPVS mode runs with NET_ADMIN and NET_RAW alone, after --init-only', async () => {
  const main = await buildProgram(createRunner(), join(directory, 'program'));
  const manifests = join(directory, 'all.yaml');
  const objects = scenarioObjects({ ...loadScenario('clusterip'), objects: WEB });
  await writeFile(manifests, objects.map((one) => JSON.stringify(one)).join('\n---\n'));
  await at.runner.run({
    argv: [...programArgv(main, 'ipvs', manifests), '--init-only'],
    timeoutMs: 300_000,
  });

  const program = new Program(at, main, 'ipvs', manifests, RIGHTS);
  try {
    await program.inForce();
    const status = await readFile(`/proc/${program.pid}/status`, 'utf8');
    for (const set of ['CapPrm', 'CapEff', 'CapBnd']) expect(status).toContain(`${set}:\t${BOTH}`);
    const warnings = program.said.split('\n').filter((line) => /"level":"(warn|error)"/.test(line));
    expect(warnings).toEqual([expect.stringContaining('--nodeport-addresses is not set')]);
    expect(await at.servers('10.96.50.1:80 -r')).toHaveLength(ENDPOINTS.length);
    const tries = await at.net.agent('client1').tries({ ...CLUSTER_IP, deadlineMs: PATIENCE_MS });
    expect(tries).toEqual([expect.objectContaining({ ok: true })]);
  } finally {
    await program.end();
  }
  // The rules stay.
  const [after] = await at.net.agent('client1').tries({ ...CLUSTER_IP, deadlineMs: PATIENCE_MS });
  expect(after).toMatchObject({ ok: true });
});
