/** Options as a KubeProxyConfiguration: what `--write-config-to` writes and `/configz` answers. */
import { z } from 'zod';
import { compareText } from '../../net/ip.ts';
import { FIELDS, type FlagValues, flagsSchema, type OptionName } from '../flags.ts';

export const API_VERSION = 'kubeproxy.config.k8s.io/v1alpha1';
export const KIND = 'KubeProxyConfiguration';

/** The object as JSON has it. Its fields are those of `FIELDS`; their order is by name, on every level. */
export type KubeProxyConfiguration = Readonly<Record<string, unknown>>;

/** Fields that are left out when they are empty, as in kube-proxy's own output. */
const LEFT_OUT_WHEN_EMPTY: ReadonlySet<string> = new Set([
  'featureGates',
  'logging.format',
  'logging.vmodule',
  'logging.options.text.splitStream',
  'logging.options.json.splitStream',
  'windowsRunAsService',
]);

export function configurationOf(values: FlagValues): KubeProxyConfiguration {
  const root: Record<string, unknown> = { apiVersion: API_VERSION, kind: KIND };
  for (const [name, { field }] of FIELDS) {
    const value = written(name, values[name]);
    if (!(LEFT_OUT_WHEN_EMPTY.has(field) && isEmpty(value))) put(root, field.split('.'), value);
  }
  return sorted(root);
}

/** As YAML text, of which YAML 1.1, too, makes the same: a text such as `on` is in quotes. */
export async function configurationYaml(configuration: KubeProxyConfiguration): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(configuration, { lineWidth: 0, compat: 'yaml-1.1' });
}

function written(name: OptionName, value: unknown): unknown {
  const schema: z.ZodType = flagsSchema.shape[name];
  // An option of another mode than the chosen one, of which nobody said anything.
  const actual = value === undefined ? z.decode(schema, FIELDS.get(name)?.fieldDefault) : value;
  return z.encode(schema, actual);
}

function isEmpty(value: unknown): boolean {
  return (
    value === '' || value === false || (typeof value === 'object' && Object.keys(value ?? {}).length === 0)
  );
}

function put(root: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let level = root;
  for (const key of path.slice(0, -1)) {
    level[key] ??= {};
    level = level[key] as Record<string, unknown>;
  }
  level[path.at(-1) ?? ''] = value;
}

function sorted(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const entries = Object.entries(value).sort(([a], [b]) => compareText(a, b));
  return Object.fromEntries(
    entries.map(([key, item]) => [
      key,
      typeof item === 'object' && item !== null && !Array.isArray(item)
        ? sorted(item as Record<string, unknown>)
        : item,
    ]),
  );
}
