import { describe, expect, it } from 'vitest';
import { findIptables, IptablesLookup, IptablesNotFoundError, versionAtLeast } from './iptables-variant.ts';
import { type CommandRunner, ToolError } from './runner.ts';

/** Answers what is written for a command line; every other program is missing. */
function runner(answers: Readonly<Record<string, string>>): CommandRunner & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    async run({ argv }) {
      const line = argv.join(' ');
      asked.push(line);
      const stdout = answers[line];
      if (stdout === undefined) throw new ToolError(argv, 'missing', undefined, '');
      return { stdout, stderr: '' };
    },
  };
}

const BOTH = {
  'iptables-nft --version': 'iptables v1.8.9 (nf_tables)\n',
  'iptables-legacy --version': 'iptables v1.8.9 (legacy)\n',
  'iptables --version': 'iptables v1.8.9 (nf_tables)\n',
};
const HINT = '*mangle\n:PREROUTING ACCEPT [0:0]\n:KUBE-IPTABLES-HINT - [0:0]\nCOMMIT\n';
const CANARY = '*mangle\n:KUBE-KUBELET-CANARY - [0:0]\nCOMMIT\n';
const rules = (count: number): string =>
  `*filter\n:INPUT ACCEPT [0:0]\n${'-A INPUT -j ACCEPT\n'.repeat(count)}COMMIT\n`;

describe('findIptables', () => {
  it.each([
    [
      "kubelet's hint in nf_tables",
      { 'iptables-nft-save -t mangle': HINT, 'iptables-legacy-save': rules(9) },
      'nf_tables',
    ],
    [
      "kubelet's canary, IPv6 only",
      { 'ip6tables-nft-save -t mangle': CANARY, 'iptables-legacy-save': rules(9) },
      'nf_tables',
    ],
    ["kubelet's hint in legacy", { 'iptables-legacy-save': HINT, 'iptables-nft-save': rules(9) }, 'legacy'],
    ['more rules in legacy', { 'ip6tables-legacy-save': rules(3), 'iptables-nft-save': rules(2) }, 'legacy'],
    [
      'as many rules in both',
      { 'iptables-legacy-save': rules(2), 'iptables-nft-save': rules(2) },
      'nf_tables',
    ],
    ['no rules at all', {}, 'nf_tables'],
  ])('chooses by %s', async (_, saved, variant) => {
    const tools = await findIptables(runner({ ...BOTH, ...saved }));
    expect(tools).toMatchObject({
      variant,
      version: '1.8.9',
      suffix: variant === 'legacy' ? '-legacy' : '-nft',
    });
  });

  it('takes the only one there is without asking for rules', async () => {
    const only = runner({ 'iptables --version': 'iptables v1.8.7 (legacy)\n' });
    expect(await findIptables(only)).toEqual({
      variant: 'legacy',
      version: '1.8.7',
      suffix: '',
      reason: 'no other variant is installed',
    });
    expect(only.asked).toHaveLength(3);
  });

  it('takes an iptables from before the variants as legacy', async () => {
    const old = runner({ 'iptables --version': 'iptables v1.6.1\n' });
    expect(await findIptables(old)).toMatchObject({ variant: 'legacy', version: '1.6.1' });
  });

  it('uses plain names for a variant that has no explicit ones', async () => {
    const mixed = runner({
      'iptables --version': 'iptables v1.8.11 (nf_tables)\n',
      'iptables-legacy --version': 'iptables v1.8.11 (legacy)\n',
    });
    expect(await findIptables(mixed)).toMatchObject({ variant: 'nf_tables', suffix: '' });
  });

  it('names no table to the legacy tool, which would create it', async () => {
    const both = runner(BOTH);
    await findIptables(both);
    expect(both.asked.filter((line) => line.includes('legacy-save'))).toEqual([
      'iptables-legacy-save',
      'ip6tables-legacy-save',
    ]);
  });

  it('obeys a forced variant, and says when it is not there', async () => {
    const hinted = runner({ ...BOTH, 'iptables-nft-save -t mangle': HINT });
    expect(await findIptables(hinted, 'legacy')).toMatchObject({
      variant: 'legacy',
      reason: 'it was asked for',
    });
    const onlyNft = runner({ 'iptables-nft --version': 'iptables v1.8.9 (nf_tables)\n' });
    await expect(findIptables(onlyNft, 'legacy')).rejects.toThrow(
      'There is no iptables of the variant legacy here; install it, or leave --iptables-variant out to use nf_tables.',
    );
  });

  it('says what to install when there is none', async () => {
    await expect(findIptables(runner({}))).rejects.toThrow(IptablesNotFoundError);
    await expect(findIptables(runner({}))).rejects.toThrow('install the package iptables');
  });
});

it.each([
  ['1.8.9', '1.6.2', true],
  ['1.6.2', '1.6.2', true],
  ['1.10', '1.8.9', true],
  ['1.6.1', '1.6.2', false],
  ['1.6', '1.6.2', false],
] as const)('orders versions: %s is at least %s: %s', (version, least, expected) => {
  expect(versionAtLeast(version, least)).toBe(expected);
});

describe('IptablesLookup', () => {
  it('looks once for all who ask, and again when it found none', async () => {
    const there = runner({ ...BOTH, 'iptables-nft-save -t mangle': ':KUBE-KUBELET-CANARY - [0:0]\n' });
    const lookup = new IptablesLookup(there);
    const [one, other] = await Promise.all([lookup.find(), lookup.find()]);
    expect(other).toBe(one);

    const answers: Record<string, string> = {};
    const late = new IptablesLookup(runner(answers));
    await expect(late.find()).rejects.toThrow(IptablesNotFoundError);
    Object.assign(answers, BOTH);
    expect(await late.find()).toMatchObject({ variant: 'nf_tables' });
  });
});
