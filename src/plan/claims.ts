/**
 * One address, protocol and port can lead to one Service only. Where several claim it, the same one wins on
 * every node and in any order of events: a cluster IP before an external address (nobody takes over another
 * Service's cluster IP by listing it), then the older Service, then the smaller key.
 */
import type { ObjectKey } from '../cluster/values.ts';
import { compareText } from '../net/ip.ts';
import type { FrontEnd, ServicePlan } from './plan.ts';

interface Claim {
  readonly service: ObjectKey;
  readonly plan: string;
  readonly createdAt: number;
  readonly clusterIP: boolean;
}

export interface LostFrontEnd {
  readonly plan: string;
  readonly frontEnd: FrontEnd;
  /** Key of the plan that has it. */
  readonly winner: string;
}

export class Claims {
  readonly #claims = new Map<string, Claim | Claim[]>();

  /**
   * Replaces what a Service claims.
   * @returns the other Services whose rights changed by it and whose plans are to be settled again.
   */
  update(service: ObjectKey, before: readonly ServicePlan[], after: readonly ServicePlan[]): Set<ObjectKey> {
    const touched = new Set<ObjectKey>();
    const keys = new Set<string>();
    for (const plan of before) {
      for (const frontEnd of plan.frontEnds) {
        const key = claimKey(plan, frontEnd);
        keys.add(key);
        this.#remove(key, service);
      }
    }
    for (const plan of after) {
      for (const frontEnd of plan.frontEnds) {
        const key = claimKey(plan, frontEnd);
        keys.add(key);
        this.#add(key, toClaim(plan, frontEnd));
      }
    }
    for (const key of keys) {
      for (const claim of this.#at(key)) if (claim.service !== service) touched.add(claim.service);
    }
    return touched;
  }

  /** A plan without the front ends that belong to another Service, and which those are. */
  settle(plan: ServicePlan): { plan: ServicePlan; lost: LostFrontEnd[] } {
    const lost: LostFrontEnd[] = [];
    const frontEnds = plan.frontEnds.filter((frontEnd) => {
      const winner = this.#winner(claimKey(plan, frontEnd));
      if (winner === undefined || (winner.plan === plan.key && winner.service === plan.service)) return true;
      lost.push({ plan: plan.key, frontEnd, winner: winner.plan });
      return false;
    });
    return lost.length === 0 ? { plan, lost } : { plan: { ...plan, frontEnds }, lost };
  }

  #at(key: string): readonly Claim[] {
    const found = this.#claims.get(key);
    return found === undefined ? [] : Array.isArray(found) ? found : [found];
  }

  #winner(key: string): Claim | undefined {
    const claims = this.#at(key);
    return claims.length < 2 ? claims[0] : [...claims].sort(compareClaims)[0];
  }

  #add(key: string, claim: Claim): void {
    const there = this.#at(key);
    this.#claims.set(key, there.length === 0 ? claim : [...there, claim]);
  }

  #remove(key: string, service: ObjectKey): void {
    const rest = this.#at(key).filter((claim) => claim.service !== service);
    const [only] = rest;
    if (only === undefined) this.#claims.delete(key);
    else this.#claims.set(key, rest.length === 1 ? only : rest);
  }
}

function toClaim(plan: ServicePlan, frontEnd: FrontEnd): Claim {
  return {
    service: plan.service,
    plan: plan.key,
    createdAt: plan.createdAt,
    clusterIP: frontEnd.kind === 'clusterIP',
  };
}

function compareClaims(a: Claim, b: Claim): number {
  return (
    Number(b.clusterIP) - Number(a.clusterIP) || a.createdAt - b.createdAt || compareText(a.plan, b.plan)
  );
}

function claimKey(plan: ServicePlan, frontEnd: FrontEnd): string {
  return `${plan.protocol} ${frontEnd.address} ${frontEnd.port}`;
}
