/** The commands of the program. Each one's own code, and its flags, are loaded when it is called. */
import { basename } from 'node:path';
import { Command, CommanderError, type OutputConfiguration } from 'commander';
import { VERSION } from '../version.ts';
import { errorText, FAILED, OK, toleratePipes } from './exit.ts';
import { normalizeArguments } from './normalize.ts';
import { textWithoutUserinfo } from './userinfo.ts';

interface CommandModule {
  /** Gives the command its flags, examples and action. */
  configure(command: Command): void;
}

interface CommandSpec {
  readonly summary: string;
  readonly load: () => Promise<CommandModule>;
}

const COMMANDS: Readonly<Record<string, CommandSpec>> = {
  run: {
    summary: 'program this node, and keep it up to date',
    load: () => import('./commands/run.ts'),
  },
  dump: {
    summary: 'print the rules for a node, and change nothing',
    load: () => import('./commands/dump.ts'),
  },
  cleanup: {
    summary: 'remove the rules of every mode',
    load: () => import('./commands/cleanup.ts'),
  },
  'kube-proxy': {
    summary: "the same as run, with kube-proxy's flags and defaults",
    load: () => import('./commands/kube-proxy.ts'),
  },
  version: {
    summary: 'print the version of this program and of the tools it uses',
    load: () => import('./commands/version.ts'),
  },
};

const EXAMPLES = `
Examples:
  kube-rulesync run --kubeconfig /etc/kube-rulesync/kubeconfig --cluster-cidr 10.244.0.0/16
  kube-rulesync dump --manifests ./manifests --node-name worker-1
  kube-rulesync run --help
`;

/** What is wrong with a command line is told in its own words, which may have a password in them. */
const OUTPUT: OutputConfiguration = { outputError: (text, write) => write(textWithoutUserinfo(text)) };

/** Under this name the program is a command of its own, which takes kube-proxy's flags. */
const KUBE_PROXY = 'kube-proxy';

/**
 * Runs the program on its arguments (without node and script). Resolves with the exit code; never rejects.
 * @param name what the program was called as
 */
export async function main(
  argv: readonly string[],
  name: string = basename(process.argv[1] ?? ''),
): Promise<number> {
  toleratePipes();
  const asKubeProxy = name === KUBE_PROXY;
  const program = asKubeProxy ? await createKubeProxy() : createProgram();
  try {
    const commands = asKubeProxy ? [] : Object.keys(COMMANDS);
    await program.parseAsync(normalizeArguments(argv, commands), { from: 'user' });
    return OK;
  } catch (error) {
    process.stderr.write(errorText(error, wantsStacks(program)));
    return error instanceof CommanderError ? error.exitCode : FAILED;
  }
}

function createProgram(): Command {
  const program = new Command('kube-rulesync')
    .description(
      "Does kube-proxy's job: watches Services and EndpointSlices and programs this node's kernel.",
    )
    .version(`kube-rulesync ${VERSION}`, '--version', 'print the version of this program')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', EXAMPLES)
    .configureHelp({ showGlobalOptions: false })
    // `kube-proxy --version` is that command's own.
    .enablePositionalOptions()
    .configureOutput(OUTPUT)
    .exitOverride();
  for (const [name, spec] of Object.entries(COMMANDS)) {
    program.command(name).summary(spec.summary).helpOption('-h, --help', 'print this help');
  }
  program.hook('preSubcommand', async (_program, command) => {
    const spec = COMMANDS[command.name()];
    if (spec) (await spec.load()).configure(command);
  });
  return program;
}

async function createKubeProxy(): Promise<Command> {
  const program = new Command(KUBE_PROXY)
    .helpOption('-h, --help', 'print this help')
    .showHelpAfterError('kube-proxy --help lists the flags')
    .configureOutput(OUTPUT)
    .exitOverride();
  const { configure } = await import('./commands/kube-proxy.ts');
  configure(program);
  return program;
}

/** From `-v 4` on, whichever command has it. */
function wantsStacks(program: Command): boolean {
  return [program, ...program.commands].some((command) => Number(command.getOptionValue('v')) >= 4);
}
