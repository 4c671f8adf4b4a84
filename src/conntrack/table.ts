/** The UDP part of one family's connection-tracking table, by the tool `conntrack` (conntrack-tools, conntrack(8)). */
import type { IpFamily } from '../cluster/values.ts';
import { type CommandRunner, ToolError } from '../node/runner.ts';
import { parseFlow, splitSocketKey, type UdpFlow } from './flow.ts';
import type { FlowSelection } from './stale.ts';

/** What the tool says at the end of every deletion. */
const DELETED = /: (\d+) flow entries have been deleted/;

export class UdpFlowTable {
  readonly #runner: CommandRunner;
  readonly #which: readonly string[];

  constructor(runner: CommandRunner, family: IpFamily) {
    this.#runner = runner;
    this.#which = ['-p', 'udp', '-f', family === 'IPv4' ? 'ipv4' : 'ipv6'];
  }

  /**
   * Tells of every flow, as the listing arrives: a table may have hundreds of thousands.
   * @returns how many there are. Rejects with a `ToolError`
   */
  async list(onFlow: (flow: UdpFlow) => void, signal: AbortSignal): Promise<number> {
    let count = 0;
    let rest = '';
    const onLine = (line: string): void => {
      const flow = parseFlow(line);
      if (flow === undefined) return;
      count += 1;
      onFlow(flow);
    };
    await this.#runner.run({
      argv: ['conntrack', '-L', ...this.#which, '-o', 'extended'],
      onStdout(chunk) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) onLine(line);
      },
      signal,
    });
    if (rest !== '') onLine(rest);
    return count;
  }

  /**
   * Deletes what a selection takes; nothing is nothing wrong.
   * @returns how many there were. Rejects with a `ToolError`
   */
  async delete({ destination, answeredBy }: FlowSelection, signal: AbortSignal): Promise<number> {
    const to = splitSocketKey(destination);
    const argv: [string, ...string[]] = ['conntrack', '-D', ...this.#which];
    argv.push('--orig-dst', to.address, '--orig-port-dst', to.port);
    if (answeredBy !== undefined) {
      const by = splitSocketKey(answeredBy);
      argv.push('--reply-src', by.address, '--reply-port-src', by.port);
    }
    // It prints every flow it deletes.
    const { stderr } = await this.#runner.run({ argv, onStdout: () => undefined, signal }).catch(ignoreNone);
    return Number(DELETED.exec(stderr)?.[1] ?? 0);
  }
}

/** Having found none, the tool ends with exit code 1. */
function ignoreNone(error: unknown): { readonly stderr: string } {
  if (error instanceof ToolError && DELETED.exec(error.stderr)?.[1] === '0') return error;
  throw error;
}
