/** What a rule does with a packet that it holds for. */
import { type Flow, WalkError } from '../flow.ts';
import { markOf } from './matches.ts';
import { firstValue, type Target } from './rule.ts';

/** `undefined`: the next rule has its turn. */
export type TargetResult = 'accept' | 'drop' | 'reject' | 'return' | undefined;

/** Extensions and verdicts by name; throws a `WalkError` for one that is not known. */
export function run(flow: Flow, target: Target): TargetResult {
  const known = TARGETS[target.name];
  if (known === undefined) throw new WalkError(`the target ${target.name} is not known`);
  return known(flow, target);
}

/** Whether a name is a verdict or an extension rather than a chain. */
export function isExtension(name: string): boolean {
  return Object.hasOwn(TARGETS, name);
}

const TARGETS: Readonly<Record<string, (flow: Flow, target: Target) => TargetResult>> = {
  ACCEPT: () => 'accept',
  DROP: () => 'drop',
  REJECT: () => 'reject',
  RETURN: () => 'return',
  LOG: () => undefined,
  MARK(flow, { options }) {
    const xmark = firstValue(options, '--set-xmark');
    if (xmark === undefined) throw new WalkError('MARK is only known with --set-xmark');
    const { bits, mask } = markOf(xmark);
    flow.mark = ((flow.mark & ~mask) ^ bits) >>> 0;
    return undefined;
  },
  // Translation settles the connection's fate in the table nat.
  DNAT(flow, { options }) {
    const match = /^\[?([^\]]+?)\]?(?::(\d+))?$/.exec(firstValue(options, '--to-destination') ?? '');
    const [, address, port] = match ?? [];
    if (address === undefined) throw new WalkError('DNAT is only known to one address and port');
    flow.destination = address;
    flow.destinationPort = port === undefined ? flow.destinationPort : Number(port);
    flow.dnat = { address, port: flow.destinationPort };
    return 'accept';
  },
  MASQUERADE(flow) {
    flow.masquerade = true;
    return 'accept';
  },
  SNAT(flow, { options }) {
    flow.snat = firstValue(options, '--to-source');
    return 'accept';
  },
};
