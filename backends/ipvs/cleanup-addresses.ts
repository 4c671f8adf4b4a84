/**
 * Addresses of Services that have to stay the node's own for a while: packets of open connections come to IPVS, and
 * answers to the node itself, only where the kernel delivers their destination here. A route of type `local` does
 * that without an interface that has the address (ip-route(8)). In contrast to an address on the dummy link it names
 * another source, so that what the node dials from now on does not depend on it.
 */
import type { IpFamily } from '../../src/cluster/values.ts';
import { canonicalIP, familyOf } from '../../src/net/ip.ts';
import { type CommandRunner, ToolError } from '../../src/node/runner.ts';
import { LINK } from './listing.ts';
import type { Observed } from './observe.ts';

/** The routes' `proto`, by which we know them: a number that /etc/iproute2/rt_protos gives to nobody. */
const PROTO = 107;

/** Addresses that have such a route. Rejects with a `ToolError`. */
export async function heldAddresses(family: IpFamily, runner: CommandRunner): Promise<Set<string>> {
  const { stdout } = await runner.run({
    argv: ['ip', '-json', flag(family), 'route', 'show', 'table', 'local', 'proto', String(PROTO)],
  });
  const routes = parseJson(stdout) as { readonly dst?: string }[];
  return new Set(routes.flatMap(({ dst }) => canonicalIP(dst ?? '') ?? []));
}

/** The node's address towards the rest of the world; `undefined` when it has no way there. */
export async function sourceAddress(family: IpFamily, runner: CommandRunner): Promise<string | undefined> {
  // Set aside for documentation (RFC 5737, RFC 3849), so that nothing but a default route leads there.
  const anywhere = family === 'IPv4' ? '192.0.2.1' : '2001:db8::1';
  try {
    const { stdout } = await runner.run({ argv: ['ip', '-json', flag(family), 'route', 'get', anywhere] });
    const [route] = parseJson(stdout) as { readonly prefsrc?: string }[];
    return canonicalIP(route?.prefsrc ?? '');
  } catch (error) {
    if (error instanceof ToolError && error.reason === 'exit') return undefined;
    throw error;
  }
}

/**
 * Addresses that the node's own sockets send from, of one family, listening ones left out. Without `ss` none is
 * known. Rejects with a `ToolError`.
 */
export async function sourcesInUse(family: IpFamily, runner: CommandRunner): Promise<Set<string>> {
  try {
    const { stdout } = await runner.run({ argv: ['ss', '-H', '-t', '-u', '-n'] });
    return parseSources(stdout, family);
  } catch (error) {
    if (error instanceof ToolError && error.reason === 'missing') return new Set();
    throw error;
  }
}

/** `tcp ESTAB 0 0 10.96.0.10:59278 10.96.0.10:80`; sockets for both families say `[::ffff:10.96.0.10]:59278`. */
export function parseSources(text: string, family: IpFamily): Set<string> {
  const all = text.split('\n').flatMap((line) => {
    const [, address] = /^(?:\S+\s+){4}\[?([\da-f:.]+?)(?:%[^\]\s]+?)?\]?:\d+\s/i.exec(line) ?? [];
    return canonicalIP(address ?? '') ?? [];
  });
  return new Set(all.filter((address) => familyOf(address) === family));
}

export interface Needs {
  /** Addresses that have a route already. */
  readonly held: ReadonlySet<string>;
  /** Addresses that have to stay the node's own. */
  readonly needed: ReadonlySet<string>;
  /** What the node sends from when it dials them. */
  readonly source: string | undefined;
}

/** `ip -batch` lines that leave routes for what is needed, and nothing else. */
export function retreatLines(
  family: IpFamily,
  observed: LinkState,
  { held, needed, source }: Needs,
): string[] {
  const rest = source === undefined ? '' : ` src ${source}`;
  return [
    // Behind the kernel's own route for the address, which goes with the address.
    ...[...needed]
      .filter((address) => !held.has(address))
      .map((address) => `route append ${routeFor(address, family)}${rest}\n`),
    ...removeLink(family, observed),
    ...releaseLines(
      family,
      [...held].filter((address) => !needed.has(address)),
    ),
  ];
}

/** `ip -batch` lines that delete routes. */
export function releaseLines(family: IpFamily, held: Iterable<string>): string[] {
  return Array.from(held, (address) => `route del ${routeFor(address, family)}\n`);
}

type LinkState = Pick<Observed, 'hasLink' | 'linkShared' | 'objects'>;

/** `ip -batch` lines. The link goes with the last address, whichever family that is of. */
export function removeLink(family: IpFamily, { hasLink, linkShared, objects }: LinkState): string[] {
  if (!hasLink) return [];
  if (!linkShared) return [`link del ${LINK}\n`];
  return Array.from(objects.addresses, (address) => `address del ${host(address, family)} dev ${LINK}\n`);
}

function routeFor(address: string, family: IpFamily): string {
  return `local ${host(address, family)} dev lo table local proto ${PROTO}`;
}

function host(address: string, family: IpFamily): string {
  return `${address}/${family === 'IPv4' ? 32 : 128}`;
}

function flag(family: IpFamily): '-4' | '-6' {
  return family === 'IPv4' ? '-4' : '-6';
}

/** Of `ip -json`, which prints nothing at all where there is nothing. */
function parseJson(text: string): unknown {
  return JSON.parse(text.trim() || '[]');
}
