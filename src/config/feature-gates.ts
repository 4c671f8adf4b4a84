/**
 * Feature gates of Service proxies in Kubernetes 1.36. Kubernetes has many more, and kube-proxy knows them all; what
 * is not here says nothing to a Service proxy.
 */
import { field, parseBool } from './fields.ts';

type Stage = 'alpha' | 'beta' | 'GA';

interface Gate {
  readonly stage: Stage;
  readonly enabled: boolean;
  /** It can be named, and not changed. */
  readonly locked?: true;
  /** What it does here. */
  readonly effect: string;
}

export const FEATURE_GATES = {
  AllowServiceExternalIPs: {
    stage: 'GA',
    enabled: true,
    effect: "off: `spec.externalIPs` of Services isn't programmed (KEP-5707)",
  },
  ComponentFlagz: { stage: 'beta', enabled: true, effect: '`/flagz` on the metrics server' },
  ComponentStatusz: { stage: 'beta', enabled: true, effect: '`/statusz` on the metrics server' },
  ContextualLogging: { stage: 'beta', enabled: true, effect: 'none' },
  LoggingAlphaOptions: { stage: 'alpha', enabled: false, effect: 'none' },
  LoggingBetaOptions: { stage: 'beta', enabled: true, effect: 'none' },
  MultiCIDRServiceAllocator: {
    stage: 'GA',
    enabled: true,
    locked: true,
    effect: 'ServiceCIDRs are watched',
  },
  NFTablesProxyMode: { stage: 'GA', enabled: true, locked: true, effect: 'nftables mode' },
  NativeHistograms: { stage: 'alpha', enabled: false, effect: 'none' },
  PreferSameTrafficDistribution: {
    stage: 'GA',
    enabled: true,
    locked: true,
    effect: 'hints for nodes count',
  },
  WinDSR: { stage: 'GA', enabled: true, locked: true, effect: 'none: Windows' },
  WinOverlay: { stage: 'GA', enabled: true, locked: true, effect: 'none: Windows' },
} as const satisfies Readonly<Record<string, Gate>>;

export type GateName = keyof typeof FEATURE_GATES;

/** Whether each gate is on. */
export type FeatureGates = Readonly<Record<GateName, boolean>>;

/** They set every gate of a stage that isn't named itself. */
const STAGE_GATES: Readonly<Record<string, Stage>> = { AllAlpha: 'alpha', AllBeta: 'beta' };

/** What they guarded is part of Kubernetes 1.36 for good, and kube-proxy no longer knows the names. */
export const GONE_GATES: ReadonlySet<string> = new Set([
  'KubeProxyDrainingTerminatingNodes',
  'LoadBalancerIPMode',
  'MinimizeIPTablesRestore',
  'ProxyTerminatingEndpoints',
  'ServiceInternalTrafficPolicy',
  'ServiceTrafficDistribution',
  'TopologyAwareHints',
]);

/** `A=true,B=false`, the same in several texts, or a mapping as a configuration file has it. */
export function featureGatesField() {
  return field<Readonly<Record<string, boolean>>>({
    allowed: 'must be feature gates, such as ComponentFlagz=true,NativeHistograms=false',
    inFile: 'mapping',
    read: (input) => (isMapping(input) ? booleans(Object.entries(input)) : fromTexts(input)),
  });
}

function isMapping(input: unknown): input is Readonly<Record<string, unknown>> {
  return typeof input === 'object' && input !== null && !Array.isArray(input);
}

function booleans(entries: readonly (readonly [string, unknown])[]): Record<string, boolean> | undefined {
  const checked = entries.filter(
    (entry): entry is readonly [string, boolean] => typeof entry[1] === 'boolean',
  );
  return checked.length === entries.length ? Object.fromEntries(checked) : undefined;
}

function fromTexts(input: unknown): Record<string, boolean> | undefined {
  const texts: readonly unknown[] = Array.isArray(input) ? input : [input];
  if (!texts.every((text) => typeof text === 'string')) return undefined;
  const pairs = texts.flatMap((text) => text.split(',')).filter((pair) => pair.trim() !== '');
  return booleans(
    pairs.map((pair) => {
      const [name = '', value] = pair.split('=', 2).map((part) => part.trim());
      return [name, parseBool(value)];
    }),
  );
}

/** Why a gate cannot be set so; `undefined` when it can. */
export function gateProblem(name: string, enabled: boolean): string | undefined {
  if (name in STAGE_GATES) return undefined;
  if (GONE_GATES.has(name)) return `${name} is gone, what it guarded is always on; leave it out`;
  if (!isGate(name)) return `${name} is no feature gate of a Service proxy in Kubernetes 1.36`;
  const gate: Gate = FEATURE_GATES[name];
  return gate.locked && enabled !== gate.enabled ? `${name} is locked to ${gate.enabled}` : undefined;
}

/** Whether a gate means something to a Service proxy, or is one of another component of the cluster. */
export function isProxyGate(name: string): boolean {
  return name in STAGE_GATES || isGate(name);
}

function isGate(name: string): name is GateName {
  return Object.hasOwn(FEATURE_GATES, name);
}

/** Every gate: as it is set itself, else as its stage is set, else as it is by default. */
export function effectiveGates(given: Readonly<Record<string, boolean>>): FeatureGates {
  const byStage = new Map(
    Object.entries(STAGE_GATES).flatMap(([name, stage]) => {
      const enabled = given[name];
      return enabled === undefined ? [] : [[stage, enabled] as const];
    }),
  );
  const enabled = (name: GateName) => {
    const gate: Gate = FEATURE_GATES[name];
    return given[name] ?? byStage.get(gate.stage) ?? gate.enabled;
  };
  const names = Object.keys(FEATURE_GATES) as GateName[];
  return Object.fromEntries(names.map((name) => [name, enabled(name)])) as Record<GateName, boolean>;
}

/** Gates as components tell of them in `kubernetes_feature_enabled`, where what is GA has no stage. */
export function toldGates(
  gates: FeatureGates,
): readonly { readonly name: GateName; readonly stage: 'ALPHA' | 'BETA' | ''; readonly enabled: boolean }[] {
  const names = Object.keys(FEATURE_GATES) as GateName[];
  return names.map((name) => {
    const { stage }: Gate = FEATURE_GATES[name];
    return { name, stage: STAGES[stage], enabled: gates[name] };
  });
}

const STAGES = { alpha: 'ALPHA', beta: 'BETA', GA: '' } as const satisfies Record<Stage, string>;
