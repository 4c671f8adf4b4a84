/** `kube-rulesync version` */
import { release } from 'node:os';
import { type Command, Option } from 'commander';
import { createRunner } from '../../node/runner.ts';
import { VERSION } from '../../version.ts';

const EXAMPLES = `
Examples:
  kube-rulesync version
  kube-rulesync version -o json
`;

export function configure(command: Command): void {
  command
    .description(
      'Prints the version of this program; as JSON, also of Node.js, the kernel and the tools it uses.',
    )
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .addHelpText('after', EXAMPLES)
    .action(async ({ output }: { output: string }) => {
      const text =
        output === 'json' ? JSON.stringify(await versions(), undefined, 2) : `kube-rulesync ${VERSION}`;
      process.stdout.write(`${text}\n`);
    });
}

const TOOLS = ['nft', 'iptables', 'ipset', 'ipvsadm', 'conntrack'];

/** A tool that is not there, or does not say, is null. */
async function versions(): Promise<Record<string, unknown>> {
  const tools = await Promise.all(TOOLS.map(async (tool) => [tool, await versionOf(tool)] as const));
  return {
    version: VERSION,
    node: process.version,
    kernel: release(),
    tools: Object.fromEntries(tools),
  };
}

async function versionOf(tool: string): Promise<string | null> {
  try {
    const { stdout, stderr } = await createRunner().run({ argv: [tool, '--version'], timeoutMs: 5000 });
    // `nftables v1.0.6 (Lester Gooch #5)`, `iptables v1.8.9 (nf_tables)`, `ipvsadm v1.31 2019/12/24 (…)`
    return /v(\d[\w.-]*( \((nf_tables|legacy)\))?)/.exec(stdout || stderr)?.[1] ?? null;
  } catch {
    return null;
  }
}
