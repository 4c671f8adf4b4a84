/** What the command line says of a mode arrives at that mode's back end. */
import { beforeEach, expect, test, vi } from 'vitest';
import { type BackendOptions, createBackend, type Mode } from '../../backends/registry.ts';
import { FakeBackend } from '../../test/support/fake-backend.ts';
import { optionsOf } from '../../test/support/node-under-test.ts';
import { createLogger } from '../log/logger.ts';
import { backendMaker } from './backends.ts';

vi.mock(import('../../backends/registry.ts'), async (original) => ({
  ...(await original()),
  createBackend: vi.fn<typeof createBackend>(),
}));

const made: BackendOptions[] = [];
beforeEach(() => {
  made.splice(0);
  vi.mocked(createBackend).mockImplementation(async (mode: Mode, options: BackendOptions) => {
    made.push(options);
    return new FakeBackend(mode, options.family);
  });
});

type GivenFlags = Parameters<typeof optionsOf>[0];

async function madeOf(given: GivenFlags): Promise<BackendOptions> {
  const log = await createLogger({ verbosity: 0, format: 'json' });
  await backendMaker(optionsOf(given), log)('ipvs', 'IPv6');
  const [options, ...others] = made;
  if (options === undefined || others.length > 0) throw new Error('there is not one back end');
  return options;
}

test('without a flag', async () => {
  const { ipvs, ...rest } = await madeOf({});
  expect(rest).toMatchObject({ family: 'IPv6', dispatch: 'auto', localhostNodePorts: true });
  expect(ipvs).toEqual({ excludeCIDRs: [], strictARP: false, parity: false, report: expect.any(Function) });
});

test.for<[GivenFlags, Partial<BackendOptions>]>([
  [{ localhostNodePorts: 'false' }, { localhostNodePorts: false }],
  [{ iptablesDispatch: 'split' }, { dispatch: 'split' }],
  [{ iptablesDispatch: 'flat' }, { dispatch: 'flat' }],
])('%o', async ([given, expected]) => {
  expect(await madeOf(given)).toMatchObject(expected);
});

test.for<[GivenFlags, BackendOptions['ipvs']]>([
  [{ ipvsScheduler: 'wlc' }, { scheduler: 'wlc' }],
  [{ ipvsExcludeCidrs: '10.0.0.1/8,fd00::/8' }, { excludeCIDRs: ['10.0.0.0/8', 'fd00::/8'] }],
  [{ ipvsStrictArp: 'true' }, { strictARP: true }],
  [{ ipvsParity: 'true' }, { parity: true }],
  [{ ipvsTcpTimeout: '15m' }, { timeouts: { tcp: 900, tcpFin: 0, udp: 0 } }],
  [{ ipvsTcpFinTimeout: '2m' }, { timeouts: { tcp: 0, tcpFin: 120, udp: 0 } }],
  [{ ipvsUdpTimeout: '5m' }, { timeouts: { tcp: 0, tcpFin: 0, udp: 300 } }],
  [
    { ipvsTcpTimeout: '1500ms', ipvsTcpFinTimeout: '1ms', ipvsUdpTimeout: '0' },
    { timeouts: { tcp: 1, tcpFin: 1, udp: 0 } },
  ],
])('in IPVS mode, %o', async ([given, expected]) => {
  expect((await madeOf({ proxyMode: 'ipvs', ...given })).ipvs).toMatchObject(expected ?? {});
});
