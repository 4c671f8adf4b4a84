/**
 * Runs inside a network namespace: listens and dials there, told what to do by JSON lines on stdin and
 * answering on stdout (`protocol.ts`). Ends when stdin does, so it cannot outlive who started it.
 * Starts often and on slow machines, hence nothing but Node's own modules.
 */
import { createInterface } from 'node:readline';
import { Connections } from './connections.ts';
import { Loads } from './load.ts';
import type { OperationName, Operations, Request, Response } from './protocol.ts';
import { Servers } from './servers.ts';
import { runTries } from './tries.ts';

type Handlers = {
  [Name in OperationName]: (input: Operations[Name]['input']) => Promise<Operations[Name]['output']>;
};

const servers = new Servers();
const connections = new Connections();
const loads = new Loads();

const handlers: Handlers = {
  listen: async (input) => {
    await servers.listen(input);
    return null;
  },
  unlisten: async (input) => {
    await servers.unlisten(input);
    return null;
  },
  served: async ({ reset }) => servers.served(reset),
  tries: runTries,
  connect: (input) => connections.open(input),
  exchange: ({ handle, deadlineMs }) => connections.exchange(handle, deadlineMs),
  disconnect: async ({ handle }) => {
    connections.close(handle);
    return null;
  },
  startLoad: async (input) => ({ handle: loads.start(input) }),
  loadReport: async ({ handle }) => loads.report(handle),
  stopLoad: ({ handle }) => loads.stop(handle),
};

async function respond({ id, operation, input }: Request): Promise<void> {
  let response: Response;
  try {
    // The controller's types tie each input to its operation; over the wire that tie is lost.
    const handler = handlers[operation] as (input: unknown) => Promise<unknown>;
    response = { id, ok: true, output: await handler(input) };
  } catch (error) {
    response = { id, ok: false, error: error instanceof Error ? error.message : String(error) };
  }
  process.stdout.write(`${JSON.stringify(response)}\n`);
}

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => void respond(JSON.parse(line) as Request));
lines.on('close', () => process.exit(0));
