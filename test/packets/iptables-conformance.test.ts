import { describe } from 'vitest';
import { describeConformance } from '../../backends/conformance.ts';
import { createIptablesBackend } from '../../backends/iptables/backend.ts';
import { toolFamily } from '../../backends/iptables/names.ts';
import { parseSave } from '../../backends/iptables/save.ts';
import type { CommandRunner } from '../../src/node/runner.ts';
import { iptablesSupported, SUFFIX } from '../support/iptables.ts';
import { createNamespace } from '../support/namespace.ts';

describe.each(['nf_tables', 'legacy'] as const)('iptables, variant %s', (variant) => {
  const supported = iptablesSupported(variant);
  const tool = (family: 'IPv4' | 'IPv6', part = '') => `${toolFamily(family)}${SUFFIX[variant]}${part}`;

  /** What kubelet makes too, or alone, and what is never taken away. */
  const isKubelets = (chain: string): boolean => /KUBE-(FIREWALL|IPTABLES-HINT)$/.test(chain);

  /** Our chains and whatever rules stand in others. */
  async function snapshot(family: 'IPv4' | 'IPv6', runner: CommandRunner): Promise<string> {
    const { stdout } = await runner.run({ argv: [tool(family, '-save')] });
    return [...parseSave(stdout)]
      .filter(([chain]) => !isKubelets(chain))
      .map(([chain, rules]) => [chain, rules.filter((rule) => !rule.endsWith('-j KUBE-FIREWALL'))] as const)
      .filter(([chain, rules]) => chain.includes(' KUBE-') || rules.length > 0)
      .map(([chain, rules]) => [chain, ...rules].join('\n'))
      .sort()
      .join('\n');
  }

  describe.skipIf(!supported.ok)(supported.ok ? 'here' : `skipped: ${supported.reason}`, () => {
    describeConformance({
      name: `iptables (${variant})`,
      createBackend: (family, runner) => createIptablesBackend({ family, runner, variant }),
      createPlace: createNamespace,
      snapshot,
      foreign: {
        async add(runner) {
          await runner.run({ argv: [tool('IPv4'), '-t', 'mangle', '-N', 'KUBE-IPTABLES-HINT'] });
          await runner.run({ argv: [tool('IPv4'), '-t', 'nat', '-N', 'SOMEBODY-ELSE'] });
        },
        async isThere(runner) {
          const { stdout } = await runner.run({ argv: [tool('IPv4', '-save')] });
          return stdout.includes(':KUBE-IPTABLES-HINT ') && stdout.includes(':SOMEBODY-ELSE ');
        },
      },
      async damage(family, runner) {
        await runner.run({ argv: [tool(family), '-t', 'nat', '-F', 'KUBE-SERVICES'] });
      },
    });
  });
});
