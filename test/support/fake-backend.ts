/** A back end without a kernel: one step for each Service, refused or delayed as a test wants it. */
import type { IpFamily, ObjectKey } from '../../src/cluster/values.ts';
import { ToolError } from '../../src/node/runner.ts';
import type { Backend, Change, Diff, Leftover, Probe, ProxyMode, Step } from '../../src/reconcile/backend.ts';

export class FakeBackend implements Backend {
  readonly mode: ProxyMode;
  readonly family: IpFamily;
  /** Services whose steps no tool takes. */
  readonly refused = new Set<ObjectKey>();
  /** What an audit finds missing, once. */
  missing: string[] = [];
  /** What cleaning up fails with. */
  collectError: ToolError | undefined;
  /** What every step waits for. */
  gate: Promise<unknown> = Promise.resolve();

  constructor(mode: ProxyMode, family: IpFamily) {
    this.mode = mode;
    this.family = family;
  }

  async probe(): Promise<Probe> {
    return { usable: true, versions: {}, missing: [] };
  }

  async observe(): Promise<void> {}

  async audit(): Promise<readonly string[]> {
    return this.missing.splice(0);
  }

  diff({ services }: Change): Diff {
    const steps = [...services.keys()].map((key): Step => {
      const stdin = [`${key}\n`];
      return { argv: ['fake-restore'], stdin, services: [key], serviceOfLine: () => key };
    });
    return { steps, commit() {} };
  }

  collect(): Diff {
    const error = this.collectError;
    const step: Step = { argv: ['fake-collect'], stdin: [], services: [], serviceOfLine: () => undefined };
    return { steps: error ? [step] : [], commit() {} };
  }

  async check(step: Step): Promise<void> {
    for (const service of step.services) {
      if (this.refused.has(service)) throw new ToolError(step.argv, 'exit', 1, `line 1: ${service} is bad`);
    }
  }

  async apply(step: Step): Promise<void> {
    await this.gate;
    if (step.argv[0] === 'fake-collect' && this.collectError) throw this.collectError;
    await this.check(step);
  }

  async cleanup(): Promise<readonly Leftover[]> {
    return [];
  }
}
