/** Says once that this node has no Node object, whenever that comes to be: its rules then rest on guesses. */
import type { NodeValue } from '../cluster/values.ts';
import type { Logger } from '../log/logger.ts';
import type { ReconcileObserver } from '../reconcile/observer.ts';

/** @param node the Node as the cluster has it at present */
export function missingNodeObserver(
  log: Pick<Logger, 'warn'>,
  nodeName: string,
  node: () => NodeValue | undefined,
): ReconcileObserver {
  let told = false;
  return {
    synced() {
      const missing = node() === undefined;
      if (missing && !told) {
        log.warn(
          { node: nodeName },
          `There is no Node ${nodeName}: no endpoint counts as local, no zone is known, and node ports answer on every address. If the Node has another name, give it with --hostname-override`,
        );
      }
      told = missing;
    },
  };
}
