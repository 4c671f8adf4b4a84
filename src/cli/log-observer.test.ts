import pino from 'pino';
import { expect, test } from 'vitest';
import type { FrontEnd } from '../plan/plan.ts';
import { logObserver } from './log-observer.ts';

const REJECT = { action: 'reject' } as const;

function frontEnd(kind: FrontEnd['kind'], address: string, port: number): FrontEnd {
  return { kind, address, port, routes: { pod: REJECT, node: REJECT, other: REJECT } };
}

test('full syncs are news, changes are for debugging, a lost front end is told of once', () => {
  const lines: object[] = [];
  const log = pino(
    { base: null, timestamp: false, level: 'debug', formatters: { level: (level) => ({ level }) } },
    { write: (line) => lines.push(JSON.parse(line) as object) },
  );
  const observer = logObserver(log);
  const report = {
    steps: 1,
    planSeconds: 0.1,
    diffSeconds: 0.02,
    applySeconds: 0.0031,
    waitedSeconds: 0,
    plans: new Map(),
    changedAt: [],
  };
  observer.synced?.({ family: 'IPv4', full: true, services: 9, ...report });
  observer.synced?.({ family: 'IPv6', full: false, services: 1, ...report });
  const lost = [
    { plan: 'default/b', winner: 'default/a', frontEnd: frontEnd('externalIP', '198.51.100.1', 80) },
    { plan: 'default/b', winner: 'default/c', frontEnd: frontEnd('nodePort', '', 30080) },
  ];
  observer.lost?.('IPv4', lost);
  observer.lost?.('IPv4', lost);
  expect(lines).toEqual([
    {
      level: 'info',
      family: 'IPv4',
      full: true,
      services: 9,
      steps: 1,
      elapsed: '123ms',
      msg: 'SyncProxyRules complete',
    },
    {
      level: 'debug',
      family: 'IPv6',
      full: false,
      services: 1,
      steps: 1,
      elapsed: '123ms',
      msg: 'SyncProxyRules complete',
    },
    {
      level: 'warn',
      family: 'IPv4',
      service: 'default/b',
      winner: 'default/a',
      msg: 'default/b: externalIP 198.51.100.1 port 80 belongs to default/a',
    },
    {
      level: 'warn',
      family: 'IPv4',
      service: 'default/b',
      winner: 'default/c',
      msg: 'default/b: node port 30080 belongs to default/c',
    },
  ]);
});
