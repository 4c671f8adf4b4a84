import { describe } from 'vitest';
import { describeConformance } from '../../backends/conformance.ts';
import { createNftablesBackend } from '../../backends/nftables/backend.ts';
import { nftFamily } from '../../backends/nftables/dialect.ts';
import type { CommandRunner } from '../../src/node/runner.ts';
import { createNamespace } from '../support/namespace.ts';
import { nftablesSupported } from '../support/network/supported.ts';

const supported = nftablesSupported();

/** The table as nft lists it, in an order that does not tell when an object was made. */
async function snapshot(family: 'IPv4' | 'IPv6', runner: CommandRunner): Promise<string> {
  const { stdout } = await runner.run({ argv: ['nft', 'list', 'ruleset', nftFamily(family)] });
  const blocks = stdout
    .replace(/\n\}\n/g, '\n')
    .split(/\n\t(?=set|map|chain)/)
    .map((block) => {
      const [head, elements, tail] = block.split(/elements = \{([^}]*)\}/);
      if (elements === undefined) return block.trimEnd();
      return [
        head,
        ...elements
          .split(',')
          .map((one) => one.trim())
          .sort(),
        tail?.trimEnd(),
      ].join('\n');
    });
  return blocks.sort().join('\n');
}

describe.skipIf(!supported.ok)(supported.ok ? 'nftables' : `nftables (skipped: ${supported.reason})`, () => {
  describeConformance({
    name: 'nftables',
    createBackend: (family, runner) => createNftablesBackend({ family, runner }),
    createPlace: createNamespace,
    snapshot,
    foreign: {
      async add(runner) {
        await runner.run({ argv: ['nft', 'add table inet somebody-else'] });
      },
      async isThere(runner) {
        const { stdout } = await runner.run({ argv: ['nft', 'list', 'tables'] });
        return stdout.includes('table inet somebody-else');
      },
    },
    async damage(family, runner) {
      await runner.run({ argv: ['nft', `flush chain ${nftFamily(family)} kube-proxy services`] });
    },
  });
});
