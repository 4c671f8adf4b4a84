/** What every Kubernetes component tells about itself. */
import { arch, platform } from 'node:process';
import { Gauge } from './metric.ts';
import type { Registry } from './registry.ts';

/** A feature gate as `kubernetes_feature_enabled` has it; the stage of a gate that is GA is empty there. */
export interface FeatureGate {
  readonly name: string;
  readonly stage: 'ALPHA' | 'BETA' | 'DEPRECATED' | '';
  readonly enabled: boolean;
}

export interface BuildInfoOptions {
  readonly registry: Registry;
  /** `v0.1.0` */
  readonly version: string;
  readonly featureGates: readonly FeatureGate[];
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** Where Go programs tell the version of Go: `nodejs24.22.3`. */
export const LANGUAGE_VERSION = `nodejs${process.versions.node}`;

export function registerBuildInfo({ registry, version, featureGates }: BuildInfoOptions): void {
  const build = new Gauge(
    'kubernetes_build_info',
    '[ALPHA] This program and what it runs on; the version is its own, not that of Kubernetes',
    [
      'build_date',
      'compiler',
      'git_commit',
      'git_tree_state',
      'git_version',
      'go_version',
      'major',
      'minor',
      'platform',
    ],
  );
  const [, major = '', minor = ''] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  build.set(
    {
      build_date: '',
      compiler: 'node',
      git_commit: '',
      git_tree_state: '',
      git_version: version,
      go_version: LANGUAGE_VERSION,
      major,
      minor,
      platform: `${platform}/${ARCHITECTURES[arch] ?? arch}`,
    },
    1,
  );
  const features = new Gauge(
    'kubernetes_feature_enabled',
    '[BETA] Feature gates: 1 when enabled, 0 when not',
    ['name', 'stage'],
  );
  for (const { name, stage, enabled } of featureGates) features.set({ name, stage }, enabled ? 1 : 0);
  registry.register(build, features);
}
