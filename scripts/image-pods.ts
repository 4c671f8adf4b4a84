/** The pods that the image is tried in: those of `manifests/`, and kubeadm's kube-proxy with its image swapped. */
import { join } from 'node:path';
import type { V1ConfigMap, V1Container, V1DaemonSet, V1PodSpec } from '@kubernetes/client-node';
import { buildKustomization, readYaml } from '../test/manifests/kustomize.ts';

export interface TriedPod {
  readonly mode: string;
  readonly spec: V1PodSpec;
  /** What runs before, with full rights. */
  readonly init?: V1Container;
  readonly main: V1Container;
  /** The ConfigMap's files. */
  readonly files: Readonly<Record<string, string>>;
  /** The volume that the ConfigMap is. */
  readonly configVolume: string;
}

const ROOT = join(import.meta.dirname, '..');

/** `kubeadm`, or a mode that `manifests/overlays` has. Throws for another name. */
export function triedPod(name: string): TriedPod {
  return name === 'kubeadm' ? kubeadmPod() : overlayPod(name);
}

function overlayPod(mode: string): TriedPod {
  const objects = buildKustomization(join(ROOT, 'manifests/overlays', mode));
  const daemonSet = objects.find(({ kind }) => kind === 'DaemonSet') as unknown as V1DaemonSet;
  const configMap = objects.find(({ kind }) => kind === 'ConfigMap') as unknown as V1ConfigMap;
  const spec = daemonSet.spec?.template.spec;
  const [init, main] = [spec?.initContainers?.[0], spec?.containers[0]];
  if (!spec || !init || !main) throw new Error(`overlay ${mode}: its DaemonSet lacks a container`);
  return { mode, spec, init, main, files: configMap.data ?? {}, configVolume: 'config' };
}

/** As kubeadm writes it (`cmd/kubeadm/app/phases/addons/proxy/manifests.go`), with mode "" for iptables. */
function kubeadmPod(): TriedPod {
  const [configMap] = readYaml(join(ROOT, 'test/fixtures/kube-proxy-config/kubeadm.yaml'));
  const main: V1Container = {
    name: 'kube-proxy',
    command: [
      '/usr/local/bin/kube-proxy',
      '--config=/var/lib/kube-proxy/config.conf',
      '--hostname-override=$(NODE_NAME)',
    ],
    securityContext: { privileged: true },
    volumeMounts: [
      { name: 'kube-proxy', mountPath: '/var/lib/kube-proxy' },
      { name: 'xtables-lock', mountPath: '/run/xtables.lock' },
      { name: 'lib-modules', mountPath: '/lib/modules', readOnly: true },
    ],
  };
  const spec: V1PodSpec = {
    containers: [main],
    volumes: [{ name: 'kube-proxy' }, { name: 'xtables-lock' }, { name: 'lib-modules' }],
  };
  const files = (configMap as unknown as V1ConfigMap).data ?? {};
  return { mode: 'iptables', spec, main, files, configVolume: 'kube-proxy' };
}
