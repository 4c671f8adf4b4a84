/** Address translation, which connection tracking then applies to the whole connection. */
import type { Expression, Statement } from '../../../backends/nftables/syntax/ast.ts';
import { type Flow, WalkError } from '../flow.ts';
import { evaluate, type Scope } from './evaluate.ts';

type NatStatement = Extract<Statement, { kind: 'nat' }>;

/** Translates as the statement says; `undefined` when it gives no target. Returns what was done, in words. */
export function translate(scope: Scope, statement: NatStatement): string | undefined {
  const { flow } = scope;
  switch (statement.type) {
    case 'masquerade':
      flow.masquerade = true;
      return 'masquerade';
    case 'dnat':
      return toDestination(scope, statement);
    case 'redirect':
      return redirect(scope, statement);
    case 'snat': {
      const target = evaluatedTarget(scope, statement.to);
      if (target === undefined) return undefined;
      flow.snat = single(target[0] ?? flow.source);
      return `source ${flow.snat}`;
    }
  }
}

function toDestination(scope: Scope, { to, port }: NatStatement): string | undefined {
  const target = evaluatedTarget(scope, to);
  const mappedPort = port === undefined ? undefined : evaluate(scope, port);
  if (target === undefined || (port !== undefined && mappedPort === undefined)) return undefined;
  const [address = scope.flow.destination, portText = mappedPort?.[0]] = target;
  return divert(scope.flow, single(address), portText);
}

/** Without a `to` the address stays. */
function evaluatedTarget(scope: Scope, to: Expression | undefined): string[] | undefined {
  return to === undefined ? [] : evaluate(scope, to);
}

/** The node's own packets are redirected to loopback; others to the address of the interface they came by. */
function redirect(scope: Scope, { port }: NatStatement): string | undefined {
  const { flow } = scope;
  if (flow.inInterface !== '') throw new WalkError('which address a redirected packet gets is not known');
  const mappedPort = port === undefined ? [] : evaluate(scope, port);
  return mappedPort && divert(flow, flow.family === 'IPv4' ? '127.0.0.1' : '::1', mappedPort[0]);
}

function divert(flow: Flow, address: string, portText: string | undefined): string {
  const port = portText === undefined ? flow.destinationPort : Number(single(portText));
  flow.destination = address;
  flow.destinationPort = port;
  flow.dnat = { address, port };
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

function single(text: string): string {
  if (text.includes('-') || text.includes('/'))
    throw new WalkError(`which of ${text} is picked is not known`);
  return text;
}
