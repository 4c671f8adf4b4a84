import { expect, test } from 'vitest';
import { ToolError } from '../../src/node/runner.ts';
import { missingFrom } from './probe.ts';

test.each([
  ['missing', '', 'The program nft is not installed; install the package nftables (1.0.1 or newer).'],
  [
    'unstartable',
    'spawn nft EACCES',
    'The program nft is here and cannot be run; install the package nftables again: nft --version: could not be started: spawn nft EACCES',
  ],
  ['exit', 'Operation not permitted', 'nft may not change rules here; run as root, or with CAP_NET_ADMIN.'],
] as const)('%s: says what is missing and what to do', (reason, stderr, sentence) => {
  expect(missingFrom(new ToolError(['nft', '--version'], reason, undefined, stderr))).toBe(sentence);
});
