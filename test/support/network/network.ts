/**
 * Builds the network of `topology.ts` in namespaces of this machine and takes it down again.
 *
 *     const net = await createNetwork();
 *     await net.exec('node1', ['nft', '-f', '-'], rules);
 *     const outcomes = await net.agent('ext').tries({ address: '172.30.0.11', port: 30080, protocol: 'tcp', count: 40 });
 *     await net.close();
 */
import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { type CommandResult, type CommandRunner, createRunner } from '../../../src/node/runner.ts';
import { type Agent, startAgent } from '../probe/agent-process.ts';
import { deleteLater, deleteNamespaces, deleteOrphans } from './namespaces.ts';
import {
  BACKEND_ADDRESSES,
  BACKEND_PORTS,
  HOSTS,
  type Host,
  hostCommands,
  hostSysctls,
  linkCommands,
} from './topology.ts';

export interface NetworkOptions {
  /** Whether the back ends' addresses answer from the start (`BACKEND_PORTS`); default true. */
  readonly backends?: boolean;
}

export interface Network extends AsyncDisposable {
  /** The namespace's name for `ip netns exec`. */
  namespace(host: Host): string;
  /** What makes a command run in the host: put it in front of an argv. */
  prefix(host: Host): readonly [string, ...string[]];
  /** A runner whose commands run in the host. */
  runner(host: Host): CommandRunner;
  /** Runs one command in the host. Rejects with a `ToolError`. */
  exec(host: Host, argv: readonly [string, ...string[]], stdin?: string): Promise<CommandResult>;
  /** The process that listens and dials in the host; started at the first call. */
  agent(host: Host): Agent;
  /** Ends the agents and deletes the namespaces. Harmless when called again. */
  close(): Promise<void>;
}

/**
 * Builds a network of its own name, so that several can exist side by side. Needs root, see `networkSupported`.
 * Rejects with the tool's error, after taking down what was built. Namespaces whose process died without
 * closing them are deleted first.
 */
export async function createNetwork(options: NetworkOptions = {}): Promise<Network> {
  const root = createRunner();
  await deleteOrphans(root);
  const name = `krs-${process.pid}-${randomBytes(3).toString('hex')}`;
  const namespace = (host: Host) => `${name}-${host}`;
  const net = openNetwork(root, namespace);
  try {
    await batch(
      root,
      ['ip', '-batch', '-'],
      HOSTS.map((host) => `netns add ${namespace(host)}`),
    );
    await Promise.all(
      HOSTS.map((host) => batch(net.runner(host), ['sysctl', '-q', '-p', '-'], hostSysctls(host))),
    );
    await batch(root, ['ip', '-batch', '-'], linkCommands(namespace));
    const configure = (host: Host) =>
      batch(root, ['ip', '-n', namespace(host), '-batch', '-'], hostCommands(host));
    // The switch last: its ports then come up with a peer that is up already.
    await Promise.all(HOSTS.filter((host) => host !== 'lan').map(configure));
    await configure('lan');
    await switchForwards(root, namespace('lan'));
    if (options.backends ?? true) await Promise.all([listen(net, 'pods1'), listen(net, 'pods2')]);
    return net;
  } catch (error) {
    await net.close();
    throw error;
  }
}

function openNetwork(root: CommandRunner, namespace: (host: Host) => string): Network {
  const agents = new Map<Host, Agent>();
  const namespaces = HOSTS.map(namespace);
  const forget = deleteLater(namespaces);
  let closing: Promise<void> | undefined;

  const prefix = (host: Host): readonly [string, ...string[]] => ['ip', 'netns', 'exec', namespace(host)];
  const runner = (host: Host): CommandRunner => createRunner({ prefix: prefix(host) });

  async function takeDown(): Promise<void> {
    await Promise.all([...agents.values()].map((agent) => agent.close()));
    await deleteNamespaces(root, namespaces);
    forget();
  }

  const close = (): Promise<void> => {
    closing ??= takeDown();
    return closing;
  };

  return {
    namespace,
    prefix,
    runner,
    exec: (host, argv, stdin) =>
      runner(host).run({ argv, ...(stdin === undefined ? {} : { stdin: [stdin] }) }),
    agent(host) {
      if (closing) throw new Error(`${namespace(host)}: the network is closed`);
      const running = agents.get(host);
      if (running) return running;
      const agent = startAgent(host, prefix(host));
      agents.set(host, agent);
      return agent;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Milliseconds; the kernel may take a second to notice that a port has carrier. */
const SWITCH_DEADLINE_MS = 5000;

/** A bridge drops what comes in before its ports forward, and a lost SYN would look like a drop rule. */
async function switchForwards(runner: CommandRunner, namespace: string): Promise<void> {
  const until = Date.now() + SWITCH_DEADLINE_MS;
  for (;;) {
    const { stdout } = await runner.run({
      argv: ['ip', '-n', namespace, '-details', '-oneline', 'link', 'show', 'master', 'br0'],
    });
    const ports = stdout.trim().split('\n');
    if (ports.every((port) => port.includes(' state forwarding '))) return;
    if (Date.now() > until) throw new Error(`${namespace}: ports of br0 do not forward: ${stdout}`);
    await setTimeout(20);
  }
}

async function listen(net: Network, host: 'pods1' | 'pods2'): Promise<void> {
  await net.agent(host).listen({ addresses: BACKEND_ADDRESSES[host], ...BACKEND_PORTS });
}

async function batch(
  runner: CommandRunner,
  argv: readonly [string, ...string[]],
  lines: readonly string[],
): Promise<void> {
  await runner.run({ argv, stdin: [`${lines.join('\n')}\n`] });
}
