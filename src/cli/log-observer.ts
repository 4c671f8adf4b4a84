/** What the daemon tells of its work in the log, beside what the reconciler says of trouble. */
import type { Logger } from '../log/logger.ts';
import type { LostFrontEnd } from '../plan/claims.ts';
import type { ReconcileObserver } from '../reconcile/observer.ts';

/** To be told again is better than to remember everything that ever was. */
const TOLD_LIMIT = 10_000;

/** Full syncs are news, single changes are for debugging. A front end that stays lost is told of once. */
export function logObserver(log: Logger): ReconcileObserver {
  const told = new Set<string>();
  return {
    synced({ family, full, services, steps, planSeconds, diffSeconds, applySeconds }) {
      const milliseconds = Math.round((planSeconds + diffSeconds + applySeconds) * 1000);
      log[full ? 'info' : 'debug'](
        { family, full, services, steps, elapsed: `${milliseconds}ms` },
        // kube-proxy's own words, which people's scripts look for.
        'SyncProxyRules complete',
      );
    },
    lost(family, lost) {
      for (const { plan, frontEnd, winner } of lost) {
        const what = describe(frontEnd);
        const key = `${family} ${plan} ${what} ${winner}`;
        if (told.has(key)) continue;
        if (told.size >= TOLD_LIMIT) told.clear();
        told.add(key);
        log.warn({ family, service: plan, winner }, `${plan}: ${what} belongs to ${winner}`);
      }
    },
  };
}

function describe({ kind, address, port }: LostFrontEnd['frontEnd']): string {
  return kind === 'nodePort' ? `node port ${port}` : `${kind} ${address} port ${port}`;
}
