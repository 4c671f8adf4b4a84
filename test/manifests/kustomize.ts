/**
 * Builds a folder of `manifests/` as `kubectl kustomize` does, for the few things that are used there: resources,
 * strategic patches, images. What else a kustomization says is an error, so that nothing goes untested.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** An object that has what every Kubernetes object has. */
export type Manifest = JsonObject & {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: JsonObject & { readonly name: string };
};

const kustomization = z.strictObject({
  apiVersion: z.literal('kustomize.config.k8s.io/v1beta1'),
  kind: z.literal('Kustomization'),
  resources: z.array(z.string()),
  patches: z.array(z.strictObject({ path: z.string() })).default([]),
  images: z.array(z.strictObject({ name: z.string(), newTag: z.string() })).default([]),
});

/** The documents of a YAML file. Throws when it is broken, or has a key twice. */
export function readYaml(file: string): JsonObject[] {
  const documents = parseAllDocuments(readFileSync(file, 'utf8'));
  if ('empty' in documents) return [];
  return documents.map((document) => {
    const [problem] = [...document.errors, ...document.warnings];
    if (problem) throw new Error(`${file}: ${problem.message}`);
    return document.toJS() as JsonObject;
  });
}

/** The objects of the folder with that kustomization.yaml, in the order of its resources. */
export function buildKustomization(folder: string): Manifest[] {
  const file = join(folder, 'kustomization.yaml');
  const [content] = readYaml(file);
  const { resources, patches, images } = kustomization.parse(content);
  let objects = resources.flatMap((resource) =>
    resource.endsWith('.yaml')
      ? (readYaml(join(folder, resource)) as Manifest[])
      : buildKustomization(resolve(folder, resource)),
  );
  for (const { path } of patches) {
    for (const patch of readYaml(join(dirname(file), path)) as Manifest[]) {
      const target = objects.find((object) => isSame(object, patch));
      if (!target) throw new Error(`${path}: there is no ${patch.kind} ${patch.metadata.name} to patch`);
      objects = objects.map((object) => (object === target ? (merged(object, patch) as Manifest) : object));
    }
  }
  return objects.map((object) => withImages(object, images) as Manifest);
}

function isSame(one: Manifest, other: Manifest): boolean {
  return (
    one.apiVersion === other.apiVersion &&
    one.kind === other.kind &&
    one.metadata.name === other.metadata.name &&
    one.metadata.namespace === other.metadata.namespace
  );
}

/** Lists whose items Kubernetes merges by name; all others are replaced whole. */
const MERGED_BY_NAME: ReadonlySet<string> = new Set(['containers', 'initContainers', 'volumes', 'env']);

function merged(base: Json | undefined, patch: Json, key = ''): Json {
  if (isList(base) && isList(patch) && MERGED_BY_NAME.has(key)) {
    const patches = patch as readonly JsonObject[];
    const items = base as readonly JsonObject[];
    return [
      ...items.map((item) => {
        const change = patches.find(({ name }) => name === item.name);
        return change ? merged(item, change) : item;
      }),
      ...patches.filter(({ name }) => !items.some((item) => item.name === name)),
    ];
  }
  if (!isObject(base) || !isObject(patch)) return patch;
  const result: Record<string, Json> = { ...base };
  for (const [name, value] of Object.entries(patch)) result[name] = merged(base[name], value, name);
  return result;
}

function withImages(value: Json, images: readonly { name: string; newTag: string }[]): Json {
  if (isList(value)) return value.map((item) => withImages(item, images));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (key !== 'image' || typeof item !== 'string') return [key, withImages(item, images)];
      const image = images.find(({ name }) => name === item.replace(/:.*/, ''));
      return [key, image ? `${image.name}:${image.newTag}` : item];
    }),
  );
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
