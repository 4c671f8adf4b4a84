/** The table of docs/endpoints.md: every path there is, asked what it answers. */
import { code, markdownTable } from '../docs/markdown.ts';
import { parityText } from '../docs/parity.ts';
import { Registry } from '../metrics/registry.ts';
import { type Answer, type Asked, BAD_REQUEST, NOT_ALLOWED, NOT_FOUND, redirectTo } from './answer.ts';
import { ENDPOINT_NOTES, type EndpointNote, SERVERS, type ServerName } from './endpoint-notes.ts';
import type { HealthState } from './health-tracker.ts';
import { HEALTH_PATHS, healthAnswer } from './healthz.ts';
import { metricsRoutes } from './metrics-server.ts';
import { serviceHealthAnswer } from './service-health.ts';

/** All that a path may be answered; the first is what it is answered when all is well. */
type Answers = readonly Answer[];

/**
 * Throws when there is a path that nothing is said about, or something is said about a path that is not there.
 */
export async function endpointsTable(): Promise<string> {
  const answers = await allAnswers();
  const rows = Object.entries(SERVERS).flatMap(([server, title]) => {
    const told = answers[server as ServerName];
    const notes = ENDPOINT_NOTES[server as ServerName];
    const silent = [...told.keys()].filter((path) => !notes.some((note) => note.path === path));
    if (silent.length > 0) throw new Error(`nothing is said about ${silent.join(', ')} of ${server}`);
    return notes.map((note, index) => [index === 0 ? title : '', ...endpointRow(note, told.get(note.path))]);
  });
  return markdownTable(['Server', 'Path', 'Status', 'Headers', 'Body', 'Beside kube-proxy'], rows);
}

function endpointRow({ path, body, parity }: EndpointNote, answers: Answers | undefined): string[] {
  const isHere = typeof parity === 'string' || 'different' in parity;
  if (isHere !== (answers !== undefined)) {
    throw new Error(`${path} is said to be ${isHere ? '' : 'not '}here`);
  }
  const statuses = new Set(answers?.map(({ status }) => `${status}`));
  const headers = Object.entries(answers?.[0]?.headers ?? {}).map(([name, value]) => `\`${name}: ${value}\``);
  const name = /^[/*]/.test(path) ? code(path === '*' ? '/*' : path) : path;
  return [name, [...statuses].join(', '), headers.join(', '), body, parityText(parity)];
}

async function allAnswers(): Promise<Readonly<Record<ServerName, ReadonlyMap<string, Answers>>>> {
  const others: readonly [string, Answers][] = [
    ['other paths', [NOT_FOUND]],
    ['other methods than GET and HEAD', [NOT_ALLOWED]],
    ['broken escapes, as in `/%zz`', [BAD_REQUEST]],
  ];
  const redirect: [string, Answers] = ['paths with `//`, `/./` or `/../`', [redirectTo('/healthz')]];
  return {
    healthz: new Map([...healthzAnswers(), redirect, ...others]),
    metrics: new Map([...(await metricsAnswers()), ...others]),
    service: new Map([['*', serviceAnswers()], ...others.slice(1)]),
  };
}

function healthzAnswers(): [string, Answers][] {
  const well: HealthState = {
    families: { IPv4: { lastUpdated: 1, oldestPending: 0 } },
    nodeEligible: true,
    syncPeriod: 1,
  };
  const stale: HealthState = { ...well, families: { IPv4: { lastUpdated: 1, oldestPending: 1 } } };
  return [...HEALTH_PATHS.keys()].map((path) => [
    path,
    [well, stale].map((state) => healthAnswer(path, state, 10)),
  ]);
}

/** Each path with all well, to who takes no format that there is, and with a check that fails. */
async function metricsAnswers(): Promise<[string, Answers][]> {
  let problem: string | undefined;
  const routes = metricsRoutes({
    mode: 'nftables',
    registry: new Registry(),
    version: 'v0.0.0',
    startedAt: 0,
    configs: {},
    flags: {},
    // Any of its checks stands for all.
    readiness: [{ name: '*', run: () => problem }],
    now: () => 0,
    random: () => 0,
  });
  const ask = (accept: string): Asked => ({ query: new URLSearchParams(), accept, userAgent: '' });
  const all: [string, Answers][] = [];
  for (const [path, route] of routes) {
    const answers = [await route(ask(''), path), await route(ask('application/xml'), path)];
    problem = 'broken';
    answers.push(await route(ask(''), path));
    problem = undefined;
    all.push([path, answers]);
  }
  return all;
}

function serviceAnswers(): Answers {
  return [2, 0].map((localEndpoints) => serviceHealthAnswer('shop/web', localEndpoints, true));
}
