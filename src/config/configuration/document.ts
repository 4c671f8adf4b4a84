/** YAML or JSON text as one mapping, and what a strict reader would not have let pass. */
import type { Document, Node } from 'yaml';
import { goYamlSchema } from '../../source/manifests/go-yaml.ts';

export interface ConfigurationDocument {
  readonly content: Readonly<Record<string, unknown>>;
  /** `key "mode" is set twice`. Of a key that is set twice the last one counts. */
  readonly complaints: readonly string[];
}

/** Throws an `Error` that says what is wrong and where; `origin` names the text. */
export async function parseConfiguration(text: string, origin: string): Promise<ConfigurationDocument> {
  const yaml = await import('yaml');
  const parsed = yaml.parseAllDocuments(text, { schema: goYamlSchema(yaml), uniqueKeys: false });
  const documents: readonly Document.Parsed[] = 'empty' in parsed ? [] : parsed;
  const [first] = documents;
  const [error] = documents.flatMap(({ errors }) => errors);
  if (error) throw new Error(`${origin}: ${error.message.trimEnd()}`);
  let content: unknown;
  try {
    content = first?.toJS();
  } catch (cause) {
    // Aliases without an anchor, or so many that they would fill the memory.
    throw new Error(`${origin}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
  if (!isMapping(content)) throw new Error(`${origin}: must be a mapping with apiVersion and kind`);
  const duplicates = first?.contents ? [...duplicateKeys(first.contents, '', yaml)] : [];
  return {
    content,
    complaints: [
      ...duplicates.map((path) => `key ${JSON.stringify(path)} is set twice`),
      ...(documents.length > 1 ? ['there is more than one document, and the first counts'] : []),
    ],
  };
}

export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function* duplicateKeys(node: Node, path: string, yaml: typeof import('yaml')): Generator<string> {
  if (!yaml.isMap(node)) return;
  const seen = new Set<string>();
  for (const { key, value } of node.items) {
    const name = `${path}${String(yaml.isScalar(key) ? key.value : key)}`;
    if (seen.has(name)) yield name;
    seen.add(name);
    if (yaml.isNode(value)) yield* duplicateKeys(value, `${name}.`, yaml);
  }
}
