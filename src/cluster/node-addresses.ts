/**
 * Addresses of Nodes that Services ask for as external ones. IPVS mode must not make such an address the node's own:
 * the node could not reach that other Node any more (kubernetes/kubernetes#127410).
 */
import { isDeepStrictEqual } from 'node:util';
import { compareText } from '../net/ip.ts';
import type { NodeValue, ServiceValue } from './values.ts';

export class NodeAddressClaims {
  /** Address → how many Nodes report it. */
  readonly #reported = new Map<string, number>();
  /** Address → how many Services have it as an external or load-balancer address. */
  readonly #wanted = new Map<string, number>();
  #claimed: readonly string[] = [];
  #stale = false;

  /** A Node came, went or changed. */
  node(before: NodeValue | undefined, after: NodeValue | undefined): void {
    this.#exchange(this.#reported, before?.allAddresses ?? NONE, after?.allAddresses ?? NONE);
  }

  /** A Service came, went or changed. */
  service(before: ServiceValue | undefined, after: ServiceValue | undefined): void {
    this.#exchange(this.#wanted, externalAddresses(before), externalAddresses(after));
  }

  /** Addresses that are both, sorted; the same array while they stay the same. */
  claimed(): readonly string[] {
    if (!this.#stale) return this.#claimed;
    this.#stale = false;
    const [few, many] =
      this.#wanted.size < this.#reported.size
        ? [this.#wanted, this.#reported]
        : [this.#reported, this.#wanted];
    const claimed = [...few.keys()].filter((address) => many.has(address)).sort(compareText);
    if (!isDeepStrictEqual(claimed, this.#claimed)) this.#claimed = claimed;
    return this.#claimed;
  }

  #exchange(counts: Map<string, number>, before: Iterable<string>, after: Iterable<string>): void {
    for (const address of before) this.#count(counts, address, -1);
    for (const address of after) this.#count(counts, address, 1);
  }

  #count(counts: Map<string, number>, address: string, by: number): void {
    const was = counts.get(address) ?? 0;
    if (was + by === 0) counts.delete(address);
    else counts.set(address, was + by);
    if (was === 0 || was + by === 0) this.#stale = true;
  }
}

const NONE: readonly string[] = [];

/** An address may be listed as both; it counts once. */
function externalAddresses(service: ServiceValue | undefined): Iterable<string> {
  if (service === undefined || service.externalIPs.length + service.loadBalancerIPs.length === 0) return NONE;
  return new Set([...service.externalIPs, ...service.loadBalancerIPs]);
}
