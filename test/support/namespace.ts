/** One empty network namespace, for tests that look at rules and send no packets. */
import { randomBytes } from 'node:crypto';
import { type CommandRunner, createRunner } from '../../src/node/runner.ts';
import { deleteLater, deleteNamespaces } from './network/namespaces.ts';

export interface LoneNamespace {
  readonly name: string;
  /** Runs commands in it. */
  readonly runner: CommandRunner;
  close(): Promise<void>;
}

/** Needs root, see `networkSupported`. Rejects with a `ToolError`. */
export async function createNamespace(): Promise<LoneNamespace> {
  const root = createRunner();
  const name = `krs-${process.pid}-${randomBytes(4).toString('hex')}`;
  await root.run({ argv: ['ip', 'netns', 'add', name] });
  const forget = deleteLater([name]);
  return {
    name,
    runner: createRunner({ prefix: ['ip', 'netns', 'exec', name] }),
    async close() {
      await deleteNamespaces(root, [name]);
      forget();
    },
  };
}
