/** The manifests: what a cluster would be given, object by object. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { V1ClusterRole, V1ClusterRoleBinding, V1ConfigMap, V1DaemonSet } from '@kubernetes/client-node';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { configure } from '../../src/cli/commands/kube-proxy.ts';
import { readConfiguration } from '../../src/config/configuration/read.ts';
import { type Options, parseOptions } from '../../src/config/options.ts';
import { readKubeconfig } from '../../src/source/api/kubeconfig.ts';
import { VERSION } from '../../src/version.ts';
import { kubectlKustomize, kubectlMissing } from './kubectl.ts';
import { buildKustomization, type Manifest, readYaml } from './kustomize.ts';
import { schemaProblems } from './schema.ts';

const MANIFESTS = resolve(import.meta.dirname, '../../manifests');

interface Expected {
  readonly mode: Options['proxyMode'];
  readonly image: string;
  readonly server: string;
  readonly capabilities: readonly string[];
  readonly conntrackMaxPerCore: number;
}

const PLAIN = {
  image: `kube-rulesync:${VERSION}`,
  server: 'https://control-plane.example:6443',
  conntrackMaxPerCore: 32_768,
};
const EXPECTED: Readonly<Record<string, Expected>> = {
  base: { ...PLAIN, mode: 'nftables', capabilities: ['NET_ADMIN'] },
  'overlays/nftables': { ...PLAIN, mode: 'nftables', capabilities: ['NET_ADMIN'] },
  'overlays/iptables': { ...PLAIN, mode: 'iptables', capabilities: ['NET_ADMIN', 'NET_RAW'] },
  'overlays/ipvs': { ...PLAIN, mode: 'ipvs', capabilities: ['NET_ADMIN', 'NET_RAW'] },
  kind: {
    mode: 'nftables',
    image: 'kube-rulesync:dev',
    server: 'https://kind-control-plane:6443',
    capabilities: ['NET_ADMIN'],
    conntrackMaxPerCore: 0,
  },
};

/** The one object of a kind, with the API's type: its shape is checked by a test of its own. */
function only<Kind>(objects: readonly Manifest[], kind: string): Kind {
  const found = objects.filter((object) => object.kind === kind);
  expect(found).toHaveLength(1);
  return found[0] as unknown as Kind;
}

