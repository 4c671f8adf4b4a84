import { expect, test } from 'vitest';
import type { Backend, Step } from '../reconcile/backend.ts';
import { printingBackend } from './dry-run.ts';

function stepOf(argv: Step['argv'], stdin: string[]): Step {
  return { argv, stdin, services: [], serviceOfLine: () => undefined };
}

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
  await backend.observe();
  await backend.apply(stepOf(['nft', '-f', '-'], ['add table ip6 x\n', 'add chain ip6 x y\n']));
  await backend.apply(stepOf(['ip', 'link', 'add', 'kube-ipvs0', 'type', 'dummy'], []));
  await backend.check(stepOf(['nft', '-c', '-f', '-'], ['add']));
  expect(await backend.audit()).toEqual([]);
  expect(await backend.cleanup()).toEqual([]);
  expect(printed.join('')).toBe('add table ip6 x\nadd chain ip6 x y\nip link add kube-ipvs0 type dummy\n');
  expect([backend.mode, backend.family]).toEqual(['nftables', 'IPv6']);
  expect(kernel).toEqual([]);
});

test('says which tool would read each input, where there are several', async () => {
  const nothing = { steps: [], commit: () => undefined };
  const printed: string[] = [];
  const backend = printingBackend(
    {
      mode: 'ipvs',
      family: 'IPv4',
      probe: async () => ({ usable: true, versions: {}, missing: [] }),
      observe: async () => undefined,
      audit: async () => [],
      diff: () => nothing,
      collect: () => nothing,
      check: async () => undefined,
      apply: async () => undefined,
      cleanup: async () => [],
    },
    (text) => printed.push(text),
  );
  await backend.apply(stepOf(['ip', 'link', 'add', 'kube-ipvs0', 'type', 'dummy'], []));
  await backend.apply(stepOf(['ipvsadm', '-R'], ['-A -t 10.96.0.1:443 -s rr\n']));
  expect(printed.join('')).toBe(
    'ip link add kube-ipvs0 type dummy\n# ipvsadm -R\n-A -t 10.96.0.1:443 -s rr\n',
  );
});
