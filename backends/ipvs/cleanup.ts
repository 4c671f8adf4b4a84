/** Takes away what is ours: all at once, or as the connections through it end. */
import type { IpFamily } from '../../src/cluster/values.ts';
import type { CommandRunner } from '../../src/node/runner.ts';
import type { Leftover, ProxyMode, Retreat } from '../../src/reconcile/backend.ts';
import { IPTABLES_MODE } from '../shared/mode-overlap.ts';
import {
  heldAddresses,
  releaseLines,
  removeLink,
  retreatLines,
  sourceAddress,
  sourcesInUse,
} from './cleanup-addresses.ts';
import { removeChains } from './cleanup-chains.ts';
import type { Busy } from './cleanup-connections.ts';
import { Sweep } from './cleanup-sweep.ts';
import { LINK } from './listing.ts';
import { parseServerKey } from './objects.ts';
import type { Observed } from './observe.ts';

export interface CleanupInput {
  readonly family: IpFamily;
  readonly runner: CommandRunner;
  /** What takes rules. */
  readonly restore: readonly [string, ...string[]];
  readonly observed: Observed;
  /** Whether a virtual server, by its key, is to stay whosever it is. */
  readonly isExcluded: (key: string) => boolean;
}

/**
 * Whatever goes through it, in the order in which nothing refers to what goes.
 * @returns what could not be removed, and the tools' reasons
 */
export async function removeAll(input: CleanupInput): Promise<Leftover[]> {
  const { family, runner, observed } = input;
  const sweep = new Sweep(family, runner);
  await sweep.servers(oursOf(input).map(removal));
  await sweep.chains(
    removeChains(family, observed.tables, { shared: iptablesRules(observed), guard: false }),
    input.restore,
  );
  await sweep.sets();
  await sweep.addresses(`link ${LINK}`, removeLink(family, observed));
  await sweep.addresses('routes', releaseLines(family, await heldAddresses(family, runner)));
  return sweep.leftovers;
}

/**
 * Removes what no connection needs any more. The kernel drops the packets of a connection whose real server is gone,
 * whatever `expire_nodest_conn` says (kernel, networking/ipvs-sysctl), so a virtual server stays while it has
 * connections, without getting new ones. With it stays its address, and an address also while the node itself sends
 * from it; and with an address all virtual servers on it, which refuse what the successor leaves to the node.
 * @param busy what connections go through
 */
export async function giveWay(input: CleanupInput, successor: ProxyMode, busy: Busy): Promise<Retreat> {
  const { family, runner, observed, restore } = input;
  const held = await heldAddresses(family, runner);
  const sweep = new Sweep(family, runner);
  const ours = oursOf(input);
  const serving = ours.filter((key) => busy.has(key));
  const local = new Set([...observed.objects.addresses, ...held]);
  const sources = local.size > 0 ? await sourcesInUse(family, runner) : NONE;
  const sending = [...local].filter((address) => sources.has(address));
  const needed = new Set([...sending, ...serving.map(addressOf).filter((address) => local.has(address))]);
  const stays = (key: string): boolean => busy.has(key) || needed.has(addressOf(key));

  const source = needed.size > 0 ? await sourceAddress(family, runner) : undefined;
  await sweep.addresses(`link ${LINK}`, retreatLines(family, observed, { held, needed, source }));
  await sweep.servers([
    ...ours.filter((key) => !stays(key)).map(removal),
    ...ours.filter(stays).flatMap((key) => quiescence(key, observed, busy)),
  ]);
  const shared = successor === 'iptables' || iptablesRules(observed);
  await sweep.chains(removeChains(family, observed.tables, { shared, guard: needed.size > 0 }), restore);
  const waiting = [
    ...serving.map((key) => `virtual server ${key}`),
    ...sending.map((address) => `address ${address}`),
  ];
  // By them the virtual servers are known as ours.
  if (waiting.length === 0) await sweep.sets();
  return { leftovers: sweep.leftovers, waiting };
}

const NONE: ReadonlySet<string> = new Set();

/** Back in force, with all addresses on the link again: what `giveWay` left for its connections is needed no more. */
export async function resume(family: IpFamily, runner: CommandRunner): Promise<Retreat> {
  const sweep = new Sweep(family, runner);
  await sweep.addresses('routes', releaseLines(family, await heldAddresses(family, runner)));
  return { leftovers: sweep.leftovers, waiting: [] };
}

/**
 * Keys of the virtual servers that are ours. Where kube-proxy has been, no set says on which addresses it has
 * node ports: there the port alone tells.
 */
function oursOf({ observed, isExcluded }: CleanupInput): string[] {
  const { objects, foreign, sets } = observed;
  const nodePorts = sets.has('KUBE-NODE-PORT-IP')
    ? []
    : [...foreign.servers.keys()].filter((key) => {
        const { protocol, port } = parseServerKey(key) ?? {};
        const set = protocol === 'udp' ? 'KUBE-NODE-PORT-UDP' : 'KUBE-NODE-PORT-TCP';
        return protocol !== 'sctp' && port !== undefined && objects.entries(set).has(port);
      });
  return [...objects.servers.keys(), ...nodePorts].filter((key) => !isExcluded(key));
}

function iptablesRules({ tables }: Observed): boolean {
  return tables.filter.has(IPTABLES_MODE);
}

function addressOf(key: string): string {
  return parseServerKey(key)?.address ?? '';
}

function removal(key: string): string {
  return `-D ${key}\n`;
}

/**
 * Lines after which a virtual server gives out no new connections: those of its real servers that carry any have no
 * weight. The others go, and with them what the kernel remembers of their connections: it would delete a connection
 * of the successor that has the same client and port in the end (`ip_vs_conn_drop_conntrack`).
 */
function quiescence(key: string, { objects, foreign }: Observed, busy: Busy): string[] {
  const server = objects.servers.get(key) ?? foreign.servers.get(key);
  return [...(server?.servers ?? [])].flatMap(([real, options]) => {
    if (!busy.get(key)?.has(real)) return [`-d ${key} -r ${real}\n`];
    return options.endsWith(' -w 0') ? [] : [`-e ${key} -r ${real} ${options.replace(/-w \d+$/, '-w 0')}\n`];
  });
}
