import { Command } from 'commander';
import { expect, test } from 'vitest';
import { isOn } from '../start.ts';
import { configure, versionText } from './kube-proxy.ts';

/** kube-proxy's command with these arguments, not carried out. */
async function parsed(args: readonly string[]): Promise<Command> {
  const command = new Command('kube-proxy').exitOverride().configureOutput({ writeErr: () => undefined });
  configure(command);
  return command.action(() => undefined).parseAsync(args, { from: 'user' });
}

test.for<[unknown, string | undefined]>([
  [undefined, undefined],
  ['false', undefined],
  ['true', 'kube-rulesync v0.1.0 (kube-proxy 1.36 compatible)'],
  ['v1.36.1', undefined],
  ['v1.36.1-beta.0+abc', undefined],
])('--version=%s prints %s', ([given, expected]) => {
  expect(versionText(given)).toBe(expected);
});

test('--version=raw tells all of it as JSON', () => {
  expect(JSON.parse(versionText('raw') ?? '')).toEqual({
    program: 'kube-rulesync',
    version: 'v0.1.0',
    compatibleWith: 'kube-proxy 1.36',
    node: process.version,
    platform: `linux/${process.arch}`,
  });
});

test.for(['1.36', 'v1', 'yes', ''])('--version=%s is an error', (given) => {
  expect(() => versionText(given)).toThrow(
    `--version ${JSON.stringify(given)}: must be true, false, raw or a version such as v1.36.1`,
  );
});

test('flags that kube-proxy does not have are unknown', async () => {
  for (const flag of [
    '--manifests=x',
    '--dry-run',
    '--mode=ipvs',
    '--node-name=x',
    '--ipvs-parity',
    '--enable-dsr',
  ]) {
    await expect(parsed([flag])).rejects.toThrow(`error: unknown option '${flag}'`);
  }
});

test.for<[string[], boolean]>([
  [[], false],
  [['--cleanup'], true],
  [['--cleanup=true'], true],
  [['--cleanup=F'], false],
])('%o: cleanup is %s', async ([args, expected]) => {
  expect(isOn(await parsed(args), 'cleanup')).toBe(expected);
});

test.for<[string[], string]>([
  [['--cleanup', 'false'], 'false'],
  [['--masquerade-all', 'false'], 'false'],
  [['--version', 'v1.36.1'], 'v1.36.1'],
  [['--init-only', '-v', '2', 'true'], 'true'],
  [['--iptables-localhost-nodeports', '0'], '0'],
])('%o: a switch takes no word for its value', async ([args, word]) => {
  await expect(parsed(args)).rejects.toThrow(
    `error: too many arguments. Expected 0 arguments but got 1: ${word}.`,
  );
});

test('help shows a value behind = where it may be left out, and none for a switch', async () => {
  const help = (await parsed([])).helpInformation();
  expect(help).toContain('\n  --version[=true|false|raw|vX.Y.Z]\n');
  expect(help).toMatch(/\n {2}--cleanup {2,}remove the rules of all modes, and end\n/);
  expect(help).toMatch(/\n {2}--masquerade-all {2,}masquerade/);
});

test('a switch is on by its name alone, wherever it stands', async () => {
  const command = await parsed([
    '--masquerade-all',
    '--cleanup',
    '--cluster-cidr',
    '--init-only',
    '--version',
  ]);
  expect(command.opts()).toMatchObject({
    masqueradeAll: 'true',
    cleanup: 'true',
    // A flag that needs a value takes the next word, whatever that is.
    clusterCidr: '--init-only',
    version: 'true',
  });
});

test('a list of several flags is one, and each text in it is one', async () => {
  const command = await parsed(['--nodeport-addresses=192.0.2.0/24,', '--nodeport-addresses', '10.0.0.0/8']);
  expect(command.opts()).toMatchObject({ nodeportAddresses: ['192.0.2.0/24', '', '10.0.0.0/8'] });
  expect((await parsed(['--nodeport-addresses='])).opts()).toMatchObject({ nodeportAddresses: [] });
});

test('a switch that is neither on nor off is an error', async () => {
  const command = await parsed(['--init-only=perhaps']);
  expect(() => isOn(command, 'init-only')).toThrow('--init-only "perhaps": must be true or false');
});
