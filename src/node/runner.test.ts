import { expect, it } from 'vitest';
import { createRunner, ToolError } from './runner.ts';

const NODE = process.execPath;

it('hands standard output over as it comes, and keeps none of it', async () => {
  const pieces: string[] = [];
  const script = "process.stdout.write('a\\n'.repeat(100_000)); process.stderr.write('said\\n')";
  const result = await createRunner().run({
    argv: [NODE, '-e', script],
    onStdout: (piece) => pieces.push(piece),
  });
  expect(result).toEqual({ stdout: '', stderr: 'said\n' });
  expect(pieces.length).toBeGreaterThan(1);
  expect(pieces.join('')).toBe('a\n'.repeat(100_000));
});

it('keeps standard output where nobody takes it', async () => {
  const result = await createRunner().run({ argv: [NODE, '-e', "console.log('out')"] });
  expect(result).toEqual({ stdout: 'out\n', stderr: '' });
});

it.for([
  { what: 'that is not there', argv: ['no-such-tool-anywhere'], reason: 'missing', exitCode: undefined },
  // As a file without the right to be executed.
  { what: 'that cannot be started', argv: ['/dev/null'], reason: 'unstartable', exitCode: undefined },
  {
    what: 'that fails',
    argv: [NODE, '-e', "console.log('out'); process.exit(3)"],
    reason: 'exit',
    exitCode: 3,
  },
] as const)(
  'rejects for a tool $what, also when its output is handed over',
  async ({ argv, reason, exitCode }) => {
    const run = createRunner().run({
      argv: argv as unknown as [string, ...string[]],
      onStdout: () => undefined,
    });
    await expect(run).rejects.toBeInstanceOf(ToolError);
    await expect(run).rejects.toMatchObject({ reason, exitCode });
  },
);
