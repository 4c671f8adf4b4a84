/** What can be set for IPVS beside what every mode has: kube-proxy's flags and fields, and one of our own. */
import type { Problem } from '../../src/cluster/project/project.ts';

export interface IpvsSettings {
  /** `--ipvs-scheduler`: any that the kernel has; default `rr`. */
  readonly scheduler?: string;
  /** `--ipvs-exclude-cidrs`, canonical: virtual servers on these addresses are somebody else's. */
  readonly excludeCIDRs?: readonly string[];
  /** `--ipvs-strict-arp`: the node answers ARP only for the addresses of the interface that is asked. */
  readonly strictARP?: boolean;
  /** `--ipvs-tcp-timeout`, `--ipvs-tcpfin-timeout`, `--ipvs-udp-timeout` in seconds; 0 leaves the kernel's. */
  readonly timeouts?: { readonly tcp: number; readonly tcpFin: number; readonly udp: number };
  /** `--ipvs-parity`: behave as kube-proxy also where that is worse; docs/ipvs.md lists where. */
  readonly parity?: boolean;
  /** `uname -r`; default: this machine's. */
  readonly kernel?: string;
  /** Told what of a Service cannot be programmed, and an empty list when it can be again. */
  readonly report?: (service: string, problems: readonly Problem[]) => void;
}

export const DEFAULT_SCHEDULER = 'rr';

/** Schedulers in mainline kernels. `--ipvs-scheduler` may name others, for the kernel to know. */
export const KNOWN_SCHEDULERS = [
  'rr',
  'wrr',
  'lc',
  'wlc',
  'lblc',
  'lblcr',
  'dh',
  'sh',
  'sed',
  'nq',
  'fo',
  'ovf',
  'mh',
] as const;

/** Scheduler names become part of commands and of a module's name. */
const SCHEDULER = /^[a-z0-9_-]{1,16}$/;

/** Why a scheduler's name cannot be one; undefined when it can. */
export function schedulerProblem(name: string): string | undefined {
  return SCHEDULER.test(name)
    ? undefined
    : `must be a scheduler of the kernel: ${KNOWN_SCHEDULERS.join(', ')}`;
}
