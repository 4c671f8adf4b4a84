/**
 * Exec plug-ins, auth providers and proxies of a kubeconfig: client-node does these, and is imported only for
 * them, because it takes 90 MB of memory.
 */
import type { RequestOptions } from 'node:https';
import { dirname, resolve } from 'node:path';
import type { Access, Tls } from './access.ts';
import { errorText } from './api-error.ts';
import type { Kubeconfig } from './kubeconfig.ts';

/** A plug-in that asks a cloud for a token may take a while, but not for ever. */
const PLUGIN_DEADLINE_MS = 60_000;

/**
 * Gives a function that asks client-node for tokens, client certificates and the agent of a proxy. What a plug-in
 * said is kept until it expires (by its own word) or this function is made anew; callers at the same moment share
 * one run of it.
 */
export function pluginAccess(kubeconfig: Kubeconfig, server: string): () => Promise<Access> {
  const loaded = load(kubeconfig, server);
  // It is awaited in the first call; without this, a failure until then would end the process.
  loaded.catch(() => {});
  let running: Promise<Access> | undefined;
  const run = async (): Promise<Access> => {
    const config = await loaded;
    const options: RequestOptions = {};
    const plugin = kubeconfig.user.exec?.command ?? 'auth-provider';
    const what = `${plugin} of kubeconfig ${kubeconfig.path}`;
    await withDeadline(config.applyToHTTPSOptions(options), what);
    return fromRequestOptions(options, Boolean(kubeconfig.cluster['proxy-url']));
  };
  return () => {
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  };
}

async function load({ path, cluster, user, userName }: Kubeconfig, server: string) {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  const proxyUrl = cluster['proxy-url'];
  config.loadFromClusterAndUser(
    {
      name: 'cluster',
      server,
      // Without it client-node refuses plain http, where there is nothing to verify.
      skipTLSVerify: Boolean(cluster['insecure-skip-tls-verify']) || server.startsWith('http:'),
      ...(proxyUrl ? { proxyUrl } : {}),
      ...tlsOfCluster(cluster),
    },
    {
      name: userName,
      ...(user.exec ? { exec: execEntry(user.exec, path, cluster, server) } : {}),
      ...(user['auth-provider'] ? { authProvider: user['auth-provider'] } : {}),
      ...(user['client-certificate'] ? { certFile: user['client-certificate'] } : {}),
      ...(user['client-certificate-data'] ? { certData: user['client-certificate-data'] } : {}),
      ...(user['client-key'] ? { keyFile: user['client-key'] } : {}),
      ...(user['client-key-data'] ? { keyData: user['client-key-data'] } : {}),
    },
  );
  return config;
}

/** An agent for a proxy has its TLS options built in. */
function tlsOfCluster(cluster: Kubeconfig['cluster']) {
  const caData = cluster['certificate-authority-data'];
  const caFile = cluster['certificate-authority'];
  const tlsServerName = cluster['tls-server-name'];
  return {
    ...(caData ? { caData } : caFile ? { caFile } : {}),
    ...(tlsServerName ? { tlsServerName } : {}),
  };
}

/**
 * The plug-in's entry with what client-node does not give it: KUBERNETES_EXEC_INFO, which plug-ins of the
 * client.authentication.k8s.io/v1 protocol are owed, and a command path that starts from the kubeconfig.
 */
function execEntry(
  exec: NonNullable<Kubeconfig['user']['exec']>,
  path: string,
  cluster: Kubeconfig['cluster'],
  server: string,
): unknown {
  const info = {
    apiVersion: exec.apiVersion,
    kind: 'ExecCredential',
    spec: {
      interactive: false,
      ...(exec.provideClusterInfo
        ? {
            cluster: {
              server,
              'certificate-authority-data': cluster['certificate-authority-data'] ?? undefined,
            },
          }
        : {}),
    },
  };
  const command = exec.command ?? '';
  const env = Array.isArray(exec.env) ? (exec.env as unknown[]) : [];
  return {
    ...exec,
    command: command.includes('/') ? resolve(dirname(path), command) : command,
    env: [...env, { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }],
  };
}

function fromRequestOptions(options: RequestOptions, viaProxy: boolean): Access {
  const headers: Record<string, string> = {};
  const given = (options.headers ?? {}) as Record<string, unknown>;
  const { Authorization: authorization } = given;
  if (typeof authorization === 'string') headers.authorization = authorization.trim();
  // client-node's types leave `cert` and `key` open; what it puts there is PEM.
  const { cert, key } = options as { cert?: string | Buffer; key?: string | Buffer };
  const tls: Tls = { ...(cert ? { cert } : {}), ...(key ? { key } : {}) };
  // client-node makes an agent for every way; ours keeps connections alive, so its is used for proxies alone.
  return viaProxy && typeof options.agent === 'object'
    ? { tls, headers, agent: options.agent }
    : { tls, headers };
}

async function withDeadline<T>(work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`no answer within ${PLUGIN_DEADLINE_MS} ms`)),
      PLUGIN_DEADLINE_MS,
    );
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    // What JSON.parse says quotes its input: a bare token, as it may be.
    if (error instanceof SyntaxError) throw new Error(`${what}: its answer is not JSON`);
    throw new Error(`${what}: ${errorText(error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
