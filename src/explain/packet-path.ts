/**
 * The way of a connection's first packet through the kernel's hooks, whatever kind of rules hangs on them. A packet
 * from elsewhere meets prerouting, then routing (by its destination after translation), then input or forward and
 * postrouting; one of the node's own meets output, routing and postrouting, and if it is for the node itself
 * prerouting and input after that.
 */
import type { Flow, WalkEnvironment } from './flow.ts';
import { isLocal } from './nft/field-values.ts';

export type PathHook = 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting';

export type Ending = 'accept' | 'drop' | 'reject';

/** Which end of a connection the translation at a hook decides on; each is decided once. */
export const NAT_END: Readonly<Partial<Record<PathHook, 'source' | 'destination'>>> = {
  prerouting: 'destination',
  output: 'destination',
  input: 'source',
  postrouting: 'source',
};

/**
 * Takes a packet along its way, keeping its interfaces up to date.
 * @param at what rules do with it at a hook; `undefined` when they let it go on
 */
export function followPath(
  flow: Flow,
  environment: WalkEnvironment,
  at: (hook: PathHook) => 'drop' | 'reject' | undefined,
): Ending {
  const isForNode = (): boolean => isLocal(flow.destination, environment.localAddresses);
  const leave = (): void => {
    flow.outInterface = isForNode() ? 'lo' : (environment.outInterface?.(flow.destination) ?? '');
  };
  if (flow.inInterface !== '') {
    const stopped = at('prerouting');
    if (stopped !== undefined) return stopped;
    if (isForNode()) return at('input') ?? 'accept';
    leave();
    return at('forward') ?? at('postrouting') ?? 'accept';
  }
  leave();
  const stopped = at('output');
  if (stopped !== undefined) return stopped;
  // Translation in output has the packet routed again.
  leave();
  const toItself = isForNode();
  const left = at('postrouting');
  if (left !== undefined || !toItself) return left ?? 'accept';
  // Over the loopback interface; the connection is known by now, and its translation settled.
  flow.inInterface = 'lo';
  flow.outInterface = '';
  return at('prerouting') ?? at('input') ?? 'accept';
}
