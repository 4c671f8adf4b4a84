import { Command } from 'commander';
import { expect, test } from 'vitest';
import { flagTexts } from './flag-texts.ts';
import { addFlags, switchOption } from './flags.ts';

function parsed(...args: string[]): Readonly<Record<string, string>> {
  const command = new Command().addOption(switchOption('init-only', 'prepares', 'Starting'));
  addFlags(command, ['Node', 'Rules']);
  command.parse(args, { from: 'user' });
  return flagTexts(command);
}

test('what was given, and the defaults of the rest', () => {
  const texts = parsed(
    '--masquerade-all',
    '--cluster-cidr=10.244.0.0/16',
    '--nodeport-addresses=192.0.2.0/24',
    '--nodeport-addresses=198.51.100.0/24',
  );
  expect(texts).toMatchObject({
    'masquerade-all': 'true',
    'cluster-cidr': '10.244.0.0/16',
    'nodeport-addresses': '[192.0.2.0/24,198.51.100.0/24]',
    'iptables-masquerade-bit': '14',
    'hostname-override': '',
    'init-only': 'false',
  });
  expect(parsed('--init-only', '--masquerade-all=false')).toMatchObject({
    'init-only': 'true',
    'masquerade-all': 'false',
    'cluster-cidr': '',
  });
});
