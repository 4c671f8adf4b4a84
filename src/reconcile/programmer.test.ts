/** What the log tells of changes that are refused, and how they end. */
import pino from 'pino';
import { expect, it } from 'vitest';
import { buildNodePlan } from '../../test/support/build.ts';
import type { ObjectKey } from '../cluster/values.ts';
import { ToolError } from '../node/runner.ts';
import type { Backend, Change, Step } from './backend.ts';
import { Programmer } from './programmer.ts';

const KEYS = ['default/a', 'default/b', 'default/c', 'default/d', 'default/e', 'default/f'];

function changeOf(keys: readonly ObjectKey[], full = false): Change {
  return { node: buildNodePlan(), services: new Map(keys.map((key) => [key, []])), full };
}

function toolError(stderr: string): ToolError {
  return new ToolError(['nft', '-f', '-'], 'exit', 1, stderr);
}

/** One that writes nothing, and whose `apply` and `check` may throw. */
function setUp() {
  const lines: unknown[] = [];
  const log = pino(
    {
      base: null,
      timestamp: false,
      formatters: { level: (level) => ({ level }) },
      serializers: { err: String },
    },
    { write: (line) => lines.push(JSON.parse(line)) },
  );
  const refusing: { apply: () => void; check: (step: Step) => void } = {
    apply: () => undefined,
    check: () => undefined,
  };
  const stepOf = (change: Change): Step => ({
    argv: ['nft', '-f', '-'],
    stdin: ['x'],
    services: [...change.services.keys()],
    serviceOfLine: (line) => [...change.services.keys()][line - 1],
  });
  const backend: Backend = {
    mode: 'nftables',
    family: 'IPv4',
    probe: async () => ({ usable: true, versions: {}, missing: [] }),
    observe: async () => undefined,
    audit: async () => [],
    diff: (change) => ({ steps: [stepOf(change)], commit: () => undefined }),
    collect: () => ({ steps: [], commit: () => undefined }),
    check: async (step) => refusing.check(step),
    apply: async () => refusing.apply(),
    cleanup: async () => [],
  };
  const programmer = new Programmer(backend, log, () => undefined);
  const program = (keys: readonly ObjectKey[]) =>
    programmer.program(changeOf(keys), false, () => changeOf(KEYS).services);
  return { lines, refusing, program };
}

/** Throws so many times, and then no more. */
function times(count: number, error: Error): () => void {
  let left = count;
  return () => {
    if (left === 0) return;
    left -= 1;
    throw error;
  };
}

const REFUSED = 'A change was refused; reading the kernel and trying again';

it('says nothing of what goes through at once', async () => {
  const { lines, program } = setUp();
  await program(['default/a']);
  expect(lines).toEqual([]);
});

it('names the few Services of a change that is refused, and says when it was written', async () => {
  const { lines, refusing, program } = setUp();
  refusing.apply = times(1, toolError('Error: busy'));
  await program(['default/a', 'default/b']);
  await program(['default/c']);
  const objects = ['Service default/a', 'Service default/b'];
  expect(lines).toEqual([
    {
      level: 'warn',
      family: 'IPv4',
      count: 2,
      objects,
      err: expect.stringContaining('Error: busy') as string,
      msg: REFUSED,
    },
    { level: 'warn', family: 'IPv4', count: 2, objects, attempts: 2, msg: 'Written at the second attempt' },
  ]);
});

it('counts the Services when they are many', async () => {
  const { lines, refusing, program } = setUp();
  refusing.apply = times(1, toolError('Error: busy'));
  await program(KEYS);
  expect(lines).toEqual([
    { level: 'warn', family: 'IPv4', count: 6, err: expect.any(String) as string, msg: REFUSED },
    { level: 'warn', family: 'IPv4', count: 6, attempts: 2, msg: 'Written at the second attempt' },
  ]);
});

it('says at which attempt it was written when a whole sync had failed, or several', async () => {
  const { lines, refusing, program } = setUp();
  refusing.apply = times(4, toolError('Error: busy'));
  await expect(program(['default/a'])).rejects.toThrow('busy');
  await expect(program(['default/a'])).rejects.toThrow('busy');
  await program(['default/a']);
  expect(lines.at(-1)).toEqual({
    level: 'warn',
    family: 'IPv4',
    count: 1,
    objects: ['Service default/a'],
    attempts: 5,
    msg: 'Written at attempt 5',
  });
  expect(lines).toHaveLength(3);
});

it('says so too of a tool that was missing', async () => {
  const { lines, refusing, program } = setUp();
  refusing.apply = times(1, new ToolError(['nft'], 'missing', undefined, ''));
  await expect(program(['default/a'])).rejects.toThrow('nft');
  await program(['default/a']);
  expect(lines).toMatchObject([{ attempts: 2, msg: 'Written at the second attempt' }]);
});

it('says how many Services the rest was written without', async () => {
  const { lines, refusing, program } = setUp();
  refusing.apply = times(1, toolError('Error: no'));
  refusing.check = (step) => {
    if (step.services.includes('default/b')) throw toolError('Error: no');
  };
  await program(['default/a', 'default/b']);
  expect(lines).toMatchObject([
    { level: 'warn', msg: REFUSED },
    { level: 'error', service: 'default/b', msg: 'A Service was refused and is set aside' },
    { level: 'warn', attempts: 2, setAside: 1, msg: 'Written at the second attempt' },
  ]);
});
