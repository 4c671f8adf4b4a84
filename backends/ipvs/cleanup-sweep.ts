/** Runs the tools of a clean-up: one that fails does not keep the others from their part. */
import type { IpFamily } from '../../src/cluster/values.ts';
import type { CommandRunner } from '../../src/node/runner.ts';
import type { Leftover } from '../../src/reconcile/backend.ts';
import type { Removal } from './cleanup-chains.ts';
import { grownName, SET_KINDS, setName } from './sets.ts';

type Argv = readonly [string, ...string[]];

export class Sweep {
  /** What could not be removed so far, and the tools' reasons. */
  readonly leftovers: Leftover[] = [];
  readonly #family: IpFamily;
  readonly #runner: CommandRunner;

  constructor(family: IpFamily, runner: CommandRunner) {
    this.#family = family;
    this.#runner = runner;
  }

  /** @param lines for `ipvsadm -R`, which says what it could not do and ends with 0 */
  async servers(lines: readonly string[]): Promise<void> {
    const stderr = await this.#feed('virtual servers', ['ipvsadm', '-R'], lines);
    if (stderr !== '') this.leftovers.push({ object: 'virtual servers', reason: stderr });
  }

  /** @param restore what takes the lines */
  async chains({ lines, held }: Removal, restore: Argv): Promise<void> {
    this.leftovers.push(...held);
    await this.#feed('iptables chains', restore, lines);
  }

  /** @param lines for `ip -batch` */
  async addresses(object: string, lines: readonly string[]): Promise<void> {
    await this.#feed(object, ['ip', '-batch', '-'], lines);
  }

  /** All of them at once; when that fails, one by one, to tell which. */
  async sets(): Promise<void> {
    const names = await this.#sets();
    if (names.length === 0) return;
    try {
      await this.#destroy(names);
    } catch {
      for (const name of await this.#sets()) {
        try {
          await this.#destroy([name]);
        } catch (error) {
          this.#left(`ipset ${name}`, error);
        }
      }
    }
  }

  async #sets(): Promise<string[]> {
    const { stdout } = await this.#runner.run({ argv: ['ipset', 'list', '-name'] });
    const ours = new Set([...SET_KINDS.map((kind) => setName(kind, this.#family)), grownName(this.#family)]);
    return stdout.split('\n').filter((name) => ours.has(name));
  }

  async #destroy(names: readonly string[]): Promise<void> {
    await this.#runner.run({
      argv: ['ipset', 'restore'],
      stdin: names.map((name) => `destroy ${name}\n`),
    });
  }

  /** What the tool says on stderr without failing. */
  async #feed(object: string, argv: Argv, lines: readonly string[]): Promise<string> {
    if (lines.length === 0) return '';
    try {
      return (await this.#runner.run({ argv, stdin: lines })).stderr.trim();
    } catch (error) {
      this.#left(object, error);
      return '';
    }
  }

  #left(object: string, error: unknown): void {
    this.leftovers.push({ object, reason: error instanceof Error ? error.message : String(error) });
  }
}
