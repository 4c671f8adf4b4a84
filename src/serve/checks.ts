/**
 * Named health checks, answered as Kubernetes components answer them (`k8s.io/apiserver/pkg/server/healthz`): `ok`,
 * or with `?verbose` a line for each, and without those that `?exclude=` names. Unlike those, a failed check says why.
 */
import { type Answer, NOT_FOUND, TEXT_HEADERS } from './answer.ts';

export interface Check {
  /** Part of its path: `ping`. */
  readonly name: string;
  /** What is wrong, in one line; `undefined` when nothing is. */
  readonly run: () => string | undefined;
}

/** There is nothing to check: answering is proof enough. */
export const PING: Check = { name: 'ping', run: () => undefined };

export interface CheckGroup {
  /** `healthz`, which is also its path. */
  readonly name: string;
  readonly checks: readonly Check[];
  /** Told of each check that was run, for metrics. */
  readonly ran?: (check: string, passed: boolean) => void;
}

/** What the group's own path is answered, and each check's: `/healthz`, `/healthz/ping`. 503 when one fails. */
export function checksAnswer(group: CheckGroup, path: string, query: URLSearchParams): Answer {
  const [name] = path.split(`/${group.name}/`).slice(1);
  if (name === undefined) return allAnswer(group, query);
  const check = group.checks.find((one) => one.name === name);
  if (!check) return NOT_FOUND;
  const problem = check.run();
  return text(problem === undefined, problem === undefined ? 'ok' : `${problem}\n`);
}

function allAnswer({ name, checks, ran }: CheckGroup, query: URLSearchParams): Answer {
  const excluded = new Set(query.getAll('exclude'));
  const lines: string[] = [];
  let ok = true;
  for (const check of checks) {
    if (excluded.delete(check.name)) {
      lines.push(`[+]${check.name} excluded: ok`);
      continue;
    }
    const problem = check.run();
    ran?.(check.name, problem === undefined);
    ok &&= problem === undefined;
    lines.push(problem === undefined ? `[+]${check.name} ok` : `[-]${check.name} failed: ${problem}`);
  }
  if (excluded.size > 0) {
    const unknown = [...excluded].sort().map((one) => JSON.stringify(one));
    lines.push(`warn: some health checks cannot be excluded: no matches for ${unknown.join(',')}`);
  }
  if (ok && !query.has('verbose')) return text(true, 'ok');
  lines.push(`${name} check ${ok ? 'passed' : 'failed'}`);
  return text(ok, `${lines.join('\n')}\n`);
}

function text(ok: boolean, body: string): Answer {
  return { status: ok ? 200 : 503, headers: TEXT_HEADERS, body };
}
