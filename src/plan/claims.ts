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
  /** Keys with more than one claim. */
  #contested = 0;

  /** Whether any two Services want the same. */
  get contested(): boolean {
    return this.#contested > 0;
  }

  /**
   * Replaces what a Service claims.
   * @param touched the other Services whose rights changed by it, and whose plans are to be settled again, are added
   */
  update(
    service: ObjectKey,
    before: readonly ServicePlan[],
    after: readonly ServicePlan[],
    touched: Set<ObjectKey>,
  ): void {
    for (const plan of before) {
      for (const frontEnd of plan.frontEnds) {
        const key = claimKey(plan, frontEnd);
        this.#remove(key, service);
        this.#touch(key, service, touched);
      }
    }
    for (const plan of after) {
      for (const frontEnd of plan.frontEnds) {
        const key = claimKey(plan, frontEnd);
        this.#touch(key, service, touched);
        this.#add(key, toClaim(plan, frontEnd));
      }
    }
  }

  /** A plan without the front ends that belong to another Service; which those are is added to `lost`. */
  settle(plan: ServicePlan, lost: LostFrontEnd[]): ServicePlan {
    const frontEnds = plan.frontEnds.filter((frontEnd) => {
      const winner = this.#winner(claimKey(plan, frontEnd));
      if (winner === undefined || (winner.plan === plan.key && winner.service === plan.service)) return true;
      lost.push({ plan: plan.key, frontEnd, winner: winner.plan });
      return false;
    });
    return frontEnds.length === plan.frontEnds.length ? plan : { ...plan, frontEnds };
  }

  #touch(key: string, service: ObjectKey, touched: Set<ObjectKey>): void {
    const found = this.#claims.get(key);
    if (found === undefined) return;
    if (Array.isArray(found)) {
      for (const claim of found) if (claim.service !== service) touched.add(claim.service);
    } else if (found.service !== service) {
      touched.add(found.service);
    }
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
    const there = this.#claims.get(key);
    if (there === undefined) {
      this.#claims.set(key, claim);
    } else if (Array.isArray(there)) {
      there.push(claim);
    } else {
      this.#contested += 1;
      this.#claims.set(key, [there, claim]);
    }
  }

  #remove(key: string, service: ObjectKey): void {
    const there = this.#at(key);
    const rest = there.filter((claim) => claim.service !== service);
    const [only] = rest;
    if (there.length > 1 && rest.length <= 1) this.#contested -= 1;
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
