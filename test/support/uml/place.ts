/** A network namespace with a shell in it: the place of one test, made and removed without starting Node again. */
import type { CommandRunner } from '../../../src/node/runner.ts';
import { createShellRunner, type ShellRunner } from './shell-runner.ts';

export interface Place {
  readonly runner: CommandRunner;
  close(): Promise<void>;
}

let made = 0;

/** @param root a shell outside; namespaces are made and deleted through it */
export async function createPlace(root: ShellRunner): Promise<Place> {
  made += 1;
  const name = `krs-${process.pid}-place${made}`;
  await root.run({ argv: ['ip', 'netns', 'add', name] });
  // Entering by itself leaves the mounts alone, which `ip netns exec` makes anew.
  const runner = createShellRunner(['nsenter', `--net=/run/netns/${name}`, '--']);
  return {
    runner,
    async close() {
      await runner.close();
      await root.run({ argv: ['ip', 'netns', 'del', name] });
    },
  };
}
