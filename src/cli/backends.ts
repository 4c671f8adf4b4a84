/** Back ends as options ask for them, and those that this machine can do. */
import { type BackendOptions, createBackend } from '../../backends/registry.ts';
import type { IpFamily } from '../cluster/values.ts';
import type { Options } from '../config/options.ts';
import type { Logger } from '../log/logger.ts';
import { IptablesLookup } from '../node/iptables-variant.ts';
import { createRunner } from '../node/runner.ts';
import type { Backend, ProxyMode } from '../reconcile/backend.ts';
import { printingBackend } from './dry-run.ts';
import { CliError } from './exit.ts';
import { kernelFamilies } from './node.ts';

/** Makes the back end of any mode, as options ask for it. */
export type BackendMaker = (mode: ProxyMode, family: IpFamily) => Promise<Backend>;

/** All back ends of one maker know what one of them has found out of this machine's tools. */
export function backendMaker(options: Options, log: Logger): BackendMaker {
  const runner = createRunner();
  const lookup = new IptablesLookup(runner, options.iptablesVariant || undefined);
  return (mode, family) => createBackend(mode, { ...backendOptions(options, family, log), runner, lookup });
}

function backendOptions(
  options: Options,
  family: IpFamily,
  log: Logger,
): Omit<BackendOptions, 'runner' | 'variant'> {
  return {
    family,
    dispatch: options.iptablesDispatch,
    localhostNodePorts: options.localhostNodePorts,
    report: (message) => log.warn({ family }, message),
    ipvs: {
      ...(options.ipvsScheduler ? { scheduler: options.ipvsScheduler } : {}),
      excludeCIDRs: options.ipvsExcludeCidrs,
      strictARP: options.ipvsStrictArp,
      ...ipvsTimeouts(options),
      parity: options.ipvsParity,
      report(service, problems) {
        if (problems.length === 0)
          log.info({ family }, `Service ${service}: everything can be programmed again`);
        for (const { object, field, message } of problems)
          log.warn({ family }, `${object}: ${field}: ${message}`);
      },
    },
  };
}

/** In whole seconds, as IPVS has them; what is shorter than one is one. */
function ipvsTimeouts(options: Options): Pick<NonNullable<BackendOptions['ipvs']>, 'timeouts'> {
  const seconds = (milliseconds: number) =>
    milliseconds > 0 ? Math.max(1, Math.floor(milliseconds / 1000)) : 0;
  const timeouts = {
    tcp: seconds(options.ipvsTcpTimeout),
    tcpFin: seconds(options.ipvsTcpFinTimeout),
    udp: seconds(options.ipvsUdpTimeout),
  };
  return Object.values(timeouts).some((value) => value > 0) ? { timeouts } : {};
}

/** One for each family that this kernel and its tools can do. Rejects when there is none. */
export async function usableBackends(make: BackendMaker, options: Options, log: Logger): Promise<Backend[]> {
  const all = await Promise.all((await kernelFamilies()).map((family) => make(options.proxyMode, family)));
  if (options.dryRun) {
    return all.map((backend) => printingBackend(backend, (text) => void process.stdout.write(text)));
  }
  const usable: Backend[] = [];
  const missing = new Set<string>();
  const probed = await Promise.all(all.map(async (backend) => ({ backend, probe: await backend.probe() })));
  for (const { backend, probe } of probed) {
    const { family } = backend;
    log.debug({ family, ...probe.versions }, 'Looked at tools and kernel');
    if (probe.usable) usable.push(backend);
    else for (const one of probe.missing) missing.add(`${family}: ${one}`);
  }
  if (usable.length === 0) {
    throw new CliError(`--proxy-mode ${options.proxyMode} cannot work here\n${[...missing].join('\n')}`);
  }
  for (const one of missing) log.warn(`No rules for ${one}`);
  return usable;
}
