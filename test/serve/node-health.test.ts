/** What the program says of its health while a tool fails, and while its Node goes. */
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { OwnNode } from '../cli/own-node.ts';
import { endpointSlice, node, service } from '../support/apiserver/samples.ts';
import { nftablesSupported } from '../support/network/supported.ts';
import { until } from '../support/until.ts';

// Each start of the program takes its time on a busy machine.
vi.setConfig({ testTimeout: 180_000 });
const WAIT_MS = 90_000;

let own: OwnNode;
beforeEach(async () => {
  own = await OwnNode.create();
});
afterEach(() => own.close());

const NODE = node('node1', '192.0.2.1');
const HEALTH_PORT = 32_000;
const WEB = service('web', '10.96.0.10');
const OUTSIDE = {
  ...WEB,
  spec: {
    ...(WEB.spec as object),
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: HEALTH_PORT,
  },
};

interface Health {
  readonly lastUpdated: string;
  readonly currentTime: string;
  readonly nodeEligible?: boolean;
  readonly healthy: boolean;
  readonly status: Readonly<Record<string, { readonly lastUpdated: string; readonly healthy: boolean }>>;
}

async function health(path: string): Promise<{ status: number; body: Health }> {
  const { status, body } = await own.get(10_256, path);
  return { status, body: JSON.parse(body) as Health };
}

/** Whether each family is well, by what both paths say. */
async function families(): Promise<unknown> {
  const told = await Promise.all(['/healthz', '/livez'].map(health));
  return told.map(({ status, body }) => [
    status,
    body.healthy,
    Object.entries(body.status).map(([family, { healthy }]) => `${family} ${healthy}`),
  ]);
}

const supported = nftablesSupported();
const name = 'health';

describe.skipIf(!supported.ok)(supported.ok ? name : `${name} (skipped: ${supported.reason})`, () => {
  /** An nft that does nothing for IPv6 while that file is there. @returns the directory it is in */
  async function failingNft(broken: string): Promise<string> {
    const real = (await own.prints('sh', '-c', 'command -v nft')).trim();
    const directory = join(own.directory, 'bin.d');
    await mkdir(directory);
    const script = `#!/bin/sh
[ -e '${broken}' ] || exec '${real}' "$@"
input=$(cat)
case "$* $input" in *'ip6 kube-proxy'*) echo 'out of order' >&2; exit 1 ;; esac
printf '%s\\n' "$input" | exec '${real}' "$@"
`;
    await writeFile(join(directory, 'nft'), script);
    await chmod(join(directory, 'nft'), 0o755);
    return directory;
  }

  test('one family that cannot be written for two sync periods is named, and is well again once it can', async () => {
    const broken = join(own.directory, 'broken');
    const directory = await failingNft(broken);
    const six = service('six', 'fd00:10:96::10');
    const slices = (last: number) => [
      endpointSlice('web-1', 'web', [`10.244.1.${last}`]),
      endpointSlice('six-1', 'six', [`fd00:10:244:1::${last}`]),
    ];
    await own.write('all', NODE, OUTSIDE, six, ...slices(5));
    own.start(
      [
        '--iptables-sync-period=1s',
        '--iptables-min-sync-period=0s',
        '--ipvs-sync-period=1h',
        '--nodeport-addresses=0.0.0.0/0,::/0',
      ],
      { PATH: `${directory}:${process.env.PATH}` },
    );
    await own.synced();
    const well = [200, true, ['IPv4 true', 'IPv6 true']];
    await until(async () => (await own.get(HEALTH_PORT, '/')).status === 200, WAIT_MS);
    expect(await families()).toEqual([well, well]);

    await writeFile(broken, '');
    await own.write('all', NODE, OUTSIDE, six, ...slices(6));
    // Were the period 30 s it would take a minute.
    await until(async () => (await health('/healthz')).status === 503, 45_000);
    const ill = [503, false, ['IPv4 true', 'IPv6 false']];
    expect(await families()).toEqual([ill, ill]);
    const { body } = await health('/livez');
    // Healthy, the first of these is the present.
    expect(body.lastUpdated).toBe(body.status.IPv4?.lastUpdated);
    expect(Date.parse(body.currentTime) - Date.parse(body.status.IPv6?.lastUpdated ?? '')).toBeGreaterThan(
      2000,
    );
    // The other one goes on.
    await until(async () =>
      (await own.prints('nft', 'list', 'table', 'ip', 'kube-proxy')).includes('10.244.1.6'),
    );

    const ofService = await own.get(HEALTH_PORT, '/');
    expect([ofService.status, ofService.headers['x-load-balancing-endpoint-weight'], ofService.body]).toEqual(
      [
        503,
        '1',
        '{\n\t"service": {\n\t\t"namespace": "default",\n\t\t"name": "web"\n\t},\n\t"localEndpoints": 1,\n\t"serviceProxyHealthy": false\n}',
      ],
    );
    const ready = await own.get(10_249, '/readyz');
    expect([ready.status, ready.body]).toEqual([
      503,
      expect.stringMatching(
        /^\[\+\]rules-ipv4 ok\n\[-\]rules-ipv6 failed: changes have waited for \d+ s, last written \d+ s ago\n\[\+\]source ok\nreadyz check failed\n$/,
      ),
    ]);

    await rm(broken);
    await until(async () => (await health('/healthz')).status === 200, WAIT_MS);
    expect(await families()).toEqual([well, well]);
    expect((await own.get(HEALTH_PORT, '/')).status).toBe(200);
  });

  test('a Node that is about to go, going or gone is for /healthz to tell, and not for /livez', async () => {
    await own.write('all', WEB, endpointSlice('web-1', 'web', ['10.244.1.5']));
    await own.write('node', NODE);
    own.start([]);
    await own.synced();
    const eligible = async (expected: boolean) => {
      await until(async () => (await health('/healthz')).body.nodeEligible === expected, WAIT_MS);
      const [healthz, livez] = await Promise.all([health('/healthz'), health('/livez')]);
      expect([healthz.status, healthz.body.healthy]).toEqual([expected ? 200 : 503, true]);
      expect([livez.status, livez.body.healthy, livez.body.nodeEligible]).toEqual([200, true, undefined]);
    };
    await eligible(true);
    const tainted = (key: string) => ({ ...NODE, spec: { taints: [{ key, effect: 'NoSchedule' }] } });
    await own.write('node', tainted('ToBeDeletedByClusterAutoscaler'));
    await eligible(false);
    await own.write('node', tainted('node.kubernetes.io/unschedulable'));
    await eligible(true);
    await own.write('node', {
      ...NODE,
      metadata: { ...NODE.metadata, deletionTimestamp: '2026-03-01T12:00:00Z' },
    });
    await eligible(false);
    await own.write('node', NODE);
    await eligible(true);
    await rm(own.path('node'));
    await eligible(false);
  });
});
