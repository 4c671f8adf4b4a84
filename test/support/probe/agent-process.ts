/** The controlling side of an agent: starts it in a namespace, and turns calls into its JSON lines. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { TOOL_ENVIRONMENT } from '../network/namespaces.ts';
import type {
  ConnectRequest,
  ListenRequest,
  LoadReport,
  LoadRequest,
  OperationName,
  Operations,
  Outcome,
  Response,
  TriesRequest,
} from './protocol.ts';

/** A socket that stays open in an agent. */
export interface Connection {
  /** What the first question met with: who answered, or how it failed. */
  readonly first: Outcome;
  /** Asks again over the same socket. `timeout` after the deadline, default 10 s. */
  exchange(deadlineMs?: number): Promise<Outcome>;
  close(): Promise<void>;
}

/** Tries going on at a steady rate until stopped. */
export interface Load {
  report(): Promise<LoadReport>;
  /** Waits for the tries under way. */
  stop(): Promise<LoadReport>;
}

/** Every call rejects, naming the host, when the agent refuses it or is gone. */
export interface Agent {
  readonly pid: number;
  /** Listens on every address with every port, and answers who it is and whom it sees. */
  listen(request: ListenRequest): Promise<void>;
  /** Stops listening there and resets the connections. */
  unlisten(request: ListenRequest): Promise<void>;
  /** How many connections and datagrams were served, by `10.244.1.2:8080/tcp`; `reset` starts from 0 again. */
  served(reset?: boolean): Promise<Readonly<Record<string, number>>>;
  /** Tries all at once (or in turn): one outcome each. */
  tries(request: TriesRequest): Promise<readonly Outcome[]>;
  connect(request: ConnectRequest): Promise<Connection>;
  load(request: LoadRequest): Promise<Load>;
  /** Ends the process and waits until it is gone. */
  close(): Promise<void>;
}

/** Milliseconds an agent has to end by itself. */
const PATIENCE_MS = 3000;

let bundled: string | undefined;

/** One plain script from the agent's modules, made once: compiling TypeScript in each agent costs it 0.1 s. */
function agentSource(): string {
  bundled ??= buildSync({
    entryPoints: [fileURLToPath(new URL('agent.ts', import.meta.url))],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node22',
    write: false,
  }).outputFiles[0]?.text;
  if (bundled === undefined) throw new Error('esbuild made nothing of agent.ts');
  return bundled;
}

/** Starts an agent behind a prefix such as `ip netns exec NAME`. Throws when it cannot be started. */
export function startAgent(host: string, prefix: readonly [string, ...string[]]): Agent {
  const [file, ...args] = prefix;
  const child = spawn(file, [...args, process.execPath, '-e', agentSource()], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: TOOL_ENVIRONMENT,
  });
  const call = caller(host, child);
  return {
    // `ip netns exec` replaces itself with the agent, so this is the agent's own.
    pid: child.pid ?? 0,
    listen: async (request) => void (await call('listen', request)),
    unlisten: async (request) => void (await call('unlisten', request)),
    served: (reset = false) => call('served', { reset }),
    tries: (request) => call('tries', request),
    async connect(request) {
      const { handle, outcome } = await call('connect', request);
      return {
        first: outcome,
        exchange: (deadlineMs) =>
          call('exchange', { handle, ...(deadlineMs === undefined ? {} : { deadlineMs }) }),
        close: async () => void (await call('disconnect', { handle })),
      };
    },
    async load(request) {
      const { handle } = await call('startLoad', request);
      return { report: () => call('loadReport', { handle }), stop: () => call('stopLoad', { handle }) };
    },
    close: () => end(child),
  };
}

type Call = <Name extends OperationName>(
  operation: Name,
  input: Operations[Name]['input'],
) => Promise<Operations[Name]['output']>;

interface Pending {
  readonly operation: string;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}

function caller(host: string, child: ChildProcess): Call {
  const { stdin, stdout, stderr } = child;
  if (!stdin || !stdout || !stderr) throw new Error(`agent of ${host}: no pipes to it`);
  const pending = new Map<number, Pending>();
  let next = 1;
  let gone: string | undefined;
  let said = '';

  const lose = (reason: string): void => {
    gone ??= `agent of ${host}: ${reason}${said ? `: ${said.trim()}` : ''}`;
    for (const { operation, reject } of pending.values()) reject(new Error(`${gone} (during ${operation})`));
    pending.clear();
  };
  stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2000);
  });
  // Writing to an agent that just ended fails with EPIPE; its end is reported below.
  stdin.on('error', () => undefined);
  child.on('error', (error) => lose(error.message));
  child.on('close', (code, signal) => lose(`ended with ${signal ?? `exit code ${code}`}`));

  createInterface({ input: stdout }).on('line', (line) => {
    const response = JSON.parse(line) as Response;
    const waiting = pending.get(response.id);
    pending.delete(response.id);
    if (!waiting) return;
    if (response.ok) waiting.resolve(response.output);
    else waiting.reject(new Error(`agent of ${host}: ${waiting.operation}: ${response.error}`));
  });

  return (operation, input) =>
    new Promise((resolve, reject) => {
      if (gone !== undefined) {
        reject(new Error(gone));
        return;
      }
      const id = next++;
      // The agent answers an operation with that operation's output (protocol.ts).
      pending.set(id, { operation, resolve: resolve as (output: unknown) => void, reject });
      stdin.write(`${JSON.stringify({ id, operation, input })}\n`);
    });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const closed = once(child, 'close');
  child.stdin?.end();
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  await closed;
  clearTimeout(timer);
}
