/** Whether IPVS mode can work here: each tool is called, and what is tried is tried in a network of its own. */
import type { IpFamily } from '../../src/cluster/values.ts';
import { type CommandRunner, ToolError } from '../../src/node/runner.ts';
import type { Probe } from '../../src/reconcile/backend.ts';
import type { Iptables } from './iptables.ts';
import { DEFAULT_SCHEDULER, type IpvsSettings, schedulerProblem } from './settings.ts';
import { ADD_LINK, createAllSets } from './steps.ts';

/** Everything behind it happens in a new network namespace, which goes with the command. */
export const ELSEWHERE = ['unshare', '--net', '--'] as const;

const PACKAGES: Readonly<Record<string, string>> = {
  ip: 'iproute2',
  ipset: 'ipset (6.0 or newer)',
  ipvsadm: 'ipvsadm',
  sysctl: 'procps',
};

export async function probe(
  family: IpFamily,
  runner: CommandRunner,
  iptables: Iptables,
  settings: IpvsSettings,
  kernel: string,
): Promise<Probe> {
  const versions: Record<string, string> = { kernel };
  const missing: string[] = [];
  for (const [tool, flag] of Object.entries({ ip: '-V', ipset: '-v', sysctl: '-V' })) {
    try {
      const { stdout } = await runner.run({ argv: [tool, flag] });
      versions[tool] = /\d+\.[\w.]+/.exec(stdout)?.[0] ?? stdout.trim();
    } catch (error) {
      missing.push(noTool(tool, error));
    }
  }
  try {
    const { variant, version } = await iptables.find();
    versions.iptables = `${version} (${variant})`;
  } catch (error) {
    missing.push(message(error));
  }
  if (Number.parseInt(versions.ipset ?? '6', 10) < 6) {
    missing.push(`ipset ${versions.ipset} is too old; install ipset 6.0 or newer.`);
  }
  const trials = [tryServers(runner, settings), tryLink(runner), trySets(family, runner)];
  for (const problem of await Promise.all(trials)) if (problem !== undefined) missing.push(problem);
  return { usable: missing.length === 0, versions, missing };
}

function noTool(tool: string, error: unknown): string {
  if (!(error instanceof ToolError) || error.reason !== 'missing')
    return `${tool} does not work: ${String(error)}`;
  return `The program ${tool} is not installed; install the package ${PACKAGES[tool] ?? tool}.`;
}

/** kube-proxy's: an address set aside for documentation (RFC 5737). */
const TRIAL = '198.51.100.0:20000';

async function tryServers(runner: CommandRunner, settings: IpvsSettings): Promise<string | undefined> {
  const scheduler = settings.scheduler || DEFAULT_SCHEDULER;
  const problem = schedulerProblem(scheduler);
  if (problem !== undefined) return `The IPVS scheduler "${scheduler}" ${problem}.`;
  const add: [string, ...string[]] = ['ipvsadm', '-A', '-t', TRIAL, '-s', scheduler];
  try {
    await elsewhere(runner, add);
    return undefined;
  } catch (error) {
    if (!(error instanceof ToolError)) return String(error);
    if (/failed to execute ipvsadm/.test(error.stderr)) {
      return 'The program ipvsadm is not installed; install the package ipvsadm.';
    }
    if (/Scheduler or persistence engine not found/.test(error.stderr)) {
      return `The kernel does not have the IPVS scheduler "${scheduler}"; load it with: modprobe ip_vs_${scheduler}`;
    }
    if (/Protocol not available|Is IP Virtual Server/i.test(error.stderr)) {
      return 'The kernel does not have IPVS; load it with: modprobe ip_vs';
    }
    if (/Operation not permitted|Permission denied/.test(error.stderr)) {
      return 'IPVS may not be changed here; run as root, or with CAP_NET_ADMIN and CAP_SYS_ADMIN.';
    }
    return `IPVS does not work: ${error.message}`;
  }
}

async function tryLink(runner: CommandRunner): Promise<string | undefined> {
  try {
    await elsewhere(runner, ADD_LINK);
    return undefined;
  } catch (error) {
    if (error instanceof ToolError && /Unknown device type|not supported/.test(error.stderr)) {
      return 'The kernel does not have dummy links; load them with: modprobe dummy';
    }
    return error instanceof ToolError && /failed to execute ip:/.test(error.stderr)
      ? undefined
      : `No dummy link can be made: ${message(error)}`;
  }
}

async function trySets(family: IpFamily, runner: CommandRunner): Promise<string | undefined> {
  try {
    await elsewhere(runner, ['ipset', 'restore'], createAllSets(family));
    return undefined;
  } catch (error) {
    // Said already.
    if (error instanceof ToolError && /failed to execute ipset/.test(error.stderr)) return undefined;
    return `The kernel does not have the ipset types this mode needs; load them with: modprobe -a ip_set_hash_ip ip_set_hash_ipport ip_set_hash_ipportip ip_set_hash_ipportnet ip_set_bitmap_port (${message(error)})`;
  }
}

/** Where no namespace may be made the trial is taken as passed: the first sync will tell. */
async function elsewhere(
  runner: CommandRunner,
  argv: readonly [string, ...string[]],
  stdin?: readonly string[],
): Promise<void> {
  try {
    await runner.run({ argv: [...ELSEWHERE, ...argv], ...(stdin ? { stdin } : {}) });
  } catch (error) {
    if (error instanceof ToolError && (error.reason === 'missing' || /unshare failed/.test(error.stderr)))
      return;
    throw error;
  }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
