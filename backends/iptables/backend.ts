/** iptables mode: the KUBE-* chains of kube-proxy, written with `iptables-restore --noflush`. */
import { isDeepStrictEqual } from 'node:util';
import type { IpFamily, ObjectKey } from '../../src/cluster/values.ts';
import type { IptablesLookup, IptablesVariant } from '../../src/node/iptables-variant.ts';
import { type CommandRunner, ToolError } from '../../src/node/runner.ts';
import type { ServicePlan } from '../../src/plan/plan.ts';
import type {
  Backend,
  Change,
  Diff,
  Leftover,
  Probe,
  ProxyMode,
  Retreat,
  Step,
} from '../../src/reconcile/backend.ts';
import { Audit } from './audit.ts';
import { cleanup } from './cleanup.ts';
import { isEmpty } from './delta.ts';
import { type DispatchMode, limitsOf } from './dispatch/layout.ts';
import { DEFAULT_FEATURES, type Features } from './features.ts';
import { IptablesModel, type ObservedRules } from './model.ts';
import { isOwn } from './names.ts';
import { detectFeatures, kernelVersion, missingFrom } from './probe.ts';
import type { SavedRules } from './save.ts';
import { collectScript, script } from './script.ts';
import { isRouteLocalnet, NOTHING_SET, readSettings, type Settings, settingSteps } from './settings.ts';
import { RestoreStep } from './step.ts';
import { Tools } from './tools.ts';
import { trial } from './trial.ts';

export interface IptablesOptions {
  readonly family: IpFamily;
  readonly runner: CommandRunner;
  /** Default: the one that is in use on the node (`--iptables-variant`). */
  readonly variant?: IptablesVariant | undefined;
  /** Where several share one; it counts in place of `variant`. */
  readonly lookup?: IptablesLookup;
  /** Whether chains that all Services share are split by destination; default `auto`. */
  readonly dispatch?: DispatchMode | undefined;
  /** Node ports answer on 127.0.0.1 too (`--iptables-localhost-nodeports`); default true. IPv4 only. */
  readonly localhostNodePorts?: boolean | undefined;
  /** Is told, in a sentence, what had to be tried again, and what is left out. */
  readonly report?: ((message: string) => void) | undefined;
}

/** `iptables-nft-restore` takes time with the square of the chains in one input. */
const CHAINS_PER_INPUT = 1000;

export function createIptablesBackend(options: IptablesOptions): Backend {
  return new IptablesBackend(options);
}

interface Refusal {
  /** What it was refused with. */
  readonly plans: readonly ServicePlan[];
  readonly error: ToolError;
}

interface Observed {
  readonly rules: ObservedRules;
  readonly settings: Settings;
}

class IptablesBackend implements Backend {
  readonly mode = 'iptables';
  readonly family: IpFamily;
  readonly #tools: Tools;
  readonly #report: (message: string) => void;
  readonly #model: IptablesModel;
  readonly #audit = new Audit();
  #features: Features;
  #detected = false;
  #settings = NOTHING_SET;
  /** What the kernel held when it was last read; forgotten once it has been brought up to date. */
  #observed: Observed | undefined;
  /** Services whose lines the kernel refused: `--test` does not find what only the kernel knows. */
  readonly #refused = new Map<ObjectKey, Refusal>();

