/** The end of the demo: what it made goes again, and what stays is looked for. */
import type { CommandRunner } from '../src/node/runner.ts';
import { createRunner } from '../src/node/runner.ts';
import { listNamespaces } from '../test/support/network/namespaces.ts';
import { HOSTS } from '../test/support/network/topology.ts';
import type { Report } from './report.ts';
import type { Stage } from './stage.ts';

export async function cleanUp(report: Report, stage: Stage): Promise<void> {
  report.heading('Clean-up');
  await stage.stop();
  const { backends } = stage;
  const gone = (await Promise.all(backends.map((backend) => backend.audit()))).flat();
  report.verdict(
    'kube-rulesync is stopped: its rules stay, so that traffic goes on during a restart',
    gone.map((object) => `${object} is gone`),
  );
  const leftovers = (await Promise.all(backends.map((backend) => backend.cleanup()))).flat();
  report.verdict('asked to, it removes all it made', [
    ...leftovers.map(({ object, reason }) => `${object} is left: ${reason}`),
    ...(await tables(stage.net.runner('node1'))).map((table) => `${table} is left`),
  ]);
  const ours = HOSTS.map((host) => stage.net.namespace(host));
  await report.during('deleting the namespaces', stage.close());
  const there = (await listNamespaces(createRunner())).filter((name) => ours.includes(name));
  report.verdict(
    `the ${ours.length} namespaces are deleted, and with them every address, route and process of the demo`,
    there.map((name) => `${name} is left`),
  );
}

/** The nft tables named kube-proxy: none where there is no nft. */
async function tables(runner: CommandRunner): Promise<string[]> {
  try {
    const { stdout } = await runner.run({ argv: ['nft', 'list', 'tables'] });
    return stdout.split('\n').filter((line) => line.endsWith(' kube-proxy'));
  } catch {
    return [];
  }
}
