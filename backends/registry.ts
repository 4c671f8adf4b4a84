/**
 * The back ends this version has, by proxy mode. Each is imported when it is chosen: nobody pays for the others.
 */
import type { IpFamily } from '../src/cluster/values.ts';
import type { CommandRunner } from '../src/node/runner.ts';
import type { Backend, ProxyMode } from '../src/reconcile/backend.ts';

/** What a back end is made of: one IP family, and what starts its tools. */
export interface BackendOptions {
  readonly family: IpFamily;
  readonly runner: CommandRunner;
}

type Factory = (options: BackendOptions) => Backend;

const factories = {
  nftables: async (): Promise<Factory> => (await import('./nftables/backend.ts')).createNftablesBackend,
  ipvs: async (): Promise<Factory> => (await import('./ipvs/backend.ts')).createIpvsBackend,
  iptables: async (): Promise<Factory> => (await import('./iptables/backend.ts')).createIptablesBackend,
} satisfies Partial<Record<ProxyMode, () => Promise<Factory>>>;

/** A mode that this version has a back end for. */
export type Mode = keyof typeof factories;

/** Every mode of this version, the default one first. */
export const MODES: readonly [Mode, ...Mode[]] = ['nftables', 'iptables'];

/** Loads the back end of a mode and makes one for the family. */
export async function createBackend(mode: Mode, options: BackendOptions): Promise<Backend> {
  const create = await factories[mode]();
  return create(options);
}