  constructor(options: IptablesOptions) {
    this.family = options.family;
    this.#tools = new Tools(options);
    this.#report = options.report ?? (() => undefined);
    this.#model = new IptablesModel(options.family, limitsOf(options.dispatch ?? 'auto'));
    this.#features = {
      ...DEFAULT_FEATURES,
      localhostNodePorts: options.localhostNodePorts ?? DEFAULT_FEATURES.localhostNodePorts,
    };
  }

  async probe(): Promise<Probe> {
    const versions: Record<string, string> = { kernel: kernelVersion() };
    try {
      const { version, variant, reason } = await this.#tools.find();
      versions.iptables = `${version} (${variant}: ${reason})`;
      await this.#detect();
      await trial(this.#tools, this.family, this.#features);
    } catch (error) {
      return { usable: false, versions, missing: [missingFrom(error)] };
    }
    return { usable: true, versions, missing: [] };
  }

  async observe(): Promise<void> {
    await this.#tools.find();
    await this.#detect();
    const [nat, filter, mangle, settings] = await Promise.all([
      this.#tools.save('nat'),
      this.#tools.save('filter'),
      this.#tools.save('mangle'),
      readSettings(this.#tools),
    ]);
    const own: SavedRules = new Map();
    const foreign: SavedRules = new Map();
    for (const [chain, rules] of [...nat, ...filter, ...mangle]) {
      (isOwn(chain) ? own : foreign).set(chain, rules);
    }
    this.#observed = { rules: { own, foreign }, settings };
  }

  diff(change: Change): Diff {
    const features = this.#features;
    const observed = change.full ? this.#observed : undefined;
    const modelChange = this.#model.change(change, features, observed?.rules);
    const { delta } = modelChange;
    const settings = settingSteps(change.node, features, observed?.settings ?? this.#settings);
    const inputs = isEmpty(delta) ? [] : script(delta, this.#chainsPerInput());
    const argv = this.#tools.restoreArgv();
    const restores = inputs.map((input) => new RestoreStep(argv, input, { change, features }));
    return {
      steps: [...settings.before, ...restores, ...settings.after],
      commit: () => {
        modelChange.commit();
        this.#settings = settings.reached;
        if (change.full) this.#observed = undefined;
        this.#refused.clear();
      },
    };
  }

  ruleCounts(): ReadonlyMap<string, number> {
    return this.#model.ruleCounts;
  }

  collect(): Diff {
    const chains = [...this.#model.stale];
    const argv = this.#tools.restoreArgv();
    return {
      steps: collectScript(chains, this.#chainsPerInput()).map((input) => new RestoreStep(argv, input)),
      commit: () => this.#model.collected(chains),
    };
  }

  async audit(): Promise<readonly string[]> {
    await this.#tools.find();
    return this.#audit.run(this.#tools, this.#model);
  }

  async check(step: Step): Promise<void> {
    if (!(step instanceof RestoreStep)) return;
    for (const [service, { plans, error }] of this.#refused) {
      const line = isDeepStrictEqual(step.plansOf(service), plans) ? step.lineOf(service) : undefined;
      if (line !== undefined) {
        throw new ToolError(error.argv, error.reason, error.exitCode, `line ${line}: ${error.stderr}`);
      }
    }
    const [restore, ...args] = step.argv;
    await this.#tools.run([restore, '--test', ...args], step.stdin);
  }

  async apply(step: Step): Promise<void> {
    try {
      await this.#tools.run(step.argv, step.stdin.length > 0 ? step.stdin : undefined);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      if (isCounterThere(step, error)) return;
      if (isRouteLocalnet(step)) {
        this.#report(
          `Node ports do not answer on 127.0.0.1: ${error.message}. Set it on the host, start the program with --init-only first, or leave it out with --iptables-localhost-nodeports=false.`,
        );
        return;
      }
      this.#remember(step, error);
      throw error;
    }
  }

  async cleanup(): Promise<readonly Leftover[]> {
    await this.#tools.find();
    return cleanup(this.#tools);
  }

  /** Connections that our rules have translated go on by themselves: nothing waits. */
  async giveWay(successor: ProxyMode): Promise<Retreat> {
    await this.#tools.find();
    return { leftovers: await cleanup(this.#tools, successor), waiting: [] };
  }

  /** The kernel's refusal names a line, and its line a Service. */
  #remember(step: Step, error: ToolError): void {
    const line = Number(/line:? (\d+)/.exec(error.stderr)?.[1]);
    if (!(step instanceof RestoreStep) || !Number.isInteger(line)) return;
    const service = step.serviceOfLine(line);
    const plans = service === undefined ? undefined : step.plansOf(service);
    if (service !== undefined && plans) this.#refused.set(service, { plans, error });
  }

  async #detect(): Promise<void> {
    if (this.#detected) return;
    const tools = await this.#tools.find();
    this.#features = await detectFeatures(this.#tools.runner, tools, this.#features.localhostNodePorts);
    this.#detected = true;
  }

  /** The legacy tool swaps the whole table each time, and takes any number of chains at once. */
  #chainsPerInput(): number {
    return this.#tools.found?.variant === 'legacy' ? Number.POSITIVE_INFINITY : CHAINS_PER_INPUT;
  }
}

/** Both families make the counters, and the kernel calls one that exists busy. */
function isCounterThere({ argv }: Step, { stderr }: ToolError): boolean {
  return argv[0] === 'nfacct' && argv[1] === 'add' && /resource busy|File exists/i.test(stderr);
}
