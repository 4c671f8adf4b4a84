/**
 * Reads a kubeconfig: the current context's cluster and user.
 * client-node's own reader knows no `tokenFile`, which kubeadm's kube-proxy depends on, gives up the CA of a
 * cluster without a user, and costs 90 MB of memory to import; it is used for what needs code of its own.
 */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { YAMLParseError } from 'yaml';
import { z } from 'zod';
import { errorText } from './api-error.ts';

const text = z.string().nullish();

const clusterSchema = z.object({
  server: text,
  'certificate-authority': text,
  'certificate-authority-data': text,
  'insecure-skip-tls-verify': z.boolean().nullish(),
  'tls-server-name': text,
  'proxy-url': text,
});

const contextSchema = z.object({ cluster: text, user: text });

const userSchema = z.object({
  token: text,
  tokenFile: text,
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  username: text,
  password: text,
  as: text,
  exec: z
    .looseObject({ command: text, apiVersion: text, provideClusterInfo: z.boolean().nullish() })
    .nullish(),
  'auth-provider': z.looseObject({}).nullish(),
});

const kubeconfigSchema = z.object({
  'current-context': text,
  clusters: z.array(z.object({ name: z.string(), cluster: clusterSchema.nullish() })).nullish(),
  contexts: z.array(z.object({ name: z.string(), context: contextSchema.nullish() })).nullish(),
  users: z.array(z.object({ name: z.string(), user: userSchema.nullish() })).nullish(),
});

export type ClusterEntry = z.output<typeof clusterSchema>;
export type UserEntry = z.output<typeof userSchema>;

export interface Kubeconfig {
  readonly path: string;
  readonly cluster: ClusterEntry;
  readonly user: UserEntry;
  readonly userName: string;
}

function yamlProblem({ code, linePos }: YAMLParseError): string {
  const [start] = linePos ?? [];
  const place = start ? `line ${start.line}, column ${start.col}: ` : '';
  return `${place}is no YAML (${code.toLowerCase().replaceAll('_', ' ')})`;
}

/** Reads and resolves the current context; paths in the result are absolute. Rejects with what is wrong and where. */
export async function readKubeconfig(path: string): Promise<Kubeconfig> {
  const origin = `kubeconfig ${path}`;
  const yaml = await import('yaml');
  let content: unknown;
  try {
    content = yaml.parse(await readFile(path, 'utf8'));
  } catch (error) {
    // What the parser says quotes the line, and a token may be on it: neither its message nor the error goes on.
    if (error instanceof yaml.YAMLParseError) throw new Error(`${origin}: ${yamlProblem(error)}`);
    throw new Error(`${origin}: ${errorText(error)}`, { cause: error });
  }
  const parsed = kubeconfigSchema.safeParse(content);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`${origin}: ${issue?.path.join('.') || 'file'}: ${issue?.message}`);
  }
  const { clusters, contexts, users, 'current-context': current } = parsed.data;
  if (!current) {
    const names = (contexts ?? []).map((entry) => entry.name).join(', ');
    throw new Error(
      `${origin}: current-context is not set; set it to one of its contexts: ${names || 'none'}`,
    );
  }
  const context = contexts?.find((entry) => entry.name === current)?.context;
  if (!context) throw new Error(`${origin}: current-context ${current} is not among its contexts`);
  const named = clusters?.find((entry) => entry.name === context.cluster);
  if (!named) {
    throw new Error(
      `${origin}: context ${current}: cluster ${context.cluster || '""'} is not among its clusters`,
    );
  }
  const userName = context.user ?? '';
  const user = users?.find((entry) => entry.name === userName);
  if (userName !== '' && !user) {
    throw new Error(`${origin}: context ${current}: user ${userName} is not among its users`);
  }
  const directory = dirname(path);
  return {
    path,
    cluster: absolutePaths(named.cluster ?? {}, ['certificate-authority'], directory),
    user: absolutePaths(user?.user ?? {}, ['client-certificate', 'client-key', 'tokenFile'], directory),
    userName,
  };
}

/** Relative paths of a kubeconfig start from its own directory. */
function absolutePaths<T extends object>(entry: T, keys: readonly (keyof T)[], directory: string): T {
  const copy = { ...entry };
  for (const key of keys) {
    const value = copy[key];
    if (typeof value === 'string' && value !== '') copy[key] = resolve(directory, value) as T[keyof T];
  }
  return copy;
}
