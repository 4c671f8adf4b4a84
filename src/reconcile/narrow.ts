/**
 * When a tool refuses a step: whose fault is it? First by the line the tool complains of, then by trying halves.
 * Nothing is applied here, only checked.
 */
import type { ObjectKey } from '../cluster/values.ts';
import { ToolError } from '../node/runner.ts';
import type { ServicePlan } from '../plan/plan.ts';
import type { Backend, Change, Step } from './backend.ts';

type Plans = ReadonlyMap<ObjectKey, readonly ServicePlan[]>;

interface Refusal {
  readonly error: ToolError;
  readonly step: Step;
}

/**
 * @param change what was refused
 * @returns the Services without which it would be taken, each with the tool's words; empty when it is nobody's fault
 *   (the tool itself does not work, a lock is held, the skeleton is refused)
 */
export async function findCulprits(backend: Backend, change: Change): Promise<Map<ObjectKey, ToolError>> {
  const culprits = new Map<ObjectKey, ToolError>();
  let services = change.services;
  for (;;) {
    const refusal = await tryChange(backend, { ...change, services });
    if (refusal === undefined) return culprits;
    const named = serviceNamedBy(refusal);
    if (named === undefined || !services.has(named)) break;
    culprits.set(named, refusal.error);
    services = without(services, named);
  }
  if (await tryChange(backend, { ...change, services: new Map() })) return new Map();
  await halve(backend, change, services, culprits);
  return culprits;
}

async function halve(
  backend: Backend,
  change: Change,
  services: Plans,
  culprits: Map<ObjectKey, ToolError>,
): Promise<void> {
  if (services.size === 0) return;
  const refusal = await tryChange(backend, { ...change, services });
  if (refusal === undefined) return;
  const [only] = services.keys();
  if (services.size === 1 && only !== undefined) {
    culprits.set(only, refusal.error);
    return;
  }
  const entries = [...services];
  const middle = entries.length >> 1;
  await halve(backend, change, new Map(entries.slice(0, middle)), culprits);
  await halve(backend, change, new Map(entries.slice(middle)), culprits);
}

async function tryChange(backend: Backend, change: Change): Promise<Refusal | undefined> {
  for (const step of backend.diff(change).steps) {
    try {
      await backend.check(step);
    } catch (error) {
      if (error instanceof ToolError) return { error, step };
      throw error;
    }
  }
  return undefined;
}

/** nft says `/dev/stdin:12:3-5: Error`, iptables-restore `line 12 failed` or `Error occurred at line: 12`. */
function serviceNamedBy({ error, step }: Refusal): ObjectKey | undefined {
  const match = /stdin:(\d+):\d+|line:? (\d+)/.exec(error.stderr);
  const line = Number(match?.[1] ?? match?.[2]);
  return Number.isInteger(line) ? step.serviceOfLine(line) : undefined;
}

function without(services: Plans, key: ObjectKey): Plans {
  const rest = new Map(services);
  rest.delete(key);
  return rest;
}
