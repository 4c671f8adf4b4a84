/**
 * The back ends this version has, by proxy mode. Each is imported when it is chosen: nobody pays for the others.
 */
import type { Backend, ProxyMode } from '../src/reconcile/backend.ts';
import type { IptablesOptions } from './iptables/backend.ts';
import type { IpvsOptions } from './ipvs/backend.ts';
import type { NftablesOptions } from './nftables/backend.ts';

/** What a back end is made of: one IP family, what starts its tools, and what each mode can be told beside. */
export type BackendOptions = NftablesOptions & IptablesOptions & IpvsOptions;

type Factory = (options: BackendOptions) => Backend;

const factories = {
  nftables: async (): Promise<Factory> => (await import('./nftables/backend.ts')).createNftablesBackend,
  ipvs: async (): Promise<Factory> => (await import('./ipvs/backend.ts')).createIpvsBackend,
  iptables: async (): Promise<Factory> => (await import('./iptables/backend.ts')).createIptablesBackend,
} satisfies Partial<Record<ProxyMode, () => Promise<Factory>>>;

/** A mode that this version has a back end for. */
export type Mode = keyof typeof factories;

/** Every mode of this version, the default one first. */
export const MODES: readonly [Mode, ...Mode[]] = ['nftables', 'iptables', 'ipvs'];

/** Loads the back end of a mode and makes one for the family. */
export async function createBackend(mode: Mode, options: BackendOptions): Promise<Backend> {
  const create = await factories[mode]();
  return create(options);
}