describe.each(Object.keys(EXPECTED))('manifests/%s', (name) => {
  const expected = EXPECTED[name] as Expected;
  const objects = buildKustomization(join(MANIFESTS, name));
  const daemonSet = only<V1DaemonSet>(objects, 'DaemonSet');
  const configMap = only<V1ConfigMap>(objects, 'ConfigMap');
  const template = daemonSet.spec?.template;
  const pod = template?.spec;
  const [container, ...others] = pod?.containers ?? [];
  const [init, ...otherInits] = pod?.initContainers ?? [];

  it('has five objects, all of kube-system or of no namespace, under one name and label', () => {
    expect(objects.map(({ kind, metadata }) => [kind, metadata.name, metadata.namespace])).toEqual([
      ['ServiceAccount', 'kube-rulesync', 'kube-system'],
      ['ClusterRole', 'kube-rulesync', undefined],
      ['ClusterRoleBinding', 'kube-rulesync', undefined],
      ['ConfigMap', 'kube-rulesync', 'kube-system'],
      ['DaemonSet', 'kube-rulesync', 'kube-system'],
    ]);
    for (const { metadata } of objects) expect(metadata.labels).toEqual({ 'k8s-app': 'kube-rulesync' });
  });

  it('has the shapes of the Kubernetes API', () => {
    expect(objects.flatMap(schemaProblems)).toEqual([]);
  });

  it('lets the service account do what system:node-proxier may, and no more', () => {
    const role = only<V1ClusterRole>(objects, 'ClusterRole');
    const granted = (role.rules ?? []).flatMap(({ apiGroups = [], resources = [], verbs }) =>
      apiGroups.flatMap((group) => resources.map((resource) => `${group}/${resource}: ${verbs.join(' ')}`)),
    );
    expect(granted.sort()).toEqual([
      '/endpoints: list watch',
      '/events: create patch update',
      '/nodes: get list watch',
      '/services: list watch',
      'discovery.k8s.io/endpointslices: list watch',
      'events.k8s.io/events: create patch update',
      'networking.k8s.io/servicecidrs: list watch',
    ]);
    const binding = only<V1ClusterRoleBinding>(objects, 'ClusterRoleBinding');
    expect(binding.roleRef).toEqual({
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'ClusterRole',
      name: 'kube-rulesync',
    });
    expect(binding.subjects).toEqual([
      { kind: 'ServiceAccount', name: 'kube-rulesync', namespace: 'kube-system' },
    ]);
    expect(pod?.serviceAccountName).toBe('kube-rulesync');
  });

  it('runs on every Linux node, in its network, before and beside everything else', () => {
    expect(daemonSet.spec?.selector.matchLabels).toEqual(template?.metadata?.labels);
    expect(pod).toMatchObject({
      hostNetwork: true,
      dnsPolicy: 'Default',
      priorityClassName: 'system-node-critical',
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [{ operator: 'Exists' }],
    });
    // A DaemonSet restarts them whatever they end with.
    expect(pod?.restartPolicy).toBeUndefined();
  });

  it('gives full rights to what starts first and few to what goes on', () => {
    expect(otherInits).toEqual([]);
    expect(init?.securityContext).toEqual({ privileged: true, readOnlyRootFilesystem: true });
    expect(others).toEqual([]);
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'], add: expected.capabilities },
    });
    expect(pod?.securityContext).toEqual({ seccompProfile: { type: 'RuntimeDefault' } });
  });

  it('is called as kubeadm calls kube-proxy, with flags that the program has', () => {
    const command = [
      '/usr/local/bin/kube-proxy',
      '--config=/var/lib/kube-proxy/config.conf',
      '--hostname-override=$(NODE_NAME)',
    ];
    expect(container?.command).toEqual(command);
    expect(init?.command).toEqual([...command, '--init-only']);
    const program = new Command();
    configure(program);
    const known = program.options.map(({ long }) => long);
    for (const argument of [...(container?.command ?? []), ...(init?.command ?? [])]) {
      if (argument.startsWith('--')) expect(known).toContain(argument.replace(/=.*/, ''));
    }
    for (const one of [container, init]) {
      expect(one?.image).toBe(expected.image);
      expect(one?.env).toEqual([
        { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
      ]);
    }
  });

  it('mounts what kubeadm mounts, from volumes that are there', () => {
    expect(pod?.volumes).toEqual([
      { name: 'config', configMap: { name: 'kube-rulesync' } },
      { name: 'xtables-lock', hostPath: { path: '/run/xtables.lock', type: 'FileOrCreate' } },
      { name: 'lib-modules', hostPath: { path: '/lib/modules' } },
    ]);
    for (const one of [container, init]) {
      expect(one?.volumeMounts).toEqual([
        { name: 'config', mountPath: '/var/lib/kube-proxy', readOnly: true },
        { name: 'xtables-lock', mountPath: '/run/xtables.lock' },
        { name: 'lib-modules', mountPath: '/lib/modules', readOnly: true },
      ]);
    }
    expect(configMap.metadata?.name).toBe('kube-rulesync');
    expect(Object.keys(configMap.data ?? {}).sort()).toEqual(['config.conf', 'kubeconfig.conf']);
  });

  describe('its configuration', () => {
    let options: Options;
    beforeAll(async () => {
      const text = configMap.data?.['config.conf'] ?? '';
      const { given, notices } = await readConfiguration(text, 'config.conf');
      // A field that does not exist, or is set twice, would be told here.
      expect(notices).toEqual([]);
      const result = parseOptions(given);
      if (!result.ok) throw new Error(JSON.stringify(result.problems));
      options = result.options;
    });

    it('is one that the program takes, in the mode it is for', () => {
      expect(options).toMatchObject({
        proxyMode: expected.mode,
        kubeconfig: '/var/lib/kube-proxy/kubeconfig.conf',
        detectLocalMode: 'ClusterCIDR',
        clusterCidr: ['10.244.0.0/16'],
        syncPeriod: 30_000,
        minSyncPeriod: 1_000,
        oomScoreAdj: -997,
        conntrackMaxPerCore: expected.conntrackMaxPerCore,
      });
    });

    it('listens where probes and Prometheus look', () => {
      const port = (of: string) => container?.ports?.find(({ name: called }) => called === of)?.containerPort;
      expect(options.healthzBindAddress).toEqual({ host: '0.0.0.0', port: port('healthz') });
      expect(options.metricsBindAddress).toEqual({ host: '0.0.0.0', port: port('metrics') });
      expect(template?.metadata?.annotations).toEqual({
        'prometheus.io/scrape': 'true',
        'prometheus.io/port': String(port('metrics')),
        'prometheus.io/path': '/metrics',
      });
      expect(container?.readinessProbe?.httpGet).toEqual({ path: '/livez', port: 'healthz' });
      expect(container?.livenessProbe?.httpGet).toEqual({ path: '/livez', port: 'healthz' });
    });
  });

  describe('its kubeconfig', () => {
    const directory = mkdtempSync(join(tmpdir(), 'manifests-'));
    afterAll(() => rmSync(directory, { recursive: true }));

    it("names the API server itself, and the service account's own files", async () => {
      const file = join(directory, 'kubeconfig.conf');
      writeFileSync(file, configMap.data?.['kubeconfig.conf'] ?? '');
      const { cluster, user } = await readKubeconfig(file);
      expect(cluster).toEqual({
        server: expected.server,
        'certificate-authority': '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt',
      });
      expect(user).toEqual({ tokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token' });
    });
  });

  const missing = kubectlMissing();
  it.skipIf(missing)(`is built by kubectl as it is here${missing ? ` (skipped: ${missing})` : ''}`, () => {
    const sorted = (all: readonly Manifest[]) => [...all].sort((a, b) => a.kind.localeCompare(b.kind));
    expect(sorted(kubectlKustomize(join(MANIFESTS, name)))).toEqual(sorted(objects));
  });
});

test('the kind cluster has no kube-proxy, and the pods the configuration speaks of', () => {
  expect(readYaml(join(MANIFESTS, 'kind/cluster.yaml'))).toEqual([
    {
      kind: 'Cluster',
      apiVersion: 'kind.x-k8s.io/v1alpha4',
      networking: { kubeProxyMode: 'none', podSubnet: '10.244.0.0/16' },
      nodes: [{ role: 'control-plane' }, { role: 'worker' }, { role: 'worker' }],
    },
  ]);
});

test('what the API would not take is found', () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', annotations: { port: 10_249 } },
    spec: {
      hostNetwork: 'yes',
      containers: [{ name: 'c', ports: [{ containerPort: '80' }], livenessProbe: { httpget: { port: 1 } } }],
    },
  };
  expect(schemaProblems(pod)).toEqual([
    'Pod.metadata.annotations.port: must be a string, and is 10249',
    'Pod.spec.hostNetwork: must be a boolean, and is "yes"',
    'Pod.spec.containers[0].ports[0].containerPort: must be a number, and is "80"',
    'Pod.spec.containers[0].livenessProbe.httpget: V1Probe has no such field',
  ]);
});
