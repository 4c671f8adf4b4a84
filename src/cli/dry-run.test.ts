import { expect, test } from 'vitest';
import type { Backend, Step } from '../reconcile/backend.ts';
import { printingBackend } from './dry-run.ts';

test('prints what tools would read or be called with, and calls nothing that reads or writes the kernel', async () => {
  const kernel: string[] = [];
  const touch = (name: string) => () => {
    kernel.push(name);
    return Promise.resolve([] as never);
  };
  const diff = { steps: [], commit: () => undefined };
  const real: Backend = {
    mode: 'nftables',
    family: 'IPv6',
    probe: async () => ({ usable: true, versions: {}, missing: [] }),
    observe: touch('observe'),
    audit: touch('audit'),
    diff: () => diff,
    collect: () => diff,
    check: touch('check'),
    apply: touch('apply'),
    cleanup: touch('cleanup'),
  };
  const printed: string[] = [];
  const backend = printingBackend(real, (text) => printed.push(text));
  const step = (argv: Step['argv'], stdin: string[]): Step => ({
    argv,
    stdin,
    services: [],
    serviceOfLine: () => undefined,
  });

  await backend.observe();
  await backend.apply(step(['nft', '-f', '-'], ['add table ip6 x\n', 'add chain ip6 x y\n']));
  await backend.apply(step(['ip', 'link', 'add', 'kube-ipvs0', 'type', 'dummy'], []));
  await backend.check(step(['nft', '-c', '-f', '-'], ['add']));
  expect(await backend.audit()).toEqual([]);
  expect(await backend.cleanup()).toEqual([]);
  expect(printed.join('')).toBe('add table ip6 x\nadd chain ip6 x y\nip link add kube-ipvs0 type dummy\n');
  expect([backend.mode, backend.family]).toEqual(['nftables', 'IPv6']);
  expect(kernel).toEqual([]);
});
