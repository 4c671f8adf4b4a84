import { afterAll } from 'vitest';
import { describeConformance } from '../../backends/conformance.ts';
import { createIpvsBackend } from '../../backends/ipvs/backend.ts';
import type { IpFamily } from '../../src/cluster/values.ts';
import type { CommandRunner } from '../../src/node/runner.ts';
import { createPlace } from '../support/uml/place.ts';
import { createShellRunner } from '../support/uml/shell-runner.ts';
import { takeDump } from './dump.ts';

const root = createShellRunner();
afterAll(() => root.close());

/** Lines sorted, as the kernel lists hashes in any order; real servers that drain are history. */
async function snapshot(family: IpFamily, runner: CommandRunner): Promise<string> {
  const dump = await takeDump(runner);
  const rules = family === 'IPv4' ? dump.iptablesSave : dump.ip6tablesSave;
  return [dump.ipvsadm, dump.ipsetSave, rules, dump.ipAddr]
    .flatMap((text) => text.split('\n'))
    .map((line) =>
      line
        .replace(/ initval \w+$/, '')
        .replace(/ \[\d+:\d+\]$/, '')
        .replace(/^\d+: /, ''),
    )
    .filter((line) => !/^$|^#|^\*|^COMMIT|^:[A-Z]+ |foreign|192\.0\.2\.1:| -w 0$/.test(line))
    .sort()
    .join('\n');
}

describeConformance({
  name: 'ipvs',
  createBackend: (family, runner) => createIpvsBackend({ family, runner, variant: 'legacy' }),
  createPlace: () => createPlace(root),
  snapshot,
  foreign: {
    async add(runner) {
      const servers = ['-A -t 192.0.2.1:80 -s wlc\n', '-a -t 192.0.2.1:80 -r 192.0.2.2:80 -g -w 3\n'];
      // Until an address is up, the kernel takes none for a real server's.
      await runner.run({ argv: ['ip', 'link', 'set', 'lo', 'up'] });
      await runner.run({ argv: ['ipvsadm', '-R'], stdin: servers });
      await runner.run({ argv: ['ipset', 'create', 'foreign', 'hash:ip'] });
    },
    async isThere(runner) {
      const { ipvsadm, ipsetSave } = await takeDump(runner);
      return (
        ipvsadm.includes('-a -t 192.0.2.1:80 -r 192.0.2.2:80 -g -w 3') && ipsetSave.includes('create foreign')
      );
    },
  },
  async damage(family, runner) {
    const tool = family === 'IPv4' ? 'iptables' : 'ip6tables';
    const { ipvsadm } = await takeDump(runner);
    const [victim = ''] = /(?<=^-A )\S+ \S+/m.exec(ipvsadm) ?? [];
    await runner.run({ argv: ['ipvsadm', '-R'], stdin: [`-D ${victim}\n`] });
    await runner.run({ argv: [tool, '-t', 'nat', '-F', 'KUBE-SERVICES'] });
  },
});
