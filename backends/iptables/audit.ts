/**
 * Whether the rules are still there, without reading the tables: `iptables-restore` is given nothing but checks
 * (`-C`), which cost what they look at. What everything hangs on is looked at each time, the chains of some Services
 * in turn.
 */
import type { ObjectKey } from '../../src/cluster/values.ts';
import { compareText } from '../../src/net/ip.ts';
import { ToolError } from '../../src/node/runner.ts';
import type { ServicePlan } from '../../src/plan/plan.ts';
import type { IptablesModel } from './model.ts';
import { type ChainId, nameOf, type Table, tableOf } from './names.ts';
import { targetOf } from './save.ts';
import type { Tools } from './tools.ts';

/** Services looked at in one audit. */
const SERVICES_AT_ONCE = 100;
/** When everything is gone there is no use in naming it all. */
const MAX_FINDINGS = 10;

/**
 * The legacy tool reads a whole table to answer anything, a second at 10,000 Services: from here on only every
 * so many audits ask it for more than the canary.
 */
const MANY_SERVICES = 1000;
const LEGACY_EVERY = 4;

/** Audits one model's rules; each call looks at other Services. */
export class Audit {
  readonly #turn = new Turn();
  #number = 0;

  /**
   * What is missing, by name; not all of it when it is much. Rejects with a `ToolError` when the tool does not work.
   */
  async run(tools: Tools, model: IptablesModel): Promise<string[]> {
    const missing = (await hasChain(tools, 'mangle', 'KUBE-PROXY-CANARY'))
      ? []
      : ['mangle KUBE-PROXY-CANARY'];
    const costly = tools.found?.variant === 'legacy' && model.plans.size > MANY_SERVICES;
    this.#number += 1;
    if (costly && this.#number % LEGACY_EVERY !== 0) return missing;
    let rest: readonly ExpectedRule[] = model.expected(this.#turn.next(model.plans, SERVICES_AT_ONCE));
    const [restore, ...args] = tools.restoreArgv();
    while (rest.length > 0 && missing.length < MAX_FINDINGS) {
      const checks = checksOf(rest);
      try {
        await tools.run([restore, ...args], checks.input);
        break;
      } catch (error) {
        const finding = error instanceof ToolError ? findingOf(error.stderr, checks) : undefined;
        if (finding === undefined) throw error;
        missing.push(finding.object);
        rest = finding.rest;
      }
    }
    return missing;
  }
}

async function hasChain(tools: Tools, table: Table, chain: string): Promise<boolean> {
  try {
    await tools.run([tools.name(''), '-w', '5', '-t', table, '-S', chain]);
    return true;
  } catch (error) {
    if (error instanceof ToolError && error.exitCode === 1) return false;
    throw error;
  }
}

/** A rule that has to be there. */
export interface ExpectedRule {
  readonly chain: ChainId;
  readonly rule: string;
}

/** An input of checks, and which rule each line is about. */
export interface Checks {
  readonly input: readonly string[];
  /** In the order of their lines. */
  readonly rules: readonly { readonly line: number; readonly expected: ExpectedRule }[];
}

export function checksOf(expected: readonly ExpectedRule[]): Checks {
  const input: string[] = [];
  const rules: { line: number; expected: ExpectedRule }[] = [];
  for (const [table, list] of Map.groupBy(expected, ({ chain }): Table => tableOf(chain))) {
    input.push(`*${table}\n`);
    for (const one of list) {
      input.push(`-C ${nameOf(one.chain)} ${one.rule}\n`);
      rules.push({ line: input.length, expected: one });
    }
    input.push('COMMIT\n');
  }
  return { input, rules };
}

export interface Finding {
  /** What is missing: `nat KUBE-SERVICES`, or the same with a rule behind it. */
  readonly object: string;
  /** What is still to be checked. */
  readonly rest: readonly ExpectedRule[];
}

/**
 * What a failed check says is missing; `undefined` when it failed for another reason.
 * @param stderr `line 7 failed: Bad rule …`; or, for a jump to nowhere, `Chain 'KUBE-X' does not exist` (nf_tables)
 *   or `Couldn't load target \`KUBE-X'` (legacy)
 */
export function findingOf(stderr: string, { rules }: Checks): Finding | undefined {
  const absent = /Chain '([^']+)' does not exist|load target `([^']+)'/.exec(stderr);
  const name = absent?.[1] ?? absent?.[2];
  if (name !== undefined) return missingChain(name, rules);
  const line = Number(/line:? (\d+) failed/.exec(stderr)?.[1]);
  const index = rules.findIndex((rule) => rule.line === line);
  const found = rules[index]?.expected;
  if (found === undefined) return undefined;
  // Lines are checked in order, so those before it are there.
  return {
    object: `${found.chain} ${found.rule}`,
    rest: rules.slice(index + 1).map(({ expected }) => expected),
  };
}

function missingChain(name: string, rules: Checks['rules']): Finding | undefined {
  const concerns = ({ chain, rule }: ExpectedRule): boolean =>
    nameOf(chain) === name || targetOf(rule) === name;
  const found = rules.find(({ expected }) => concerns(expected));
  if (found === undefined) return undefined;
  const rest = rules.map(({ expected }) => expected).filter((expected) => !concerns(expected));
  return { object: `${tableOf(found.expected.chain)} ${name}`, rest };
}

/** The next few Services in the order of their names, beginning again after the last. */
export class Turn {
  #last: ObjectKey = '';

  next(plans: ReadonlyMap<ObjectKey, readonly ServicePlan[]>, count: number): (readonly ServicePlan[])[] {
    const keys = [...plans.keys()].sort(compareText);
    const start = keys.findIndex((key) => key > this.#last);
    const first = Math.max(start, 0);
    const picked = Array.from(
      { length: Math.min(count, keys.length) },
      (_, index) => keys[(first + index) % keys.length] ?? '',
    );
    this.#last = picked.at(-1) ?? '';
    return picked.map((key) => plans.get(key) ?? []);
  }
}
