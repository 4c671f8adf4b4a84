/** What `/proc/net/ip_vs` says of real servers that drain, and of what is not as it was left. */
import type { Drains } from './delta.ts';
import type { LiveServer } from './listing.ts';
import type { IpvsObjects } from './objects.ts';

export interface DrainState {
  /** Carry no connection any more. */
  readonly idle: Drains;
  /** Somebody else has removed them. */
  readonly gone: Drains;
}

export function drainState(draining: Drains, live: ReadonlyMap<string, LiveServer>): DrainState {
  const idle = new Map<string, Set<string>>();
  const gone = new Map<string, Set<string>>();
  for (const [key, servers] of draining) {
    for (const server of servers) {
      const found = live.get(key)?.servers.get(server);
      if (found === undefined) note(gone, key, server);
      else if (found.connections === 0) note(idle, key, server);
    }
  }
  return { idle, gone };
}

function note(into: Map<string, Set<string>>, key: string, server: string): void {
  const servers = into.get(key);
  if (servers === undefined) into.set(key, new Set([server]));
  else servers.add(server);
}

/** Virtual and real servers that are missing or not as they should be, and extra ones that do not drain. */
export function wrongServers(
  objects: IpvsObjects,
  draining: Drains,
  live: ReadonlyMap<string, LiveServer>,
): string[] {
  const wrong: string[] = [];
  for (const [key, { options, servers }] of objects.servers) {
    const found = live.get(key);
    if (found === undefined || options.split(' ')[1] !== found.scheduler) {
      wrong.push(`virtual server ${key}`);
      continue;
    }
    const weightOf = (server: string): number | undefined => found.servers.get(server)?.weight;
    for (const [server, text] of servers) {
      if (!text.endsWith(` -w ${weightOf(server)}`)) wrong.push(`real server ${server} of ${key}`);
    }
    for (const server of found.servers.keys()) {
      const known = servers.has(server) || draining.get(key)?.has(server);
      if (!known) wrong.push(`real server ${server} of ${key}`);
    }
  }
  return wrong;
}
