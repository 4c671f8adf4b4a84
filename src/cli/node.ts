/** What the commands have to know of the machine they run on. */
import { readFile } from 'node:fs/promises';
import { hostname, networkInterfaces } from 'node:os';
import { IP_FAMILIES, type IpFamily } from '../cluster/values.ts';
import type { Options } from '../config/options.ts';
import { canonicalIP, compareText } from '../net/ip.ts';

/** The name of the Node: `--hostname-override`, else the host name in lower case. */
export function nodeNameOf(options: Pick<Options, 'hostnameOverride'>): string {
  return options.hostnameOverride || hostname().trim().toLowerCase();
}

/** The addresses of all interfaces, canonical, each once and sorted. */
export function ownAddresses(
  interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): string[] {
  const all = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
  return [...new Set(all.flatMap(({ address }) => canonicalIP(address) ?? []))].sort(compareText);
}

/** The families the kernel speaks: IPv6 may be compiled out, or switched off for every interface. */
export async function kernelFamilies(
  read: (path: string) => Promise<string> = readText,
): Promise<IpFamily[]> {
  const present = await read('/proc/net/if_inet6').then(
    () => true,
    () => false,
  );
  const disabled = await read('/proc/sys/net/ipv6/conf/all/disable_ipv6').catch(() => '0');
  return IP_FAMILIES.filter((family) => family === 'IPv4' || (present && disabled.trim() !== '1'));
}

function readText(path: string): Promise<string> {
  return readFile(path, 'utf8');
}
