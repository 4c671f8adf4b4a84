/** ConfigMaps as kubeadm and kind leave them, mounted as kubelet does, taken as they are. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfiguration } from '../../src/config/configuration/read.ts';
import { type Options, parseOptions } from '../../src/config/options.ts';
import { readKubeconfig } from '../../src/source/api/kubeconfig.ts';
import { configMapData, MountedConfigMap } from '../support/config-map.ts';

interface Expected {
  readonly options: Partial<Options>;
  readonly server: string;
  /** What is told of it, and left out. */
  readonly notices?: readonly string[];
}

const CLUSTER = { kubeconfig: '/var/lib/kube-proxy/kubeconfig.conf', clusterCidr: ['10.244.0.0/16'] };
const KIND = { ...CLUSTER, conntrackMaxPerCore: 0 };
const SERVERS = {
  kubeadm: 'https://192.0.2.10:6443',
  kind: 'https://kind-control-plane:6443',
};
const EXPECTED: Readonly<Record<string, Expected>> = {
  kubeadm: {
    options: {
      ...CLUSTER,
      proxyMode: 'iptables',
      conntrackMaxPerCore: 32_768,
      conntrackTcpTimeoutEstablished: 86_400_000,
      oomScoreAdj: -999,
      syncPeriod: 30_000,
      minSyncPeriod: 1000,
      healthzBindAddress: { host: '0.0.0.0', port: 10_256 },
      metricsBindAddress: { host: '127.0.0.1', port: 10_249 },
    },
    server: SERVERS.kubeadm,
  },
  kind: {
    options: { ...KIND, proxyMode: 'iptables', minSyncPeriod: 1000, localhostNodePorts: true },
    server: SERVERS.kind,
  },
  'kind-rootless': {
    options: {
      ...KIND,
      proxyMode: 'iptables',
      conntrackTcpTimeoutEstablished: 0,
      conntrackTcpTimeoutCloseWait: 0,
    },
    server: SERVERS.kind,
  },
  'kind-ipvs': {
    options: {
      ...KIND,
      proxyMode: 'ipvs',
      // IPVS has its own: that of `iptables` does not count.
      minSyncPeriod: 0,
      syncPeriod: 30_000,
      ipvsStrictArp: true,
      ipvsExcludeCidrs: [],
      masqueradeBit: 14,
    },
    server: SERVERS.kind,
    notices: [
      'config.conf: featureGates: left out, as they are no feature gates of a Service proxy: KubeletInUserNamespace',
    ],
  },
  'kind-nftables': {
    options: {
      ...KIND,
      proxyMode: 'nftables',
      clusterCidr: ['10.244.0.0/16', 'fd00:10:244::/56'],
      conntrackTcpBeLiberal: true,
      minSyncPeriod: 1000,
    },
    server: SERVERS.kind,
    notices: [
      'config.conf: featureGates: left out, as they are no feature gates of a Service proxy: DynamicResourceAllocation',
    ],
  },
};

test('none of them is forgotten here', () => {
  const files = readdirSync(join(import.meta.dirname, '../fixtures/kube-proxy-config'));
  expect(files.sort()).toEqual(
    Object.keys(EXPECTED)
      .map((name) => `${name}.yaml`)
      .sort(),
  );
});

test.for(Object.entries(EXPECTED))('%s', async ([name, { options, server, notices = [] }]) => {
  const data = await configMapData(name);
  const { given, notices: told } = await readConfiguration(data['config.conf'] ?? '', 'config.conf');
  expect(told).toEqual(notices);
  expect(parseOptions(given)).toMatchObject({ ok: true, options });
  const mounted = await MountedConfigMap.create(data);
  try {
    const { cluster, user } = await readKubeconfig(mounted.path('kubeconfig.conf'));
    const account = '/var/run/secrets/kubernetes.io/serviceaccount';
    expect({ cluster, user }).toEqual({
      cluster: { server, 'certificate-authority': `${account}/ca.crt` },
      user: { tokenFile: `${account}/token` },
    });
  } finally {
    await mounted.remove();
  }
});
